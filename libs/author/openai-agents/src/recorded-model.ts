/**
 * Owns a model of the framework as a model of ours: what is recorded of its requests and answers, and the words that it says meanwhile. The
 * framework gets the answer whole, as it is recorded.
 */

import { type AgentOutputItem, type Model, type ModelRequest, type ModelResponse, Usage } from '@openai/agents-core';
import { mapTexts } from '@tidemark/codec';
import { InvalidError, type Json } from '@tidemark/core';
import {
  DEFAULT_RETRY,
  type Model as OwnModel,
  type ModelRequest as OwnRequest,
  retryPolicy,
  sha256Digest,
} from '@tidemark/runtime';
import type { FunctionContext } from '@tidemark/sdk';
import { tokenizerFor } from '@tidemark/tokenizer';
import { itemsOf, keptItems, plain } from './items.ts';

const MODEL_TIMEOUT_MS = 600_000;
/** Tokens that a budget reserves for an answer without `maxTokens`. */
const OUTPUT_TOKENS_COUNT = 8_192;
/** A file in a message that is longer is recorded by its digest. */
const FILE_MIN_CHARS = 4_096;

type OwnAnswer = Awaited<ReturnType<OwnModel['answer']>>;
type OwnUsage = OwnAnswer['usage'];

export interface ModelRules {
  /** Whether people may follow what it says. */
  readonly isStreamed: boolean;
  readonly timeoutMs: number | undefined;
  readonly costMicros: ((model: string, usage: OwnUsage) => number | undefined) | undefined;
}

/** `name` is what lists and metrics call it. */
export function recordedModel(
  ctx: Pick<FunctionContext<never, never>, 'modelCall'>,
  model: Model,
  name: string,
  rules: ModelRules,
): Model {
  return {
    getResponse: async (request) => responseOf(await ctx.modelCall(ownRequest(model, name, request, rules))),
    getStreamedResponse: () => {
      throw new InvalidError(
        'agent-unfit',
        'The run of a function asks for whole answers: give runAgent stream: true.',
      );
    },
    ...(model.supportsPromptModelSelection === true && { supportsPromptModelSelection: true }),
    ...(model.getRetryAdvice && { getRetryAdvice: (args) => model.getRetryAdvice!(args) }),
  };
}

function ownRequest(model: Model, name: string, request: ModelRequest, rules: ModelRules): OwnRequest {
  const { systemInstructions, input, tools, handoffs, outputType, signal: _, tracing: __, ...rest } = request;
  const { _internal: ___, ...settings } = rest as typeof rest & { readonly _internal?: unknown };
  const asking =
    (asked: ModelRequest): OwnModel['answer'] =>
    async (_prompt, { signal, onDelta }, isStreamed) => {
      const either = asked.signal === undefined ? signal : AbortSignal.any([signal, asked.signal]);
      const sent = { ...asked, signal: either };
      return answerOf(isStreamed ? await streamed(model, sent, onDelta) : await model.getResponse(sent));
    };
  const files = new Map<string, string>();
  const items = typeof input === 'string' ? [{ role: 'user' as const, content: input }] : input;
  const instructions = systemInstructions === undefined ? [] : [{ role: 'system', content: systemInstructions }];
  return {
    model: {
      provider: 'openai',
      modelId: name,
      // Its tables take a while to load, and a recorded answer needs none.
      get tokenizer() {
        return tokenizerFor(name);
      },
      maxOutputTokens: request.modelSettings.maxTokens ?? OUTPUT_TOKENS_COUNT,
      timeoutMs: rules.timeoutMs ?? MODEL_TIMEOUT_MS,
      retry: retryPolicy(undefined, DEFAULT_RETRY),
      costMicros: (usage) => rules.costMicros?.(name, usage),
      answer: asking(request),
    },
    rawPrompt: [...instructions, ...keptItems(items).map((item) => withoutFiles(item, files))],
    tools: [
      ...tools.map(({ name, ...rest }) => {
        const { description = '', parameters = null, ...as } = plain(rest) as { [name: string]: Json };
        return { name, description: description as string, inputSchema: parameters, as };
      }),
      ...handoffs.map(({ toolName, toolDescription, inputJsonSchema, ...as }) => ({
        ...{ name: toolName, description: toolDescription, inputSchema: plain(inputJsonSchema), as },
      })),
    ],
    ...(outputType !== 'text' && { responseSchema: plain(outputType) }),
    settings: plain({ ...settings, hasInstructions: instructions.length > 0 }),
    answerRecorded: (recorded) => asking(requestIn(recorded, request, files)),
    isStreamed: rules.isStreamed,
  };
}

