/**
 * Owns the advice that follows from how the newest workflows ran: too much in one checkpoint, checkpoints that cost more than their steps,
 * irreversible effects, slow takeovers, beliefs that only grow, and what looks like a secret. It reads a bounded part of their histories, and reports sizes and times, never
 * content.
 */

import type { Answer } from '@tidemark/client';
import { TidemarkError } from '@tidemark/core';
import { BEAT_TTL_MS } from '@tidemark/runtime/names';
import { findSecrets, isGuess, secretPlaces } from '@tidemark/secrets';
import { type Place, within } from '../place/place.ts';
import { bytes, counted, duration } from '../text/units.ts';
import type { Locate } from './definition-places.ts';
import { type Finding, foundAt, ok } from './finding.ts';

/** Newest workflows whose histories `doctor` reads for its advice; and newest events and checkpoints of each. */
const RECENT_WORKFLOWS_COUNT = 10;
const RECENT_EVENTS_COUNT = 500;
const RECENT_CHECKPOINTS_COUNT = 50;
/** Least number of runs of a step before its times are judged; and milliseconds below which a commit is cheap, however short the step. */
export const STEPS_JUDGED_MIN_COUNT = 10;
export const COMMIT_COST_MIN_MS = 5;
/** Least number of effects of a definition before their kinds are judged; and the share of irreversible ones above which `doctor` warns. */
export const EFFECTS_JUDGED_MIN_COUNT = 10;
const EFFECTS_IRREVERSIBLE_SHARE = 0.2;
/** A takeover is slow if the next claim comes this many milliseconds after the loss of the worker, or later. */
export const TAKEOVER_SLOW_MS = 5_000;
/** Bytes in one checkpoint from which on `doctor` warns. */
export const CHECKPOINT_LARGE_BYTES = 1_000_000;
/** Bytes of a growing belief from which on `doctor` warns. */
export const BELIEF_GROWN_BYTES = 65_536;

type Moment = Answer<'GET /v1/workflows/{workflow}/timeline'>['moments'][number];
type Checkpoint = Partial<
  Pick<
    Answer<'GET /v1/workflows/{workflow}/checkpoints'>['checkpoints'][number],
    'belief_change' | 'output_state' | 'log' | 'step_definition_ref'
  >
>;

/** The part of one workflow that is read, oldest first. */
export interface RecentRun {
  readonly workflow: string;
  readonly definition: string;
  readonly moments: readonly Pick<Moment, 'type' | 'at' | 'epoch' | 'control'>[];
  readonly checkpoints: readonly Checkpoint[];
}

export interface Advice {
  readonly code:
    | 'effects-in-one-checkpoint'
    | 'effects-irreversible'
    | 'checkpoint-dearer-than-step'
    | 'checkpoint-large'
    | 'takeover-slow'
    | 'belief-grows'
    | 'secret-stored';
  readonly definition: string;
  /** The step or operation concerned; absent: the definition. */
  readonly subject?: string | undefined;
  readonly message: string;
}

export async function checkRecent(place: Place, locate: Locate): Promise<readonly Finding[]> {
  const { workflows } = await place.client.list({ limit: RECENT_WORKFLOWS_COUNT });
  const runs: RecentRun[] = [];
  for (const one of workflows) {
    const run = await within(place, () => recentRun(place, one)).catch(unreadable);
    if (run !== undefined) runs.push(run);
  }
  if (runs.length === 0) return [];
  const of = `of the newest ${counted(runs.length, 'workflow')}`;
  const found = adviceOn(runs).map((advice) => foundAt(advice, locate));
  if (found.length === 0) return [ok('Recent', `no warning ${of}`)];
  const remedy = 'Change what each names, or leave it as it is if that is meant.';
  return [{ check: 'Recent', level: 'warn', message: `from the history ${of}:`, found, remedy }];
}

type Listed = Answer<'GET /v1/workflows'>['workflows'][number];

/** Passes over a workflow whose history can't be read here: other checks report that. Throws any other error. */
function unreadable(error: unknown): undefined {
  if (!(error instanceof TidemarkError)) throw error;
}

async function recentRun({ client }: Place, row: Listed): Promise<RecentRun> {
  const { workflow, definition, position, sequence_number: sequence } = row;
  const params = { workflow };
  const query = { from: Math.max(position - RECENT_EVENTS_COUNT, 0) + 1 };
  const { moments } = await client.ask('GET /v1/workflows/{workflow}/timeline', { params, query });
  const { checkpoints } = await client.ask('GET /v1/workflows/{workflow}/checkpoints', {
    params,
    query: { from: Math.max(sequence - RECENT_CHECKPOINTS_COUNT, 0) + 1, limit: RECENT_CHECKPOINTS_COUNT },
  });
  return { workflow, definition, moments, checkpoints };
}

