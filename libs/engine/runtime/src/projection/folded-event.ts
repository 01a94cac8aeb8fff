/**
 * Owns what the projector passes to a trace sink: accepted events with the workflow's state before and after each, once their rows are
 * written. A sink must neither delay the projector nor throw.
 */

import type { Envelope, LogEntry, Offset, Partition, PartitionState, StreamState, Verdict } from '@tidemark/core';
import type { PartitionAdvance } from '@tidemark/ports';

export interface FoldedEvent {
  readonly partition: Partition;
  readonly offset: Offset;
  readonly envelope: Envelope;
  readonly payload: Uint8Array;
  /** Undefined: this event opens the workflow. */
  readonly before: StreamState | undefined;
  readonly after: StreamState;
}

export interface TraceSink {
  /** Runs before anything is folded; `owns` says whether this process projects a partition now. Throws `UnavailableError`. */
  begin(owns: (partition: Partition) => boolean): Promise<void>;
  /** In the order of offsets in each partition. */
  accept(events: readonly FoldedEvent[], advances: readonly PartitionAdvance[]): void;
  /** Passes on what it still has, within a bounded time. */
  end(): Promise<void>;
}

/** The entry as an accepted event; undefined: it changed no workflow. */
export function acceptedEvent(
  before: PartitionState,
  after: PartitionState,
  entry: LogEntry,
  verdict: Verdict,
): FoldedEvent | undefined {
  if (verdict.kind !== 'accepted' || entry.kind !== 'event' || entry.problem !== undefined) return undefined;
  const { envelope, payload } = entry;
  const stream = after.streams.get(envelope.workflow);
  if (stream === undefined) return undefined;
  const known = envelope.type === 'WorkflowOpened' ? undefined : before.streams.get(envelope.workflow);
  return { partition: before.partition, offset: before.next, envelope, payload, before: known, after: stream };
}
