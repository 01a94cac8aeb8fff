/**
 * Owns the contract of hints: who appends to, or projects, a partition says so, so that nobody needs to poll thousands
 * of partitions. A hint may be lost, doubled or late; a slow sweep makes up for it. Hints are coalesced per turn of the
 * event loop.
 */

import type { Partition } from '@tidemark/core';

/** `appended`: records were added to the log; `applied`: rows were written up to some offset. */
export type HintTopic = 'appended' | 'applied';

export interface HintBus {
  /** Never throws, never waits; drops the hint when the server is away. */
  publish(topic: HintTopic, partition: Partition): void;
  /** Returns what ends the subscription. */
  subscribe(topic: HintTopic, listener: (partitions: readonly Partition[]) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}