/** What is recorded, asked again, with what no record has from the present request. */
function requestIn(
  recorded: Parameters<NonNullable<OwnRequest['answerRecorded']>>[0],
  request: ModelRequest,
  files: ReadonlyMap<string, string>,
): ModelRequest {
  const { raw = [], tools, responseSchema } = recorded;
  const { hasInstructions, modelSettings, ...settings } = recorded.settings as { readonly [name: string]: Json };
  const items = raw.map((item) => withFiles(item, files));
  const [first] = hasInstructions === true ? items.splice(0, 1) : [];
  const all = (tools as unknown as readonly RecordedTool[]).map(({ as, name, description, inputSchema }) => {
    if (as.type === undefined)
      return { ...as, toolName: name, toolDescription: description, inputJsonSchema: inputSchema };
    return as.type === 'function' ? { ...as, name, description, parameters: inputSchema } : { ...as, name };
  });
  return {
    ...request,
    ...settings,
    modelSettings: { ...request.modelSettings, ...(modelSettings as object) },
    input: itemsOf(items),
    systemInstructions: first && (first as { readonly content: string }).content,
    tools: all.filter((tool) => !('toolName' in tool)),
    handoffs: all.filter((tool) => 'toolName' in tool),
    outputType: responseSchema ?? 'text',
  } as unknown as ModelRequest;
}

interface RecordedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Json;
  readonly as: { readonly type?: string };
}

/** Says the words as they come. */
async function streamed(
  model: Model,
  request: ModelRequest,
  onDelta: Parameters<OwnModel['answer']>[1]['onDelta'],
): Promise<ModelResponse> {
  for await (const event of model.getStreamedResponse(request)) {
    if (event.type === 'output_text_delta' && event.delta !== '') onDelta({ kind: 'text', text: event.delta });
    if (event.type === 'model') {
      const { type, delta } = (event.event ?? {}) as { readonly type?: unknown; readonly delta?: unknown };
      if (type === 'response.reasoning_summary_text.delta') onDelta({ kind: 'reasoning', text: String(delta) });
    }
    if (event.type === 'response_done') {
      const { id: responseId, usage, ...response } = event.response;
      return {
        ...response,
        responseId,
        usage: new Usage(usage as ConstructorParameters<typeof Usage>[0]),
      } as ModelResponse;
    }
  }
  throw new Error('The stream ended without its response.');
}

function answerOf(response: ModelResponse): OwnAnswer {
  const { usage } = response;
  const detailed = (details: readonly Record<string, number>[], field: string): number =>
    details.reduce((sum, each) => sum + (each[field] ?? 0), 0);
  const toolCalls = response.output.flatMap((item) =>
    item.type === 'function_call' ? [{ id: item.callId, name: item.name, input: parsed(item.arguments) }] : [],
  );
  return {
    text: response.output.map(textOf).join(''),
    toolCalls,
    finishReason: toolCalls.length > 0 ? 'tool-calls' : 'stop',
    usage: {
      inputTokens: usage.inputTokens,
      outputTokens: usage.outputTokens,
      cachedInputTokens: detailed(usage.inputTokensDetails, 'cached_tokens'),
      reasoningTokens: detailed(usage.outputTokensDetails, 'reasoning_tokens'),
    },
    detail: plain(response),
  };
}

const textOf = (item: AgentOutputItem): string =>
  'role' in item && item.role === 'assistant'
    ? item.content.map((part) => (part.type === 'output_text' ? part.text : '')).join('')
    : '';

/** A person who answers for the model gives no more than its words and calls. */
function responseOf({ detail, text, toolCalls }: Pick<OwnAnswer, 'detail' | 'text' | 'toolCalls'>): ModelResponse {
  const known = (structuredClone(detail) ?? {}) as unknown as Partial<ModelResponse>;
  const said: AgentOutputItem[] =
    text === ''
      ? []
      : [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] }];
  const called = toolCalls.map(
    ({ id, name, input }): AgentOutputItem => ({
      ...{ type: 'function_call', callId: id, name, status: 'completed', arguments: JSON.stringify(input) },
    }),
  );
  const usage = new Usage(known.usage as ConstructorParameters<typeof Usage>[0]);
  return { ...known, output: known.output ?? [...said, ...called], usage };
}

/** Text that may be JSON. */
export function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

const FILE = /^file:[0-9a-f]{64}$/;
/** Text that reads like a file's name gets another `file:` before it. */
const FILE_ESCAPED = /^(?:file:)+[0-9a-f]{64}$/;
const isFile = (value: Json): value is string =>
  typeof value === 'string' && value.length >= FILE_MIN_CHARS && /^(?:data:|[A-Za-z0-9+/]+={0,2}$)/.test(value);

/** Files, and what else is long and not words, by their digests. */
function withoutFiles(value: Json, files: Map<string, string>): Json {
  return mapTexts(value, (text) => {
    if (!isFile(text)) return FILE_ESCAPED.test(text) ? `file:${text}` : text;
    const name = `file:${sha256Digest.sha256(text)}`;
    files.set(name, text);
    return name;
  });
}

/** Throws `InvalidError` (`file-missing`). */
function withFiles(value: Json, files: ReadonlyMap<string, string>): Json {
  return mapTexts(value, (text) => {
    if (!FILE.test(text)) return FILE_ESCAPED.test(text) ? text.slice('file:'.length) : text;
    const file = files.get(text);
    if (file === undefined) throw new InvalidError('file-missing', `The request has no ${text} any more.`);
    return file;
  });
}
