/**
 * Owns the single view of a fork's history: the shared part, then its own. Sequences of checkpoints, fragments, working memory and outputs
 * continue from one workflow to the next, so the fork's model calls and steps see what they would see had the base continued like this.
 * Shared rows are read in place, never copied. It never writes.
 *
 * L1 A row's sequence is that of its own workflow; in the view it is greater by `shift`, the number of shared checkpoints before it.
 */

import { decodePayload, type ForkOrigin } from '@tidemark/codec';
import {
  type CoveredRange,
  compareTasks,
  type FragmentPlace,
  type Json,
  type Sequence,
  type TaskId,
  taskId,
  taskOrder,
  type WorkflowId,
} from '@tidemark/core';
import type { CheckpointRow, ContextStore, FragmentWithText, TraceEntry } from '@tidemark/ports';
import type { Journaled } from '../definition/index.ts';
import { OUTPUTS_PAGE_COUNT } from './limits.ts';

type ContextReads = Pick<ContextStore, 'fragments' | 'texts' | 'trace' | 'scopes'>;

/** A stretch of the view: a workflow's checkpoints up to one of them. */
interface Stretch {
  readonly workflow: WorkflowId;
  readonly upTo: Sequence;
  readonly shift: number;
}

export const shiftOf = ({ shares }: Pick<ForkOrigin, 'shares'>): number =>
  shares.reduce((sum, { upTo }) => sum + upTo, 0);

/** The stretches that a fork shares, oldest first. */
function sharedBy({ shares }: Pick<ForkOrigin, 'shares'>): readonly Stretch[] {
  let shift = 0;
  return shares.toReversed().map(({ workflow, upTo }) => {
    const stretch = { workflow, upTo, shift };
    shift += upTo;
    return stretch;
  });
}

const shiftedPlace = (place: FragmentPlace, by: number): FragmentPlace =>
  place.run === 0 ? { ...place, sequence: (place.sequence + by) as Sequence } : place;

/** Shifts places in the workflow itself, but none in earlier runs of its session. */
export const shiftedRange = ({ from, to }: CoveredRange, by: number): CoveredRange => ({
  from: shiftedPlace(from, by),
  to: shiftedPlace(to, by),
});

/** The task's id in the view. */
export function placeOf(task: TaskId, fork: ForkOrigin | undefined): TaskId {
  if (fork === undefined) return task;
  const [sequence, index] = taskOrder(task);
  if (sequence === 0) return fork.tasks[index]?.place ?? task;
  return taskId(sequence + shiftOf(fork), index);
}

/** Reads that cover a fork's shared history; for any other workflow they are the given reads. */
export function lineageReads(reads: ContextReads, fork: WorkflowId, origin: ForkOrigin): ContextReads {
  const shared = sharedBy(origin);
  const own = (upTo: Sequence): Stretch => ({ workflow: fork, upTo, shift: shiftOf(origin) });
  return {
    texts: (workflow, digests) => reads.texts(workflow, digests),
    async fragments(workflow, upTo) {
      if (workflow !== fork) return reads.fragments(workflow, upTo);
      const found = await Promise.all([...shared, own(upTo)].map((stretch) => fragmentsOf(reads, stretch)));
      return found.flat();
    },
    async scopes(workflow, upTo) {
      if (workflow !== fork) return reads.scopes(workflow, upTo);
      const found = await Promise.all([...shared, own(upTo)].map((stretch) => scopesOf(reads, stretch)));
      const rows = found.flat();
      return rows.slice(
        Math.max(
          0,
          rows.findLastIndex(({ isWhole }) => isWhole),
        ),
      );
    },
    async trace(workflow, upTo, count) {
      if (workflow !== fork) return reads.trace(workflow, upTo, count);
      return traceOf(reads, [...shared, own(upTo)], count);
    },
  };
}

/** The same for a workflow that may not be a fork. */
export const readsOf = (reads: ContextReads, workflow: WorkflowId, origin: ForkOrigin | undefined): ContextReads =>
  origin === undefined ? reads : lineageReads(reads, workflow, origin);

