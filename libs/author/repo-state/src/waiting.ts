/**
 * Owns checkpoints that wait for `checkpointEvery`, in a file beside the state: they outlive their process, and every reader of Tidemark's
 * applies them. They name the file that they were made on. By that they are of one state alone, and can't finish stages of the next one; and
 * another program's later word on a stage or an artifact counts more. Where it has said anything of one, they wait no longer: what they are
 * compared with must not be replaced.
 */

import { isDeepStrictEqual } from 'node:util';
import { type Json, parseJson, TidemarkError } from '@tidemark/core';
import { z } from 'zod';
import type { Candidate } from './candidates.ts';
import { checkpointed, isContradicted } from './changes.ts';
import { readIfThere, replaceFile, type StateFiles } from './files.ts';
import { type Place, shown } from './place.ts';
import { checkEvidence, type RepoState, type Stage } from './state-file.ts';

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
  /** Another program has changed stages or artifacts of these since. */
  readonly isTouched: boolean;
  readonly warnings: readonly string[];
}

/** The candidate's state with what waits for it in these places. */
export async function withWaiting(files: StateFiles, places: readonly Place[], read: Candidate): Promise<Applied> {
  let { state } = read;
  let isThere = false;
  let isTouched = false;
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
        const { change, byBoth, isChanged } = since(base, now, each, contradicted);
        isTouched ||= isChanged;
        if (change.stages.length === 0 && Object.keys(change.artifacts ?? {}).length === 0) continue;
        state = checkpointed(state, { ...change, add: true }, new Map(Object.entries(each.checked)), each.at, byBoth);
        waiting.push({ ...each, change });
      }
      if (contradicted.size > 0) {
        const what = [...contradicted].join(', ');
        warnings.push(`What waits in ${where} for ${what} does not count: another program changed it since.`);
      }
    } catch (error) {
      if (!(error instanceof TidemarkError || error instanceof z.ZodError)) throw error;
      const why = error instanceof TidemarkError ? error.message : 'it has another shape';
      warnings.push(`What waits in ${where} does not fit the state, so it does not count: ${why}`);
    }
  }
  return { state, waiting, isThere, isTouched, warnings };
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

/** What of the checkpoint counts beside what the file says now, and which of its stages another program has finished too. */
function since(base: Base, now: Base, { at, change }: Waiting, contradicted: Set<string>) {
  const stageIn = (state: Base, id: string) => state.stages.find((stage) => stage.id === id) as Stage | undefined;
  const changed = change.stages.filter((id) => !isDeepStrictEqual(stageIn(base, id), stageIn(now, id)));
  const against = changed.filter((id) => isContradicted(stageIn(base, id), stageIn(now, id), { status: 'done', at }));
  const byBoth = new Set(changed.filter((id) => stageIn(now, id)?.status === 'done'));
  const given = Object.entries(change.artifacts ?? {}).filter(
    ([name, value]) => !isDeepStrictEqual(now.artifacts[name] ?? null, value),
  );
  const isReplaced = ([name]: readonly [string, Json]) => !isDeepStrictEqual(base.artifacts[name], now.artifacts[name]);
  const replaced = given.filter(isReplaced);
  for (const each of [...against, ...replaced.map(([name]) => `artifact ${name}`)]) contradicted.add(each);
  const artifacts = Object.fromEntries(given.filter((each) => !isReplaced(each)));
  const stages = change.stages.filter((id) => !against.includes(id));
  return {
    change: { ...change, stages, ...(change.artifacts && { artifacts }) },
    byBoth,
    isChanged: changed.length + replaced.length > 0,
  };
}

export const keepWaiting = (files: StateFiles, place: Place, read: Candidate, checkpoints: readonly Waiting[]) =>
  replaceFile(files, place.waiting, Buffer.from(JSON.stringify({ base: baseOf(read), checkpoints })));
