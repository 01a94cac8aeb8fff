/**
 * Owns waiting for rows: a wait resolves once a partition's rows have reached an offset. Hints wake it, and polls find what lost hints
 * missed.
 */

import { type Offset, type Partition, UnavailableError } from '@tidemark/core';
import type { Ports } from '../kernel/index.ts';

/** How long a lost hint can delay a waiter, in milliseconds. */
const POLL_PERIOD_MS = 50;

interface Waiter {
  readonly partition: Partition;
  readonly offset: Offset;
  readonly resolve: () => void;
}

export class Applied {
  readonly #ports: Pick<Ports, 'store' | 'hints' | 'clock'>;
  readonly #waiters = new Set<Waiter>();
  #unsubscribe: Promise<() => Promise<void>> | undefined;
  #polling: Promise<void> | undefined;

  constructor(ports: Pick<Ports, 'store' | 'hints' | 'clock'>) {
    this.#ports = ports;
  }

  /** Resolves when every event before `offset` is in the rows. Rejects with the signal's reason. */
  async wait(partition: Partition, offset: Offset, signal?: AbortSignal): Promise<void> {
    this.#unsubscribe ??= this.#ports.hints.subscribe('applied', (partitions) => {
      // A failure shows at the waiter's own next poll.
      if (partitions.some((hinted) => this.#waitsFor(hinted))) this.#poll().catch(() => {});
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter: Waiter = { partition, offset, resolve };
    this.#waiters.add(waiter);
    try {
      await this.#poll();
      while (this.#waiters.has(waiter)) {
        signal?.throwIfAborted();
        await Promise.race([promise, this.#ports.clock.sleep(POLL_PERIOD_MS, signal)]);
        if (this.#waiters.has(waiter)) await this.#poll();
      }
    } finally {
      this.#waiters.delete(waiter);
    }
  }

  #waitsFor(partition: Partition): boolean {
    for (const waiter of this.#waiters) if (waiter.partition === partition) return true;
    return false;
  }

  /** All waiters share one poll at a time. */
  #poll(): Promise<void> {
    this.#polling ??= this.#readPositions().finally(() => {
      this.#polling = undefined;
    });
    return this.#polling;
  }

  async #readPositions(): Promise<void> {
    const partitions = [...new Set([...this.#waiters].map((waiter) => waiter.partition))];
    try {
      const next = await this.#ports.store.positions(partitions);
      for (const waiter of this.#waiters) {
        if ((next.get(waiter.partition) ?? -1) < waiter.offset) continue;
        this.#waiters.delete(waiter);
        waiter.resolve();
      }
    } catch (error) {
      // While the store is unavailable, the waiters wait.
      if (!(error instanceof UnavailableError)) throw error;
    }
  }

  async close(): Promise<void> {
    await (await this.#unsubscribe)?.();
  }
}
