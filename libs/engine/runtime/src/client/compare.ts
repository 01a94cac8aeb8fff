/**
 * Owns the comparison of two workflows, mostly of a fork with its base or with another fork: how each ended, what it took, and the first
 * checkpoint at which they differ. Numbering includes shared checkpoints, so the same place has the same number in both. It reads rows
 * only.
 */

import { canonicalJson, decodePayload, type ForkOrigin, foldFor, keepJson } from '@tidemark/codec';
import {
  applyDelta,
  type Delta,
  type Fork,
  type Json,
  NO_SPEND,
  plusSpend,
  type Sequence,
  type Spend,
  type StreamStatus,
  type WorkflowId,
} from '@tidemark/core';
import type { CheckpointRow, ProjectionStore, WorkflowSummary } from '@tidemark/ports';
import { OUTPUTS_PAGE_COUNT, originOf } from '../history/index.ts';
import { historyForgotten, isForgotten, workflowUnknown } from '../kernel/index.ts';

export interface Totals extends Spend {
  readonly checkpointCount: number;
}

export interface ComparedWorkflow {
  readonly workflow: WorkflowId;
  readonly definition: string;
  readonly version: number;
  readonly fork: Fork | undefined;
  readonly status: StreamStatus;
  readonly reason: string | null;
  /** Undefined unless it completed. */
  readonly output: Json | undefined;
  /** Totals of its own chain. */
  readonly own: Totals;
  /** Totals of the history that it shares. */
  readonly shared: Totals;
  /** Effects that left the process, or would have: how many were called, and how many were replayed. */
  readonly effects: { readonly calledCount: number; readonly replayedCount: number };
  readonly tookMs: number;
}

/** The state after a checkpoint. */
export interface ComparedPoint {
  readonly workflow: WorkflowId;
  /** Sequence in the workflow's own chain. */
  readonly sequence: Sequence;
  readonly step: string | null;
  readonly belief: Json;
  /** The output that the step left for later ones; null: none, or the opening. */
  readonly output: Json;
}

export interface Comparison {
  readonly workflows: readonly [ComparedWorkflow, ComparedWorkflow];
  /** Both have the same status, reason and output. */
  readonly isSameOutcome: boolean;
  /** `at` counts shared checkpoints as well. A point is null where that history ended before. Null: the workflows never differ. */
  readonly firstDifference: {
    readonly at: number;
    readonly points: readonly [ComparedPoint | null, ComparedPoint | null];
  } | null;
}

type Reads = Pick<ProjectionStore, 'workflow' | 'checkpoints' | 'effects'>;

/** Throws `InvalidError` (`workflow-unknown`; `history-forgotten`: of one of them, or of shared history), and what the store throws. */
export async function compareWorkflows(reads: Reads, a: WorkflowId, b: WorkflowId): Promise<Comparison> {
  const [left, right] = [await found(reads, a), await found(reads, b)];
  const workflows = [await compared(reads, left), await compared(reads, right)] as const;
  const [one, other] = workflows;
  const isSameOutcome =
    one.status === other.status && one.reason === other.reason && sameJson(one.output, other.output);
  return { workflows, isSameOutcome, firstDifference: await firstDifference(reads, left, right) };
}

interface Found {
  readonly row: WorkflowSummary;
  readonly origin: ForkOrigin | undefined;
}

async function found(reads: Reads, workflow: WorkflowId): Promise<Found> {
  const row = await reads.workflow(workflow);
  if (row === undefined) throw workflowUnknown(workflow);
  const [opening] = await reads.checkpoints(workflow, { from: 0 as Sequence, limit: 1 });
  if (opening?.sequence === 0 && isForgotten(opening)) throw historyForgotten(workflow);
  const origin = row.fork && (await originOf((of, options) => reads.checkpoints(of, options), workflow));
  return { row, origin };
}

const sameJson = (a: Json | undefined, b: Json | undefined): boolean =>
  a === undefined || b === undefined ? a === b : canonicalJson(a) === canonicalJson(b);

