/** Owns the tool that tells what a model call saw: its bundle, rebuilt from the log, and whether the bytes are the same. */

import { InvalidError } from '@tidemark/core';
import { z } from 'zod';
import { nameField } from './fields.ts';
import { TEXT_VALUE_MAX_CHARS } from './limits.ts';
import type { SeenCall } from './memory-desk.ts';
import { fitting } from './session-text.ts';
import { defineTool, READS, type Tool } from './tool.ts';

const call = z.object({
  idempotency_key: z.string(),
  task: z.string(),
  sequence_number: z.number().nullable(),
  status: z.string(),
  provider: z.string(),
  model: z.string(),
  is_same: z.boolean().nullable().describe('Whether the rebuilt bytes are those that were sent; null: no bundle'),
  manifest_hash: z.string().nullable(),
  bundle: z.unknown().describe('The messages of the bundle'),
  prompt: z.unknown().describe('What the step itself sent after it'),
  answer: z.unknown(),
});

const bundle = defineTool({
  name: 'bundle',
  title: 'Rebuild what a model call saw',
  description:
    'Rebuilds from the log what the model calls of a step saw, byte for byte, with their answers; says so if the bytes differ from those that were sent.',
  input: z.strictObject({
    workflow: nameField.describe('Id of the workflow'),
    at: z
      .int()
      .min(1)
      .optional()
      .describe('Sequence of the checkpoint (default: the newest); one more: steps under way'),
    call: z.int().min(1).optional().describe('Number of the call within it, from 1; default: all'),
  }),
  output: z.object({ workflow: z.string(), at: z.number(), calls: z.array(call) }),
  hints: READS,
  async run({ workflow, at, call: number }, context) {
    const found = await context.withMemory('look', (desk) => desk.seen(context.tenant, workflow, at ?? null));
    // A workflow of somebody else is as if it weren't there, where the server serves one user.
    const isOthers = context.user !== undefined && found !== null && found.user !== null && found.user !== context.user;
    if (found === null || isOthers) {
      throw new InvalidError('workflow-unknown', `workflow: there is no '${workflow}'.`, { field: 'workflow' });
    }
    const calls = number === undefined ? found.calls : found.calls.slice(number - 1, number);
    if (calls.length === 0) {
      const message = `call: this step asked a model ${found.calls.length} times; there is no call ${number}.`;
      throw new InvalidError('call-unknown', message, { field: 'call' });
    }
    const fits = calls.map((seen) => ({
      ...{ ...seen, bundle: fitting(seen.bundle), prompt: fitting(seen.prompt), answer: fitting(seen.answer) },
    }));
    return { data: { workflow, at: found.at, calls: fits }, text: calls.map(callText).join('\n\n') };
  },
});

function callText({ idempotency_key, model, status, is_same, manifest_hash, ...seen }: SeenCall): string {
  const same =
    is_same === null
      ? 'without a bundle'
      : is_same
        ? `rebuilt, the same bytes as were sent (manifest ${manifest_hash?.slice(0, 12)})`
        : 'REBUILT WITH OTHER BYTES than were sent: do not trust it as what the model saw';
  const text = JSON.stringify(seen.bundle ?? seen.prompt);
  const shown = text.length <= TEXT_VALUE_MAX_CHARS ? text : `${text.slice(0, TEXT_VALUE_MAX_CHARS)}…`;
  return `${idempotency_key} (${model}, ${status}): ${same}.\n${shown}`;
}

export const BUNDLE_TOOLS: readonly Tool[] = [bundle];