/** Gives each advice once for a definition. */
export function adviceOn(runs: readonly RecentRun[]): readonly Advice[] {
  const byDefinition = Map.groupBy(runs, ({ definition }) => definition);
  return [...byDefinition].flatMap(([definition, ofIt]) => [
    ...crowdedCheckpoints(definition, ofIt),
    ...irreversibleEffects(definition, ofIt),
    ...dearCheckpoints(definition, ofIt),
    ...largeCheckpoints(definition, ofIt),
    ...slowTakeovers(definition, ofIt),
    ...grownBelief(definition, ofIt),
    ...storedSecrets(definition, ofIt),
  ]);
}

const isCommit = ({ type }: Pick<Moment, 'type'>): boolean => type === 'CheckpointCommitted';

/** More than one irreversible effect before the same checkpoint. */
function crowdedCheckpoints(definition: string, runs: readonly RecentRun[]): readonly Advice[] {
  const most = new Map<string, { readonly count: number; readonly workflow: string }>();
  for (const { workflow, moments } of runs) {
    const keys = new Map<unknown, Set<unknown>>();
    for (const { type, control } of moments) {
      if (type !== 'EffectIntended' || control.kind !== 'irreversible') continue;
      keys.set(control.task, (keys.get(control.task) ?? new Set()).add(control.key));
    }
    for (const { control } of moments.filter(isCommit)) {
      const [step, count] = [String(control.step), keys.get(control.task)?.size ?? 0];
      if (count > Math.max(most.get(step)?.count ?? 0, 1)) most.set(step, { count, workflow });
    }
  }
  return [...most].map(([step, { count, workflow }]) => ({
    ...{ code: 'effects-in-one-checkpoint', definition, subject: step },
    message: `Step ${step} made ${count} irreversible effects before one checkpoint (${workflow}): after a failure in between all of them are in question. Give each a step of its own, so that a checkpoint follows it.`,
  }));
}

/** Many of the effects that the definition calls are irreversible. */
function irreversibleEffects(definition: string, runs: readonly RecentRun[]): readonly Advice[] {
  const kinds = new Map<unknown, boolean>();
  const operations = new Map<string, number>();
  for (const { type, control } of runs.flatMap(({ moments }) => moments)) {
    if (type !== 'EffectIntended' || kinds.has(control.key)) continue;
    const isIrreversible = control.kind === 'irreversible';
    kinds.set(control.key, isIrreversible);
    const operation = String(control.operation);
    if (isIrreversible) operations.set(operation, (operations.get(operation) ?? 0) + 1);
  }
  const count = [...kinds.values()].filter(Boolean).length;
  if (kinds.size < EFFECTS_JUDGED_MIN_COUNT || count <= kinds.size * EFFECTS_IRREVERSIBLE_SHARE) return [];
  const [subject] = [...operations].toSorted(([, a], [, b]) => b - a)[0]!;
  const message = `${Math.round((100 * count) / kinds.size)} % of its effects are irreversible (${count} of ${kinds.size}, most of them ${subject}): each is in question when a worker dies in it. Leave its steps durable, so that a checkpoint is committed synchronously before each, give each a probe, and make those idempotent that can be.`;
  return [{ code: 'effects-irreversible', definition, subject, message }];
}

/** Once for each step: the largest. */
function largeCheckpoints(definition: string, runs: readonly RecentRun[]): readonly Advice[] {
  const most = new Map<string, { readonly size: number; readonly workflow: string }>();
  for (const { workflow, checkpoints } of runs) {
    for (const { step_definition_ref: step, belief_change: belief, output_state: output, log } of checkpoints) {
      const size = Buffer.byteLength(JSON.stringify({ belief, output, log }));
      if (size > Math.max(most.get(step ?? 'begin')?.size ?? 0, CHECKPOINT_LARGE_BYTES)) {
        most.set(step ?? 'begin', { size, workflow });
      }
    }
  }
  return [...most].map(([step, { size, workflow }]) => ({
    ...{ code: 'checkpoint-large', definition, subject: step },
    message: `Step ${step} made a checkpoint of ${bytes(size)} (${workflow}), which every takeover and every list of it reads whole. Put what is large into an object store or a file, and its name and digest into the checkpoint; a payload over 1 MiB goes to the object store by itself where there is an archive.`,
  }));
}

/**
 * From the loss of a worker to the next claim, with nothing in between that would have kept the workflow from running. A worker that only
 * fell silent had been so for as long as a beat counts when its lease was revoked. A lease that a person revoked is no loss.
 */
