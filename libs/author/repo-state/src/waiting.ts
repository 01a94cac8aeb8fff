/**
 * Owns checkpoints that wait for `checkpointEvery`, in a file beside the state: they outlive their process, and every reader of Tidemark's
 * applies them. They are of one state alone, known by when it was created, so that they can't finish stages of the next one.
 */

import { parseJson, TidemarkError } from '@tidemark/core';
import { z } from 'zod';
import { type Checkpoint, checkpointed } from './changes.ts';
import { readIfThere, replaceFile, type StateFiles } from './files.ts';
import { type Place, shown } from './place.ts';
import { checkEvidence, type RepoState } from './state-file.ts';

const jsonMap = z.record(z.string(), z.json()).optional();
const waitingSchema = z.object({
  created_at: z.string(),
  checkpoints: z.array(
    z.object({
      at: z.string(),
      change: z.object({
        stages: z.array(z.string()),
        status: z.literal('done'),
        check: z.string().optional(),
        evidence: jsonMap,
        artifacts: jsonMap,
        agent: z.string().optional(),
      }),
      checked: z.record(z.string(), checkEvidence),
    }),
  ),
});

export type Waiting = z.infer<typeof waitingSchema>['checkpoints'][number];

export interface Applied {
  readonly state: RepoState;
  readonly waiting: readonly Waiting[];
  readonly warnings: readonly string[];
}

/** The state with what waits for it in these places. */
export async function withWaiting(files: StateFiles, places: readonly Place[], before: RepoState): Promise<Applied> {
  let state = before;
  const waiting: Waiting[] = [];
  const warnings: string[] = [];
  for (const place of places) {
    const where = shown(place, place.waiting);
    const found = await readIfThere(files, place.waiting);
    if (found === undefined) continue;
    try {
      const parsed = waitingSchema.parse(parseJson(Buffer.from(found.bytes).toString('utf8'), where));
      if (parsed.created_at !== before.created_at) {
        if (place.kind !== 'shared') warnings.push(`${where} is of another state, so what waits there does not count.`);
        continue;
      }
      for (const each of parsed.checkpoints) {
        const change: Checkpoint = { ...each.change, add: true };
        state = checkpointed(state, change, new Map(Object.entries(each.checked)), each.at);
        waiting.push(each);
      }
    } catch (error) {
      if (!(error instanceof TidemarkError || error instanceof z.ZodError)) throw error;
      const why = error instanceof TidemarkError ? error.message : 'it has another shape';
      warnings.push(`What waits in ${where} does not fit the state, so it does not count: ${why}`);
    }
  }
  return { state, waiting, warnings };
}

export const keepWaiting = (files: StateFiles, place: Place, state: RepoState, checkpoints: readonly Waiting[]) =>
  replaceFile(files, place.waiting, Buffer.from(JSON.stringify({ created_at: state.created_at, checkpoints })));
