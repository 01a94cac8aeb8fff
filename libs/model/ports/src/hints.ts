/** Owns the contracts of messages that may be lost: hints that something happened, and live messages to the watchers of a step. */

import type { Partition, WorkflowId } from '@tidemark/core';

/** `appended`: records were added to the log; `applied`: rows were written up to some offset. */
export type HintTopic = 'appended' | 'applied';

export interface HintBus {
  /** Never throws, never waits; drops the hint when the server is unreachable. */
  publish(topic: HintTopic, partition: Partition): void;
  /** Returns a function that ends the subscription. */
  subscribe(topic: HintTopic, listener: (partitions: readonly Partition[]) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export interface WatchBus {
  /** Never throws, never waits; drops the message when nobody watches, or the server is unreachable. At most 64 KB of text. */
  publish(workflow: WorkflowId, message: string): void;
  /** Messages of one publisher arrive in order. Returns a function that ends the subscription. */
  subscribe(workflow: WorkflowId, listener: (message: string) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}
