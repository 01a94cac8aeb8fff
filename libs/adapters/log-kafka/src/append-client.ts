/**
 * Owns the contract of an append client: one request to one leader, one answer for each batch, no retries, no producer
 * idempotence. Everything that makes appends right (lanes, order, sending again) is the appender's, above this line.
 */

import type { LogRecord } from '@tidemark/ports';
import type { AppendAnswer } from './answers.ts';
import type { BrokerNode } from './wire-partitions.ts';

/** Records of one partition that go out together. Sent again, it is the same bytes: nothing in it changes. */
export interface PartitionBatch {
  readonly partition: number;
  readonly records: readonly LogRecord[];
  readonly timestampMs: number;
  /** Where the bytes lie, once they were sent. */
  encoded: { readonly bytes: Buffer; readonly start: number; readonly end: number } | undefined;
}

/** `resend` has a connection of its own, so that doubtful partitions do not hold up the others of the same leader. */
export type LaneKind = 'append' | 'resend';

export interface AppendClient {
  /** Answers in the order of the batches, one partition at most once. Never throws for what a broker did or did not do. */
  append(leader: BrokerNode, lane: LaneKind, batches: readonly PartitionBatch[]): Promise<readonly AppendAnswer[]>;
  close(): Promise<void>;
}
