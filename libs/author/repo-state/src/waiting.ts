/**
 * Owns checkpoints that wait for `checkpointEvery`, in a file beside the state: they outlive their process, and every reader of Tidemark's
 * applies them. They name the file that they were made on. By that they are of one state alone, and can't finish stages of the next one; and
 * what the file says of a stage or an artifact since then is newer: another program wrote it, or it has been applied.
 */

import { isDeepStrictEqual } from 'node:util';
import { parseJson, TidemarkError } from '@tidemark/core';
import { z } from 'zod';
import type { Candidate } from './candidates.ts';
import { type Checkpoint, checkpointed } from './changes.ts';
import { readIfThere, replaceFile, type StateFiles } from './files.ts';
import { type Place, shown } from './place.ts';
import { checkEvidence, type RepoState } from './state-file.ts';

const jsonMap = z.record(z.string(), z.json()).optional();
const waitingSchema = z.object({
  base: z.object({
    /** As the file said; absent: it didn't. */
    created_at: z.string().optional(),
    updated_at: z.string(),
    stages: z.array(z.looseObject({ id: z.string(), status: z.string() })),
    artifacts: z.record(z.string(), z.json()),
  }),
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

type Base = z.infer<typeof waitingSchema>['base'];
export type Waiting = z.infer<typeof waitingSchema>['checkpoints'][number];

export interface Applied {
  readonly state: RepoState;
  readonly waiting: readonly Waiting[];
  /** There is a file, whatever of it counts. */
  readonly isThere: boolean;
  readonly warnings: readonly string[];
}

/** The candidate's state with what waits for it in these places. */
export async function withWaiting(files: StateFiles, places: readonly Place[], read: Candidate): Promise<Applied> {
  let { state } = read;
  let isThere = false;
  const now = baseOf(read);
  const waiting: Waiting[] = [];
  const warnings: string[] = [];
  for (const place of places) {
    const where = shown(place, place.waiting);
    const found = await readIfThere(files, place.waiting);
    if (found === undefined) continue;
    isThere = true;
    try {
      const { base, checkpoints } = waitingSchema.parse(parseJson(Buffer.from(found.bytes).toString('utf8'), where));
      if (!continues(base, now, place === read.place)) {
        if (place.kind !== 'shared') warnings.push(`${where} is of another state, so what waits there does not count.`);
        continue;
      }
      const contradicted = new Set<string>();
      for (const each of checkpoints) {
        const change = since(base, now, each.change, contradicted);
        if (change.stages.length === 0 && Object.keys(change.artifacts ?? {}).length === 0) continue;
        const given: Checkpoint = { ...change, add: true };
        state = checkpointed(state, given, new Map(Object.entries(each.checked)), each.at);
        waiting.push({ ...each, change });
      }
      if (contradicted.size > 0) {
        const stages = [...contradicted].join(', ');
        warnings.push(`What waits in ${where} for ${stages} does not count: another program changed it since.`);
      }
    } catch (error) {
      if (!(error instanceof TidemarkError || error instanceof z.ZodError)) throw error;
      const why = error instanceof TidemarkError ? error.message : 'it has another shape';
      warnings.push(`What waits in ${where} does not fit the state, so it does not count: ${why}`);
    }
  }
  return { state, waiting, isThere, warnings };
}

/** As JSON has it, so that bases can be compared. */
const baseOf = ({ state, form: { created_at } }: Candidate): Base => {
  const { updated_at, stages, artifacts } = state;
  return JSON.parse(JSON.stringify({ created_at, updated_at, stages, artifacts })) as Base;
};

/**
 * Where one of them doesn't say when it was created, a state is the same one while all that had begun still has: in the next one it would
 * be pending again.
 */
function continues(base: Base, now: Base, isSamePlace: boolean): boolean {
  if (base.created_at !== undefined && now.created_at !== undefined) return base.created_at === now.created_at;
  if (!isSamePlace) return false;
  const begun = base.stages.filter(({ status }) => status !== 'pending');
  const hasBegun = (id: string): boolean => now.stages.some((stage) => stage.id === id && stage.status !== 'pending');
  return base.updated_at === now.updated_at || (begun.length > 0 && begun.every(({ id }) => hasBegun(id)));
}

/** What of the change is of stages and artifacts that are as they were. */
function since(base: Base, now: Base, change: Waiting['change'], contradicted: Set<string>): Waiting['change'] {
  const stageIn = (state: Base, id: string) => state.stages.find((stage) => stage.id === id);
  const stages = change.stages.filter((id) => {
    if (isDeepStrictEqual(stageIn(base, id), stageIn(now, id))) return true;
    // Done by either: nothing is lost.
    if (stageIn(now, id)?.status !== 'done') contradicted.add(id);
    return false;
  });
  const artifacts = Object.entries(change.artifacts ?? {}).filter(([name]) =>
    isDeepStrictEqual(base.artifacts[name], now.artifacts[name]),
  );
  return {
    ...change,
    stages,
    ...(change.artifacts && { artifacts: Object.fromEntries(artifacts) }),
  };
}

export const keepWaiting = (files: StateFiles, place: Place, read: Candidate, checkpoints: readonly Waiting[]) =>
  replaceFile(files, place.waiting, Buffer.from(JSON.stringify({ base: baseOf(read), checkpoints })));
