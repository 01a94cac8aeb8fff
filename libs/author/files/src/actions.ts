/** Owns the lines that a step's journaled effects add to the execution log: one for each model call, tool call, written file and other effect. Pure. */

import type { Answer } from '@tidemark/client';
import { canonicalJson } from '@tidemark/codec';
import type { Json } from '@tidemark/core';
import { z } from 'zod';
import type { LogLine } from './formats.ts';

/** Characters of an action's result in the execution log. */
const RESULT_MAX_CHARS = 200;

export type Effect = Answer<'GET /v1/workflows/{workflow}/effects'>['effects'][number];

/** One line of the log. */
export interface LogEntry {
  readonly line: LogLine;
  /** Of a journaled effect, whose response is written shortened. */
  readonly isAction: boolean;
}

/** As the runtime journals it. */
const MODEL_OPERATION = 'model';
/** Prefix of the operation of a tool that only answers. */
const TOOL_PREFIX = 'tool.';

const modelAnswer = z.object({
  text: z.string(),
  toolCalls: z.array(z.object({ id: z.string(), name: z.string() })).default([]),
  usage: z.object({ inputTokens: z.number(), outputTokens: z.number() }),
});
/** What a file effect records. */
const fileReceipt = z.strictObject({ path: z.string(), sha256: z.string(), bytes: z.number() });

const answerOf = ({ operation, response }: Effect) =>
  operation === MODEL_OPERATION ? modelAnswer.safeParse(response).data : undefined;

/** Ids of the calls that models requested. */
export const toolCallIds = (effects: readonly Effect[]): ReadonlySet<string> =>
  new Set(effects.flatMap((effect) => (answerOf(effect)?.toolCalls ?? []).map(({ id }) => id)));

/** `calls`: of the whole run. A viewer who may not see content gets the status in place of the result, and no tokens. */
export function actionEntry(step: string | null, effect: Effect, calls: ReadonlySet<string>): LogEntry {
  const { at, operation, idempotency_key, task, status } = effect;
  const line = {
    ...{ ts: at, step, action: 'effect', tokens: null, result: resultOf(effect) },
    ...{ operation, idempotency_key, task, status },
  } as LogLine;
  const answer = answerOf(effect);
  if (operation === MODEL_OPERATION) {
    const asked = { ...line, action: 'model_call' };
    if (answer === undefined) return { line: asked, isAction: true };
    const { text, toolCalls, usage } = answer;
    const result = text === '' ? `calls ${toolCalls.map(({ name }) => name).join(', ')}` : text;
    return { line: { ...asked, tokens: usage.inputTokens + usage.outputTokens, result }, isAction: true };
  }
  const receipt = fileReceipt.safeParse(effect.response).data;
  if (receipt !== undefined) {
    const { path, sha256, bytes } = receipt;
    const written = { action: 'file_write', result: `${bytes} bytes`, path, checksum: sha256 };
    return { line: { ...line, ...written }, isAction: true };
  }
  return { line: isToolCall(effect, calls) ? { ...line, action: 'tool_call' } : line, isAction: true };
}

/** A call that a model requested is journaled under the call's id and a digest of its request. */
function isToolCall({ operation, idempotency_key: key }: Effect, calls: ReadonlySet<string>): boolean {
  const [, id] = /:([^:]+)-[0-9a-f]+$/.exec(key) ?? [];
  return operation.startsWith(TOOL_PREFIX) || (id !== undefined && calls.has(id));
}

function resultOf({ status, response, error }: Effect): Json {
  if (status === 'done') return (response as Json | undefined) ?? status;
  if (status !== 'failed' || error === undefined) return status;
  return `failed: ${(error as { readonly message?: string } | null)?.message ?? ''}`;
}

/** The line as it is written. */
export function writtenLine({ line, isAction }: LogEntry): LogLine {
  if (!isAction) return line;
  const text = typeof line.result === 'string' ? line.result : canonicalJson(line.result as Json);
  return { ...line, result: text.length <= RESULT_MAX_CHARS ? text : `${text.slice(0, RESULT_MAX_CHARS)}…` };
}