async function compared(reads: Reads, { row, origin }: Found): Promise<ComparedWorkflow> {
  const { workflow, definition, version, fork, status, reason, result, sequence } = row;
  if (result !== null) keepJson(result);
  const rows = (await foldFor(() => reads.effects(workflow))).filter(({ kind }) => kind !== 'pure');
  const replayedCount = rows.filter(({ request }) => request !== null && isReplayed(request)).length;
  return {
    ...{ workflow, definition, version, fork, status, reason },
    output: status !== 'completed' || result === null ? undefined : decodePayload('WorkflowCompleted', result).output,
    own: { checkpointCount: sequence, ...plusSpend(row, undefined) },
    shared: await sharedTotals(reads, origin),
    effects: { calledCount: fork?.effects === 'replay' ? 0 : rows.length - replayedCount, replayedCount },
    tookMs: row.updatedAtMs - row.openedAtMs,
  };
}

const isReplayed = (request: string): boolean => decodePayload('EffectIntended', request).replays !== undefined;

async function sharedTotals(reads: Reads, origin: ForkOrigin | undefined): Promise<Totals> {
  let [checkpointCount, spent] = [0, NO_SPEND];
  for (const { workflow, upTo } of origin?.shares ?? []) {
    for await (const row of rowsOf(reads, workflow, 1, upTo)) {
      checkpointCount++;
      spent = plusSpend(spent, row);
    }
  }
  return { checkpointCount, ...spent };
}

async function* rowsOf(reads: Reads, workflow: WorkflowId, first: number, last: number): AsyncGenerator<CheckpointRow> {
  for (let from = first; from <= last; ) {
    const limit = Math.min(OUTPUTS_PAGE_COUNT, last - from + 1);
    const page = await reads.checkpoints(workflow, { from: from as Sequence, limit });
    yield* page;
    if (page.length < limit) return;
    from = page.at(-1)!.sequence + 1;
  }
}

/** The whole history: each shared stretch up to where the next fork begins, and that fork's opening in place of the last shared point. */
async function* pointsOf(reads: Reads, { row, origin }: Found): AsyncGenerator<ComparedPoint> {
  const shares = (origin?.shares ?? []).toReversed();
  const stretches = [...shares, { workflow: row.workflow, upTo: row.sequence }];
  let step: string | null = null;
  for (const [at, { workflow, upTo }] of stretches.entries()) {
    // The next stretch's opening stands for the last shared point.
    const isShared = at < stretches.length - 1;
    let belief: Json = null;
    for await (const point of rowsOf(reads, workflow, 0, upTo)) {
      const { sequence } = point;
      if (sequence === 0 && isForgotten(point)) throw historyForgotten(workflow);
      belief = beliefAfter(belief, point);
      if (sequence > 0) step = point.step;
      if (!isShared || sequence < upTo) yield { workflow, sequence, step, belief, output: outputOf(point) };
    }
  }
}

const outputOf = ({ sequence, payload }: CheckpointRow): Json =>
  sequence === 0 ? null : decodePayload('CheckpointCommitted', payload).output;

function beliefAfter(before: Json, { sequence, belief, payload }: CheckpointRow): Json {
  if (sequence === 0) return decodePayload('WorkflowOpened', payload).belief;
  if (belief === 'none') return before;
  const { snapshot, delta } = decodePayload('CheckpointCommitted', payload);
  if (snapshot !== undefined) return snapshot;
  return delta === undefined ? before : applyDelta(before, delta as Delta);
}

async function firstDifference(reads: Reads, left: Found, right: Found): Promise<Comparison['firstDifference']> {
  const [a, b] = [pointsOf(reads, left), pointsOf(reads, right)];
  for (let at = 0; ; at++) {
    const [one, other] = [await a.next(), await b.next()];
    if (one.done === true && other.done === true) return null;
    const points = [one.done === true ? null : one.value, other.done === true ? null : other.value] as const;
    if (isSamePoint(...points)) continue;
    return { at, points };
  }
}

const isSamePoint = (a: ComparedPoint | null, b: ComparedPoint | null): boolean =>
  a !== null &&
  b !== null &&
  a.step === b.step &&
  sameJson(a.belief, b.belief) &&
  // An opening that stands for a shared point has no output to compare.
  (a.sequence === 0 || b.sequence === 0 || sameJson(a.output, b.output));
