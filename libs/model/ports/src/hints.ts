/** Owns the contracts of what may be lost: hints that something happened, and what those who watch a step are told. */

import type { Partition, WorkflowId } from '@tidemark/core';

/** `appended`: records were added to the log; `applied`: rows were written up to some offset. */
export type HintTopic = 'appended' | 'applied';

export interface HintBus {
  /** Never throws, never waits; drops the hint when the server is away. */
  publish(topic: HintTopic, partition: Partition): void;
  /** Returns what ends the subscription. */
  subscribe(topic: HintTopic, listener: (partitions: readonly Partition[]) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export interface WatchBus {
  /** Never throws, never waits; drops the message when nobody watches, or the server is away. At most 64 KB of text. */
  publish(workflow: WorkflowId, message: string): void;
  /** Messages of one publisher come in order. Returns what ends the subscription. */
  subscribe(workflow: WorkflowId, listener: (message: string) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}
