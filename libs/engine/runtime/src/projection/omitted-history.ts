/**
 * Owns which rows of history a rebuild omits: those of workflows that segments have from opening to end, because they would be deleted
 * again at once (see archived-rows.ts), and rejected records in those segments. Rows of the workflow itself, its spend and its memories are
 * written all the same. Every record is folded.
 *
 * H1 A workflow's history is omitted from its opening to its end, or not at all, even when another process continues the projection: rows
 *    record which of the two applies.
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

/** What is omitted from one stretch of a partition. */
export class Omitted {
  readonly #archived: ReadonlySet<WorkflowId>;
  readonly #workflows: Set<WorkflowId>;
  readonly #rejectedTo: Offset;

  /**
   * `archived`: workflows whose end a segment has; `workflows`: workflows opened earlier that are omitted; `rejectedTo`: where the segments
   * end.
   */
  constructor(archived: Iterable<WorkflowId>, workflows: Iterable<WorkflowId>, rejectedTo: Offset) {
    this.#archived = new Set(archived);
    this.#workflows = new Set(workflows);
    this.#rejectedTo = rejectedTo;
  }

  /** The workflow's opening was accepted in this stretch. */
  opened(workflow: WorkflowId): void {
    if (this.#archived.has(workflow)) this.#workflows.add(workflow);
  }

  has(workflow: WorkflowId): boolean {
    return this.#workflows.has(workflow);
  }

  hasRejected(offset: Offset): boolean {
    return offset < this.#rejectedTo;
  }

  /** The omitted workflows that a fold from this state may meet again. */
  in({ streams }: PartitionState): readonly WorkflowId[] {
    return [...this.#workflows].filter((workflow) => streams.has(workflow));
  }
}

export const NOTHING_OMITTED = new Omitted([], [], 0 as Offset);

/** Entries of a partition that are folded next. */
export interface Stretch {
  readonly before: PartitionState;
  readonly entries: readonly LogEntry[];
}

export class OmittedHistory {
  readonly #store: Pick<TierStore, 'withoutRows' | 'endedInSegments'>;
  readonly #archivedTo: (partition: PartitionState['partition']) => Offset;
  /** The omitted workflows of each state that was folded or loaded. */
  readonly #workflows = new WeakMap<PartitionState, readonly WorkflowId[]>();

  /** `archivedTo`: where the partition's segments end as far as the store knows; 0: there are none. */
  constructor(
    store: Pick<TierStore, 'withoutRows' | 'endedInSegments'>,
    archivedTo: (partition: PartitionState['partition']) => Offset,
  ) {
    this.#store = store;
    this.#archivedTo = archivedTo;
  }

  /** Reports states that were loaded from rows. */
  async loaded(states: readonly PartitionState[]): Promise<void> {
    if (states.every(({ streams }) => streams.size === 0)) return;
    const without = new Set(await this.#store.withoutRows(states.flatMap(({ streams }) => [...streams.keys()])));
    for (const state of states) {
      const workflows = [...state.streams.keys()].filter((workflow) => without.has(workflow));
      this.#keep(state, workflows);
    }
  }

  /** What is omitted from each stretch, in their order. */
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
   * Reports a state that a fold reached. Throws `CorruptError` (`archive-disagrees`) when a workflow is open after the segments that have
   * its end: the process that wrote them folded differently, and the workflow needs its history.
   */
  folded(after: PartitionState, omitted: Omitted): void {
    const workflows = omitted.in(after);
    if (after.next >= this.#archivedTo(after.partition)) {
      const open = workflows.find((workflow) => !isClosed(after.streams.get(workflow)!));
      if (open !== undefined) throw disagrees(open, after);
    }
    this.#keep(after, workflows);
  }

  /** Reports a state that was reached without folding. */
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
