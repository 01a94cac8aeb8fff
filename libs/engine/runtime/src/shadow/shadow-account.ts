/**
 * Owns the comparison of a definition's observed runs, and the promotion of its roll-out. A promotion to the next share needs the whole
 * observation period, enough runs that agree from beginning to end, and no difference at all; a refusal says what is missing. The same holds
 * for the share that Tidemark runs itself. Lowering a share, or restarting its observation, needs nothing.
 */

import { InvalidError, type Sequence } from '@tidemark/core';
import type { WorkflowSummary } from '@tidemark/ports';
import { Applied, whileRowsCatchUp } from '../history/index.ts';
import type { Ports } from '../kernel/index.ts';
import { SHADOW_OBSERVE_MS, SHADOW_WORKFLOWS_MIN } from './shadow-limits.ts';
import { type RebuiltRun, type RunPlace, rebuildRuns, type ShadowDifference } from './shadow-rebuild.ts';
import type { Rollouts, ShadowRollout } from './shadow-rollout.ts';
import { type ShadowMode, type ShadowShare, shareAfter } from './shadow-share.ts';

/** Newest workflows of a definition that a comparison covers. */
const SHADOW_RUNS_MAX = 10_000;
/** Differences that a comparison lists; further ones are only counted. */
const SHADOW_DIFFERENCES_MAX = 1_000;
/** Openings that a comparison reads at once. */
const SHADOW_LOOKUPS_MAX = 64;

/** The result of comparing the runs that were opened since the share was set. */
export interface ShadowAccount {
  readonly definition: string;
  /** Undefined: it was never begun. */
  readonly rollout: ShadowRollout | undefined;
  /** Runs that ended and agree completely. */
  readonly agreedCount: number;
  readonly differingCount: number;
  /** Runs without a difference that are still open. */
  readonly openCount: number;
  /** Runs without a difference, but with lost reports. */
  readonly incompleteCount: number;
  /** Compared steps. */
  readonly stepCount: number;
  readonly differenceCount: number;
  /** The first 1,000, by workflow and sequence. */
  readonly differences: readonly ShadowDifference[];
  /** There are older runs that were not read. */
  readonly isCut: boolean;
}

/** Why a promotion is refused. */
export interface ShadowRefusal {
  readonly code: 'differences' | 'too-few' | 'too-early' | 'not-next' | 'not-observed' | 'too-many';
  readonly message: string;
}

export interface ShadowPromotion {
  /** Of the share that the mode names. */
  readonly from: ShadowShare;
  readonly to: ShadowShare;
  /** Empty: the promotion was made. */
  readonly refusals: readonly ShadowRefusal[];
  readonly account: ShadowAccount;
}

export interface PromoteOptions {
  /** `active`: the share that Tidemark runs itself; `observe`, the default: the observed one. */
  readonly mode?: ShadowMode | undefined;
  /** Absent, for `observe`: the present share is observed, and Tidemark runs none of it any more. */
  readonly to?: ShadowShare | undefined;
  readonly by: string;
  /** Observation needed at the current share, in milliseconds; default 24 hours. */
  readonly observeMs?: number | undefined;
  /** Runs that must have agreed, at least 1; default 10. */
  readonly workflowsMin?: number | undefined;
}

/** Rebuilds and compares the runs. Waits until rows have everything in the log; throws `UnavailableError` when that takes too long. */
export async function accountOf(
  ports: Ports,
  definition: string,
  rollout: ShadowRollout | undefined,
): Promise<ShadowAccount> {
  await rowsCaughtUp(ports);
  const newest = await ports.store.workflows({ definition, limit: SHADOW_RUNS_MAX });
  const sinceMs = rollout?.sinceMs ?? 0;
  const observed = newest.filter((row) => row.definition === definition && row.openedAtMs >= sinceMs);
  const runs: RebuiltRun[] = [];
  for (const places of byPartition(await placesOf(ports, observed))) runs.push(...(await rebuildRuns(ports, places)));
  const isCut = newest.length === SHADOW_RUNS_MAX && observed.length === newest.length;
  return { definition, rollout, ...counted(runs), isCut };
}

