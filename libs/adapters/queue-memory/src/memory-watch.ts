/** Owns the WatchBus in process memory: listeners receive each message in a later turn of the event loop, in order. */

import type { WorkflowId } from '@tidemark/core';
import {
  isAfter,
  type Kept,
  WATCH_KEPT_IN_MEMORY_MAX_BYTES,
  WATCH_KEPT_MAX_BYTES,
  WATCH_KEPT_MS,
  type WatchBus,
} from '@tidemark/ports';

type Listener = (message: string) => void;

interface KeptOfWorkflow {
  readonly messages: string[];
  bytes: number;
  newest: Kept;
  /** Of the newest message. */
  atMs: number;
}

export function createMemoryWatch(nowMs: () => number = () => performance.now()): WatchBus {
  const watched = new Map<WorkflowId, Set<Listener>>();
  const kept = new KeptMessages(nowMs);
  // A listener that throws disturbs neither the step nor another listener.
  const deliver = (workflow: WorkflowId, listener: Listener, message: string): void => {
    setImmediate(() => {
      if (watched.get(workflow)?.has(listener)) listener(message);
    });
  };
  return {
    publish(workflow, message, keeping) {
      if (keeping !== 'none' && !kept.add(workflow, message, keeping)) return;
      for (const listener of watched.get(workflow) ?? []) deliver(workflow, listener, message);
    },
    release: (workflow, epoch) => kept.release(workflow, epoch),
    async subscribe(workflow, listener) {
      const own: Listener = (message) => listener(message);
      const listeners = watched.get(workflow) ?? new Set<Listener>();
      watched.set(workflow, listeners.add(own));
      for (const message of kept.of(workflow)) deliver(workflow, own, message);
      return async () => {
        listeners.delete(own);
        if (listeners.size === 0) watched.delete(workflow);
      };
    },
    async close() {
      watched.clear();
    },
  };
}

/** What is kept of each workflow; the one whose newest message is the oldest comes first. */
class KeptMessages {
  readonly #nowMs: () => number;
  readonly #kept = new Map<WorkflowId, KeptOfWorkflow>();
  #bytes = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  of(workflow: WorkflowId): readonly string[] {
    this.#expire();
    return this.#kept.get(workflow)?.messages ?? [];
  }

  /** False: it comes behind the newest. */
  add(workflow: WorkflowId, message: string, place: Kept): boolean {
    const before = this.#kept.get(workflow);
    if (before !== undefined && !isAfter(place, before.newest)) return false;
    if (place.replaces) this.drop(workflow);
    const kept = this.#kept.get(workflow) ?? { messages: [], bytes: 0, newest: place, atMs: 0 };
    this.#kept.delete(workflow);
    this.#kept.set(workflow, kept);
    kept.newest = place;
    kept.atMs = this.#nowMs();
    kept.messages.push(message);
    this.#count(kept, sizeOf(message));
    while (kept.bytes > WATCH_KEPT_MAX_BYTES) this.#count(kept, -sizeOf(kept.messages.shift()!));
    this.#expire();
    return true;
  }

  release(workflow: WorkflowId, epoch: number): void {
    if ((this.#kept.get(workflow)?.newest.epoch ?? 0) <= epoch) this.drop(workflow);
  }

  drop(workflow: WorkflowId): void {
    this.#bytes -= this.#kept.get(workflow)?.bytes ?? 0;
    this.#kept.delete(workflow);
  }

  #count(kept: KeptOfWorkflow, bytes: number): void {
    kept.bytes += bytes;
    this.#bytes += bytes;
  }

  #expire(): void {
    for (const [workflow, { atMs }] of this.#kept) {
      const isOld = this.#nowMs() - atMs > WATCH_KEPT_MS;
      if (!isOld && this.#bytes <= WATCH_KEPT_IN_MEMORY_MAX_BYTES) return;
      this.drop(workflow);
    }
  }
}

/** Of a string in memory, at most. */
const sizeOf = (message: string): number => 2 * message.length;
