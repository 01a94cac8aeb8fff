/**
 * Owns the contract of an append client: it sends one request to one leader, and gives one answer for each batch. It neither retries nor
 * uses Kafka's idempotent producer: the appender above it keeps the order of appends, and sends again.
 */

import type { LogRecord } from '@tidemark/ports';
import type { AppendAnswer } from './answers.ts';
import type { BrokerNode } from './wire-partitions.ts';

/** Records of one partition that are sent together. They never change, so sending them again sends the same bytes. */
export interface PartitionBatch {
  readonly partition: number;
  readonly records: readonly LogRecord[];
  readonly timestampMs: number;
  /** The encoded records, and where they lie in the buffer; undefined until they are first sent. */
  encoded: { readonly bytes: Buffer; readonly start: number; readonly end: number } | undefined;
}

/** `resend` has a connection of its own, so that doubtful partitions do not delay the others of the same leader. */
export type LaneKind = 'append' | 'resend';

export interface AppendClient {
  /** `batches` has each partition at most once. Resolves with an answer for each, in their order; a broker's failure is an answer too. */
  append(leader: BrokerNode, lane: LaneKind, batches: readonly PartitionBatch[]): Promise<readonly AppendAnswer[]>;
  close(): Promise<void>;
}
