/** Owns the tool that shows what a model call saw: its bundle, rebuilt from the log, and whether the bytes are the same. */

import type { Answer, Client } from '@tidemark/client';
import { DEFAULT_TENANT, InvalidError } from '@tidemark/core';
import { z } from 'zod';
import { nameField, orNull } from './fields.ts';
import { TEXT_VALUE_MAX_CHARS } from './limits.ts';
import { fitting } from './session-text.ts';
import { defineTool, READS, type Tool, type ToolContext } from './tool.ts';

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
    call: z.int().min(1).optional().describe('Number of the call within it, from 1; default: the first ones'),
  }),
  output: z.object({ workflow: z.string(), at: z.number(), calls: z.array(call) }),
  hints: READS,
  async run({ workflow, at, call: number }, context) {
    const found = await context.withMemory('read', async (client) => {
      const newest = await newestOf(client, workflow, context);
      const sequence = at ?? newest;
      const query = number === undefined ? {} : { from: number, limit: 1 };
      const input = { params: { workflow, sequence }, query };
      return { at: sequence, ...(await client.ask('GET /v1/workflows/{workflow}/at/{sequence}/calls', input)) };
    });
    const { calls } = found;
    if (calls.length === 0) {
      const message = `call: this step asked a model fewer times than ${number}.`;
      throw new InvalidError('call-unknown', message, { field: 'call' });
    }
    const fits = calls.map((seen) => ({
      ...{ idempotency_key: seen.key, task: seen.task, sequence_number: seen.sequence, status: seen.status },
      ...{ provider: seen.provider, model: seen.model, is_same: sameness(seen), manifest_hash: hashOf(seen) },
      bundle: fitting(seen.messages ?? null),
      prompt: fitting(seen.prompt ?? null),
      answer: fitting(seen.answer ?? null),
    }));
    return { data: { workflow, at: found.at, calls: fits }, text: calls.map(callText).join('\n\n') };
  },
});

/** A workflow of another tenant, or of another user where the server serves one, counts as missing. */
async function newestOf(client: Client, workflow: string, { tenant, user }: ToolContext): Promise<number> {
  const request = { params: { workflow }, query: { content: 'false' } } as const;
  const found = await orNull('workflow-unknown', client.ask('GET /v1/workflows/{workflow}', request));
  const whose = tenant ?? (await client.ask('GET /v1/me', {})).tenant ?? DEFAULT_TENANT;
  const isOthers = user !== undefined && found !== null && found.user !== null && found.user !== user;
  if (found !== null && found.tenant === whose && !isOthers) return found.sequence_number;
  throw new InvalidError('workflow-unknown', `workflow: there is no '${workflow}'.`, { field: 'workflow' });
}

type Call = Answer<'GET /v1/workflows/{workflow}/at/{sequence}/calls'>['calls'][number];

/** Null: it had no bundle. */
const sameness = ({ manifest, identical }: Call): boolean | null => (manifest === null ? null : identical);
const hashOf = ({ bundle: of }: Call): string | null =>
  (of as { readonly hash: string } | null | undefined)?.hash ?? null;

function callText(seen: Call): string {
  const isSame = sameness(seen);
  const same =
    isSame === null
      ? 'without a bundle'
      : isSame
        ? `rebuilt, the same bytes as were sent (manifest ${hashOf(seen)?.slice(0, 12)})`
        : 'REBUILT WITH OTHER BYTES than were sent: do not trust it as what the model saw';
  const text = JSON.stringify(seen.messages ?? seen.prompt ?? null);
  const shown = text.length <= TEXT_VALUE_MAX_CHARS ? text : `${text.slice(0, TEXT_VALUE_MAX_CHARS)}…`;
  return `${seen.key} (${seen.model}, ${seen.status}): ${same}.\n${shown}`;
}

export const BUNDLE_TOOLS: readonly Tool[] = [bundle];
