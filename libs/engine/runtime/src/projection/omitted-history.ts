/**
 * Owns which rows of history a rebuild leaves out: those of workflows that segments have from opening to end, which would be taken away
 * again as soon as they are written (see archived-rows.ts), and what was rejected in those segments. What a workflow is, what it spent, and
 * what it remembers is written all the same. Must not decide what is folded: every record is.
 *
 * H1 A workflow's history is left out from its opening to its end, or not at all, whatever process goes on with the rows: they say of each
 *    workflow which of the two it is.
 */

import {
  CorruptError,
  isClosed,
  type LogEntry,
  type Offset,
  type PartitionState,
  type WorkflowId,
} from '@tidemark/core';
import type { StreamPlace, TierStore } from '@tidemark/ports';

/** What is left out of one stretch of a partition. */
export class Omitted {
  readonly #archived: ReadonlySet<WorkflowId>;
  readonly #workflows: Set<WorkflowId>;
  readonly #rejectedTo: Offset;

  /** `archived`: whose end a segment has; `workflows`: those that were opened before, and are left out; `rejectedTo`: up to where segments are. */
  constructor(archived: Iterable<WorkflowId>, workflows: Iterable<WorkflowId>, rejectedTo: Offset) {
    this.#archived = new Set(archived);
    this.#workflows = new Set(workflows);
    this.#rejectedTo = rejectedTo;
  }

  /** The workflow's opening was accepted here. */
  opened(workflow: WorkflowId): void {
    if (this.#archived.has(workflow)) this.#workflows.add(workflow);
  }

  has(workflow: WorkflowId): boolean {
    return this.#workflows.has(workflow);
  }

  hasRejected(offset: Offset): boolean {
    return offset < this.#rejectedTo;
  }

  /** Those of them that a fold which goes on from this state may meet again. */
  in({ streams }: PartitionState): readonly WorkflowId[] {
    return [...this.#workflows].filter((workflow) => streams.has(workflow));
  }
}

export const NOTHING_LEFT_OUT = new Omitted([], [], 0 as Offset);

/** Entries of a partition that are folded next. */
export interface Stretch {
  readonly before: PartitionState;
  readonly entries: readonly LogEntry[];
}

export class OmittedHistory {
  readonly #store: Pick<TierStore, 'withoutRows' | 'endedInSegments'>;
  readonly #archivedTo: (partition: PartitionState['partition']) => Offset;
  /** Of each state that was folded or loaded: the workflows in it that are left out. */
  readonly #workflows = new WeakMap<PartitionState, readonly WorkflowId[]>();

  /** `archivedTo`: up to where the store knows the partition's segments; 0: none. */
  constructor(
    store: Pick<TierStore, 'withoutRows' | 'endedInSegments'>,
    archivedTo: (partition: PartitionState['partition']) => Offset,
  ) {
    this.#store = store;
    this.#archivedTo = archivedTo;
  }

  /** The states come from rows. */
  async loaded(states: readonly PartitionState[]): Promise<void> {
    if (states.every(({ streams }) => streams.size === 0)) return;
    const without = new Set(await this.#store.withoutRows(states.flatMap(({ streams }) => [...streams.keys()])));
    for (const state of states) {
      const workflows = [...state.streams.keys()].filter((workflow) => without.has(workflow));
      this.#keep(state, workflows);
    }
  }

  /** What is left out of each, in their order. */
  async of(stretches: readonly Stretch[]): Promise<readonly Omitted[]> {
    const archived = new Map<PartitionState['partition'], WorkflowId[]>();
    const opened = stretches.flatMap((stretch) => this.#openedIn(stretch));
    for (const { partition, workflow } of opened.length === 0 ? [] : await this.#store.endedInSegments(opened)) {
      const known = archived.get(partition);
      if (known === undefined) archived.set(partition, [workflow]);
      else known.push(workflow);
    }
    return stretches.map(({ before }) => {
      const { partition } = before;
      return new Omitted(archived.get(partition) ?? [], this.#workflows.get(before) ?? [], this.#archivedTo(partition));
    });
  }

  #openedIn({ before: { partition, next }, entries }: Stretch): readonly StreamPlace[] {
    if (next >= this.#archivedTo(partition)) return [];
    return entries.flatMap((entry) =>
      entry.kind === 'event' && entry.envelope.type === 'WorkflowOpened'
        ? [{ partition, workflow: entry.envelope.workflow }]
        : [],
    );
  }

  /**
   * The state was reached. Throws `CorruptError` (`archive-disagrees`) when a workflow is open behind the segments that have its end: whoever
   * wrote those folded otherwise, and the workflow needs its history.
   */
  folded(after: PartitionState, omitted: Omitted): void {
    const workflows = omitted.in(after);
    if (after.next >= this.#archivedTo(after.partition)) {
      const open = workflows.find((workflow) => !isClosed(after.streams.get(workflow)!));
      if (open !== undefined) throw disagrees(open, after);
    }
    this.#keep(after, workflows);
  }

  /** The state was reached without folding. */
  skipped(before: PartitionState, after: PartitionState): void {
    this.folded(after, new Omitted([], this.#workflows.get(before) ?? [], 0 as Offset));
  }

  #keep(state: PartitionState, workflows: readonly WorkflowId[]): void {
    if (workflows.length > 0) this.#workflows.set(state, workflows);
  }
}

const disagrees = (workflow: WorkflowId, { partition }: PartitionState): CorruptError =>
  new CorruptError(
    'archive-disagrees',
    `Workflow ${workflow} has ended by the manifest of a segment, and is open by the fold of its records.`,
    { workflow, partition },
  );