async function fragmentsOf(reads: ContextReads, { workflow, upTo, shift }: Stretch) {
  return (await reads.fragments(workflow, upTo)).map(
    (row): FragmentWithText => ({
      ...row,
      sequence: (row.sequence + shift) as Sequence,
      covers: row.covers && shiftedRange(row.covers, shift),
    }),
  );
}

async function scopesOf(reads: ContextReads, { workflow, upTo, shift }: Stretch) {
  const rows = await reads.scopes(workflow, upTo);
  return rows.map((row) => ({ ...row, sequence: (row.sequence + shift) as Sequence }));
}

/** Reads backwards from the newest stretch until it has `count` entries, and counts all earlier ones. */
async function traceOf(reads: ContextReads, stretches: readonly Stretch[], count: number) {
  let recent: readonly TraceEntry[] = [];
  const earlier: Record<string, number> = {};
  for (const { workflow, upTo, shift } of stretches.toReversed()) {
    if (upTo === 0) continue;
    const found = await reads.trace(workflow, upTo, Math.max(count - recent.length, 0));
    recent = [
      ...found.recent.map((entry) => ({ ...entry, sequence: (entry.sequence + shift) as Sequence })),
      ...recent,
    ];
    for (const [step, times] of Object.entries(found.earlier)) earlier[step] = (earlier[step] ?? 0) + times;
  }
  return { recent, earlier };
}

/** Reads a page of a workflow's checkpoints. */
export type PageOf = (
  workflow: WorkflowId,
  options: { readonly from: Sequence; readonly limit: number; readonly step?: string },
) => Promise<readonly CheckpointRow[]>;

/** Outputs of the committed tasks of a step, in the order in which the tasks were created. */
export async function outputsOf(
  pageOf: PageOf,
  workflow: WorkflowId,
  fork: ForkOrigin | undefined,
  step: string,
): Promise<readonly Json[]> {
  const found: { readonly place: TaskId; readonly output: Json }[] = [];
  for await (const { row, origin } of committed(pageOf, workflow, fork, 0, step)) {
    if (row.task === null) continue;
    const { output } = decodePayload('CheckpointCommitted', row.payload);
    found.push({ place: placeOf(row.task, origin), output });
  }
  return found.sort((a, b) => compareTasks(a.place, b.place)).map(({ output }) => output);
}

/** The journals of checkpoints after this one of the view, in their order. */
export async function journalOf(
  pageOf: PageOf,
  workflow: WorkflowId,
  fork: ForkOrigin | undefined,
  after: Sequence,
): Promise<readonly Journaled[]> {
  const found: Journaled[] = [];
  for await (const { row } of committed(pageOf, workflow, fork, after)) {
    const { journal, output } = decodePayload('CheckpointCommitted', row.payload);
    if (journal !== undefined) found.push({ step: row.step ?? '', journal, output });
  }
  return found;
}

/** The workflow's fork origin, from its opening; undefined: it is no fork. */
export async function originOf(pageOf: PageOf, workflow: WorkflowId): Promise<ForkOrigin | undefined> {
  const [opening] = await pageOf(workflow, { from: 0 as Sequence, limit: 1 });
  return opening?.sequence === 0 ? decodePayload('WorkflowOpened', opening.payload).fork : undefined;
}

/** The checkpoints after this one of the view, each with the fork origin of the workflow that has it. */
async function* committed(
  pageOf: PageOf,
  workflow: WorkflowId,
  fork: ForkOrigin | undefined,
  after: number,
  step?: string,
) {
  const own = { workflow, upTo: Number.POSITIVE_INFINITY, shift: fork === undefined ? 0 : shiftOf(fork) };
  for (const { workflow: of, upTo, shift } of [...(fork === undefined ? [] : sharedBy(fork)), own]) {
    let from = Math.max(1, after - shift + 1) as Sequence;
    if (from > upTo) continue;
    const origin = of === workflow ? fork : await originOf(pageOf, of);
    while (from <= upTo) {
      const page = await pageOf(of, { from, limit: OUTPUTS_PAGE_COUNT, ...(step !== undefined && { step }) });
      for (const row of page) if (row.sequence <= upTo) yield { row, origin };
      if (page.length < OUTPUTS_PAGE_COUNT) break;
      from = (page.at(-1)!.sequence + 1) as Sequence;
    }
  }
}
