/**
 * Owns what the projector hands to whoever draws traces: accepted events with the workflow before and after each, once their rows were
 * written. A sink must never make the projector wait, nor throw.
 */

import type { Envelope, LogEntry, Offset, Partition, PartitionState, StreamState, Verdict } from '@tidemark/core';
import type { PartitionAdvance } from '@tidemark/ports';

export interface FoldedEvent {
  readonly partition: Partition;
  readonly offset: Offset;
  readonly envelope: Envelope;
  readonly payload: Uint8Array;
  /** Undefined: the workflow begins with it. */
  readonly before: StreamState | undefined;
  readonly after: StreamState;
}

export interface TraceSink {
  /** Before anything is folded; `owns`: whether a partition is projected here now. Throws `UnavailableError`. */
  begin(owns: (partition: Partition) => boolean): Promise<void>;
  /** In the order of each partition's offsets. */
  accept(events: readonly FoldedEvent[], advances: readonly PartitionAdvance[]): void;
  /** Hands on what it has, within a bounded time. */
  end(): Promise<void>;
}

/** The entry as an event that was accepted; undefined: it changed no workflow. */
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
