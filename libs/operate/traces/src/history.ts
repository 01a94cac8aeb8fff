/** Owns reading the events of one workflow again: from log or segments, folded again, the accepted ones alone. Must not write. */

import { CorruptError, InvalidError, isClosed, type Offset, type Sequence, type WorkflowId } from '@tidemark/core';
import type { EventLog, ProjectionStore } from '@tidemark/ports';
import { StreamFold } from '@tidemark/runtime';
import { HISTORY_READ_MAX_BYTES } from './limits.ts';
import type { TraceSpan } from './span.ts';
import type { DrawingOptions, TracedEvent } from './traced-event.ts';
import { WorkflowTrace } from './workflow-trace.ts';

export interface HistoryPorts {
  readonly log: Pick<EventLog, 'read'>;
  readonly store: Pick<ProjectionStore, 'workflow' | 'checkpoints'>;
}

export interface PlacedEvent {
  readonly offset: Offset;
  readonly event: TracedEvent;
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
  const fold = new StreamFold(row);
  for (let at = opening.offset; ; ) {
    const [result] = await log.read([{ partition: row.partition, from: at }], { maxBytes: HISTORY_READ_MAX_BYTES });
    for (const record of result?.records ?? []) {
      const before = fold.stream;
      const accepted = fold.add(record);
      if (accepted === undefined) continue;
      const { offset, envelope, payload } = accepted;
      const after = fold.stream!;
      yield { offset, event: { envelope, payload, before, after } };
      if (isClosed(after)) return;
    }
    const count = result?.records.length ?? 0;
    at = (at + count) as Offset;
    if (count === 0 || at >= result!.end) return;
    if (fold.stream === undefined) throw unopened(workflow, at);
  }
}

const unopened = (workflow: WorkflowId, at: Offset): CorruptError =>
  new CorruptError(
    'history-unopened',
    `Workflow ${workflow}: its opening is not where its rows say. Run \`tidemark admin verify\`, and rebuild the rows from the log.`,
    { workflow, at },
  );

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
