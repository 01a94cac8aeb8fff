/**
 * Owns the contract of an append client: one request to one leader, one answer for each batch, no retries, no producer idempotence. The
 * appender above it makes appends right (lanes, order, sending again).
 */

import type { LogRecord } from '@tidemark/ports';
import type { AppendAnswer } from './answers.ts';
import type { BrokerNode } from './wire-partitions.ts';

/** Records of one partition that are sent together. They never change, so sending them again sends the same bytes. */
export interface PartitionBatch {
  readonly partition: number;
  readonly records: readonly LogRecord[];
  readonly timestampMs: number;
  /** Where the bytes lie, once they were sent. */
  encoded: { readonly bytes: Buffer; readonly start: number; readonly end: number } | undefined;
}

/** `resend` has a connection of its own, so that doubtful partitions do not delay the others of the same leader. */
export type LaneKind = 'append' | 'resend';

export interface AppendClient {
  /** Answers in the order of the batches, one partition at most once. Never throws for what a broker did or did not do. */
  append(leader: BrokerNode, lane: LaneKind, batches: readonly PartitionBatch[]): Promise<readonly AppendAnswer[]>;
  close(): Promise<void>;
}
