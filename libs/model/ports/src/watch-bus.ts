/**
 * Owns the contract of watching: what a step under way tells whoever looks on, such as a model's answer as it comes. Nothing of it
 * is stored and nothing depends on it: a message may be lost, and one who comes late has missed what was told before.
 */

import type { WorkflowId } from '@tidemark/core';

export interface WatchBus {
  /** Never throws, never waits; drops the message when nobody watches, or the server is away. At most 64 KB of text. */
  publish(workflow: WorkflowId, message: string): void;
  /** Messages of one publisher come in order. Returns what ends the subscription. */
  subscribe(workflow: WorkflowId, listener: (message: string) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}
