/**
 * Owns waiting for rows: a wait resolves once a partition's rows have reached an offset. Hints wake it, and polls find what lost hints
 * missed.
 */

import { type Offset, type Partition, UnavailableError } from '@tidemark/core';
import type { Ports } from '../kernel/index.ts';
import { RowChanges } from './row-changes.ts';

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
  readonly #changes: RowChanges;
  #polling: Promise<void> | undefined;

  constructor(ports: Pick<Ports, 'store' | 'hints' | 'clock'>) {
    this.#ports = ports;
    this.#changes = new RowChanges(ports.hints);
  }

  /** Resolves when every event before `offset` is in the rows. Rejects with the signal's reason. */
  async wait(partition: Partition, offset: Offset, signal?: AbortSignal): Promise<void> {
    // Not awaited, and a failure of the poll shows at the waiter's own next one.
    const watching = this.#changes.watch(partition, () => void this.#poll().catch(() => {}));
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
      void watching.then((end) => end());
    }
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

  close(): Promise<void> {
    return this.#changes.close();
  }
}