function slowTakeovers(definition: string, runs: readonly RecentRun[]): readonly Advice[] {
  const slow = runs.flatMap(({ workflow, moments }) =>
    moments.flatMap(({ type, at, control: { reason, isGone } }, index) => {
      const next = moments[index + 1];
      if (type !== 'LeaseRevoked' || reason === 'asked' || next?.type !== 'LeaseClaimed') return [];
      const silentMs = reason === 'holder-dead' && isGone !== true ? BEAT_TTL_MS : 0;
      const ms = Date.parse(next.at) - Date.parse(at) + silentMs;
      return ms < TAKEOVER_SLOW_MS ? [] : [{ workflow, ms }];
    }),
  );
  const [worst] = slow.toSorted((a, b) => b.ms - a.ms);
  if (worst === undefined) return [];
  const message = `Its takeover took at least ${duration(worst.ms)} from the loss of a worker (${worst.workflow}). To resume in less than ${duration(TAKEOVER_SLOW_MS)}, keep warm workers with free slots that have its definition, and synchronous replicas of log and rows.`;
  return [{ code: 'takeover-slow', definition, message }];
}

/** A step that is committed by itself, with nothing in between, takes longer to commit than to run. */
function dearCheckpoints(definition: string, runs: readonly RecentRun[]): readonly Advice[] {
  const times = new Map<string, { readonly stepsMs: number[]; readonly commitsMs: number[] }>();
  for (const { moments } of runs) {
    for (const [at, moment] of moments.entries()) {
      const next = moments[at + 1];
      if (next === undefined || !isCommit(moment) || !isCommit(next) || next.epoch !== moment.epoch) continue;
      const [beganMs, nextMs] = [moment.control.startedAtMs, next.control.startedAtMs];
      const endedMs = Date.parse(moment.at);
      // Steps side by side don't wait for one another's checkpoints.
      if (typeof beganMs !== 'number' || typeof nextMs !== 'number' || nextMs < endedMs) continue;
      const step = String(moment.control.step);
      const { stepsMs, commitsMs } = times.get(step) ?? { stepsMs: [], commitsMs: [] };
      stepsMs.push(endedMs - beganMs);
      commitsMs.push(nextMs - endedMs);
      times.set(step, { stepsMs, commitsMs });
    }
  }
  return [...times].flatMap(([step, { stepsMs, commitsMs }]) => {
    const [stepMs, commitMs] = [medianOf(stepsMs), medianOf(commitsMs)];
    if (stepsMs.length < STEPS_JUDGED_MIN_COUNT || commitMs < COMMIT_COST_MIN_MS || stepMs >= commitMs) return [];
    const message = `Step ${step} takes ${stepMs} ms, and the next waits ${commitMs} ms for its checkpoint (medians of ${stepsMs.length}). If it may run again after a crash give it durability: 'staged', or do more in one step.`;
    return [{ code: 'checkpoint-dearer-than-step', definition, subject: step, message }] as const;
  });
}

const medianOf = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** Once for each step; for secrets in checkpoints, with place and kind alone. */
function storedSecrets(definition: string, runs: readonly RecentRun[]): readonly Advice[] {
  const steps = new Map<string, string>();
  for (const { workflow, checkpoints } of runs) {
    for (const { step_definition_ref: named, belief_change: belief, output_state: output, log } of checkpoints) {
      const step = named ?? 'begin';
      if (steps.has(step)) continue;
      const found = findSecrets({ belief, output, log }).filter(({ kind }) => !isGuess(kind));
      if (found.length > 0) steps.set(step, `${secretPlaces(found)} (${workflow})`);
    }
  }
  return [...steps].map(([step, places]) => ({
    ...{ code: 'secret-stored', definition, subject: step },
    message: `Step ${step} stored what looks like a secret: ${places}. Leave it out, mark the field with secret(), or set onSecret to mask or refuse; change it where it was given out.`,
  }));
}

/** Every snapshot is larger than the one before, and the newest is large. */
function grownBelief(definition: string, runs: readonly RecentRun[]): readonly Advice[] {
  for (const { workflow, checkpoints } of runs) {
    const sizes = checkpoints.flatMap(({ belief_change: change }) =>
      change != null && 'snapshot' in change ? [JSON.stringify(change.snapshot).length] : [],
    );
    const [first, last] = [sizes[0] ?? 0, sizes.at(-1) ?? 0];
    const isGrowing = sizes.length > 2 && sizes.every((size, at) => at === 0 || size > sizes[at - 1]!);
    if (!isGrowing || last < BELIEF_GROWN_BYTES || last < 2 * first) continue;
    const message = `Its belief only grows: from ${bytes(first)} to ${bytes(last)} within ${checkpoints.length} checkpoints (${workflow}), and every takeover reads all of it. Keep in it what the next step needs; put the rest into memory or files, or start a fresh history with continueAsNew.`;
    return [{ code: 'belief-grows', definition, message }];
  }
  return [];
}