function counted(runs: readonly RebuiltRun[]): Omit<ShadowAccount, 'definition' | 'rollout' | 'isCut'> {
  const same = runs.filter(({ differences }) => differences.length === 0);
  const whole = same.filter(({ lostCount }) => lostCount === 0);
  const isOpen = ({ state }: RebuiltRun): boolean => state.status !== 'completed' && state.status !== 'failed';
  const differences = runs.flatMap((run) => run.differences);
  const sorted = differences.toSorted((a, b) => compare(a.workflow, b.workflow) || a.sequence - b.sequence);
  return {
    agreedCount: whole.filter((run) => !isOpen(run)).length,
    differingCount: runs.length - same.length,
    openCount: whole.filter(isOpen).length,
    incompleteCount: same.length - whole.length,
    stepCount: runs.reduce((sum, run) => sum + run.comparedCount, 0),
    differenceCount: differences.length,
    differences: sorted.slice(0, SHADOW_DIFFERENCES_MAX),
  };
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

async function placesOf(
  { store }: Pick<Ports, 'store'>,
  rows: readonly WorkflowSummary[],
): Promise<readonly RunPlace[]> {
  const places: RunPlace[] = [];
  for (let at = 0; at < rows.length; at += SHADOW_LOOKUPS_MAX) {
    const some = rows.slice(at, at + SHADOW_LOOKUPS_MAX);
    const openings = await Promise.all(
      some.map(({ workflow }) => store.checkpoints(workflow, { from: 0 as Sequence, limit: 1 })),
    );
    for (const [index, { workflow, partition, generation }] of some.entries()) {
      const opening = openings[index]?.[0];
      if (opening?.sequence === 0) places.push({ workflow, partition, generation, offset: opening.offset });
    }
  }
  return places;
}

const byPartition = (places: readonly RunPlace[]): readonly (readonly RunPlace[])[] => [
  ...Map.groupBy(places, ({ partition }) => partition).values(),
];

/** Waits for rows, so that no run is missed. */
async function rowsCaughtUp(ports: Ports): Promise<void> {
  const applied = new Applied(ports);
  try {
    const bounds = await ports.log.bounds();
    const positions = await ports.store.positions();
    const behind = [...bounds].filter(([partition, { start, end }]) => (positions.get(partition) ?? start) < end);
    await whileRowsCatchUp(ports, (signal) =>
      Promise.all(behind.map(([partition, { end }]) => applied.wait(partition, end, signal))),
    );
  } finally {
    await applied.close();
  }
}

/**
 * Sets the share if that is allowed, and returns the refusals if not. Throws `ConflictError` when somebody else changed it meanwhile, and
 * `InvalidError` (`shadow-share-invalid`, `shadow-promotion-invalid`).
 */
export async function promote(
  ports: Ports,
  rollouts: Rollouts,
  definition: string,
  options: PromoteOptions,
): Promise<ShadowPromotion> {
  const { mode = 'observe', by, observeMs = SHADOW_OBSERVE_MS, workflowsMin = SHADOW_WORKFLOWS_MIN } = options;
  // Not NaN either, with which every comparison would be false, and nothing refused.
  if (!(observeMs >= 0) || !(workflowsMin >= 1)) throw promotionInvalid(observeMs, workflowsMin);
  const before = await rollouts.readExactly(definition);
  const { share: observed = 0, active = 0 } = before.state ?? {};
  const to = options.to ?? (mode === 'observe' ? observed : undefined);
  if (to === undefined) throw new InvalidError('shadow-share-invalid', 'to: give the share that Tidemark is to run.');
  const from = mode === 'observe' ? observed : active;
  const nowMs = ports.clock.nowMs();
  // Nothing is observed at share 0, so the next share is a beginning and may be any.
  const isPromotion = to > from && (mode === 'active' || from > 0);
  // A step back must not wait for rows, which may be what is in trouble.
  const judged = isPromotion ? await accountOf(ports, definition, before.state) : undefined;
  const refusals = judged ? refusalsOf(judged, { mode, from, to, observeMs, workflowsMin, nowMs }) : [];
  if (refusals.length === 0) {
    const needed = isPromotion ? { observeMs, workflowsMin } : { observeMs: null, workflowsMin: null };
    const kept = options.to === undefined ? 0 : (Math.min(active, to) as ShadowShare);
    const shares = mode === 'observe' ? { share: to, active: kept } : { share: observed, active: to };
    await rollouts.change(definition, before, { ...shares, sinceMs: nowMs, by, ...needed });
  }
  return { from, to, refusals, account: judged ?? (await accountOf(ports, definition, before.state)) };
}

const promotionInvalid = (observeMs: number, workflowsMin: number): InvalidError =>
  new InvalidError(
    'shadow-promotion-invalid',
    `A promotion needs observeMs from 0 (it is ${observeMs}) and workflowsMin from 1 (it is ${workflowsMin}): what no run was compared with is not promoted.`,
    { observeMs, workflowsMin },
  );

interface Wanted {
  readonly mode: ShadowMode;
  readonly from: ShadowShare;
  readonly to: ShadowShare;
  readonly observeMs: number;
  readonly workflowsMin: number;
  readonly nowMs: number;
}

function refusalsOf(
  account: ShadowAccount,
  { mode, from, to, observeMs, workflowsMin, nowMs }: Wanted,
): readonly ShadowRefusal[] {
  const refusals: ShadowRefusal[] = [];
  const refuse = (code: ShadowRefusal['code'], message: string): number => refusals.push({ code, message });
  const { differenceCount, differingCount, agreedCount, openCount, incompleteCount, rollout } = account;
  const [next, observed] = [shareAfter(from, mode), rollout?.share ?? 0];
  if (to !== next) refuse('not-next', `after ${from} % comes ${next} %, not ${to} %`);
  if (mode === 'active' && to > observed) refuse('not-observed', `${observed} % are observed, fewer than ${to} %`);
  if (differenceCount > 0) refuse('differences', `${differenceCount} differences in ${differingCount} runs`);
  if (agreedCount < workflowsMin) {
    refuse(
      'too-few',
      `${agreedCount} runs ended and agree, ${workflowsMin} are needed (${openCount} have not ended, ${incompleteCount} lost reports)`,
    );
  }
  const observedMs = nowMs - (rollout?.sinceMs ?? nowMs);
  if (observedMs < observeMs) {
    refuse('too-early', `observed for ${minutes(observedMs)} minutes of ${minutes(observeMs)}`);
  }
  if (account.isCut) refuse('too-many', `only the newest ${SHADOW_RUNS_MAX} runs were compared`);
  return refusals;
}

const minutes = (ms: number): number => Math.floor(ms / 60_000);
