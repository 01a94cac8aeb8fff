/** Owns reading the events of one workflow again: from log or segments, folded again, the accepted ones alone. Must not write. */

import { entryOf, recordUnreadable } from '@tidemark/codec';
import {
  CorruptError,
  emptyPartition,
  foldEntry,
  foldRecord,
  type Generation,
  InvalidError,
  isClosed,
  type Offset,
  type Sequence,
  type StreamState,
  type WorkflowId,
} from '@tidemark/core';
import type { EventLog, ProjectionStore, StoredRecord, WorkflowSummary } from '@tidemark/ports';
import { HISTORY_READ_MAX_BYTES } from './limits.ts';
import type { TraceSpan } from './span.ts';
import type { DrawingOptions, TracedEvent } from './traced-event.ts';
import { WorkflowTrace } from './workflow-trace.ts';

export interface HistoryPorts {
  readonly log: Pick<EventLog, 'read'>;
  readonly store: Pick<ProjectionStore, 'workflow' | 'checkpoints'>;
}

export interface PlacedEvent extends PlacedAt {
  readonly event: TracedEvent;
}

interface PlacedAt {
  readonly offset: Offset;
}

/**
 * Yields to the end of the workflow, or of the log as it is now. Throws `InvalidError` (`workflow-unknown`), `CorruptError`
 * (`history-unopened`), `UnavailableError` (`object-archived`: restore it first).
 */
export async function* historyOf(
  { log, store }: HistoryPorts,
  workflow: WorkflowId,
): AsyncGenerator<PlacedEvent, void, undefined> {
  const row = await store.workflow(workflow);
  const [opening] = row === undefined ? [] : await store.checkpoints(workflow, { from: 0 as Sequence, limit: 1 });
  if (row === undefined || opening?.sequence !== 0) {
    throw new InvalidError('workflow-unknown', `No workflow has the id '${workflow}'.`, { workflow });
  }
  const stream = new ReadStream(row);
  for (let at = opening.offset; ; ) {
    const [result] = await log.read([{ partition: row.partition, from: at }], { maxBytes: HISTORY_READ_MAX_BYTES });
    for (const record of result?.records ?? []) {
      const event = stream.add(record);
      if (event === undefined) continue;
      yield { offset: record.offset, event };
      if (isClosed(event.after)) return;
    }
    const count = result?.records.length ?? 0;
    at = (at + count) as Offset;
    if (count === 0 || at >= result!.end) return;
    if (!stream.hasBegun) throw unopened(workflow, at);
  }
}

const unopened = (workflow: WorkflowId, at: Offset): CorruptError =>
  new CorruptError(
    'history-unopened',
    `Workflow ${workflow}: its opening is not where its rows say. Run \`tidemark admin verify\`, and rebuild the rows from the log.`,
    { workflow, at },
  );

/** Skips other streams of the partition: what a stream accepts depends on nothing but itself. */
class ReadStream {
  readonly #row: WorkflowSummary;
  #state: StreamState | undefined;

  constructor(row: WorkflowSummary) {
    this.#row = row;
  }

  get hasBegun(): boolean {
    return this.#state !== undefined;
  }

  add(record: StoredRecord): TracedEvent | undefined {
    const { workflow, partition, generation } = this.#row;
    const entry = entryOf(record);
    if (entry.kind !== 'event' || entry.envelope.workflow !== workflow) return undefined;
    const { envelope, payload } = entry;
    const { offset } = record;
    const before = this.#state;
    if (before !== undefined) {
      const { stream, verdict } = foldRecord(before, entry, offset);
      if (verdict.kind !== 'accepted') return undefined;
      this.#state = stream;
      return { envelope, payload, before, after: stream };
    }
    if (envelope.type !== 'WorkflowOpened') return undefined;
    if (entry.problem !== undefined) throw recordUnreadable(entry);
    // The partition's previous generation, so that its opening is the next.
    const empty = { ...emptyPartition(partition, offset), generation: (generation - 1) as Generation };
    const after = foldEntry(empty, entry).state.streams.get(workflow);
    this.#state = after;
    return after === undefined ? undefined : { envelope, payload, before: undefined, after };
  }
}

export interface DrawnTrace {
  /** In the order in which they ended. */
  readonly spans: readonly TraceSpan[];
  /** Open spans, whose ends are the time of the last event. Empty once the workflow has ended. */
  readonly open: readonly TraceSpan[];
  readonly isNotable: boolean;
}

/** The workflow's trace as far as it is decided. Throws as `historyOf` does. */
export async function traceOf(
  ports: HistoryPorts,
  workflow: WorkflowId,
  options: DrawingOptions = {},
): Promise<DrawnTrace> {
  const trace = new WorkflowTrace(options);
  const spans: TraceSpan[] = [];
  for await (const { event } of historyOf(ports, workflow)) spans.push(...trace.add(event));
  return { spans, open: trace.open(), isNotable: trace.isNotable };
}
