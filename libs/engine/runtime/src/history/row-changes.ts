/**
 * Owns waking those who wait for rows of some partition to change: one subscription for all of them. Hints may be lost, so whoever waits polls
 * as well.
 */

import type { Partition } from '@tidemark/core';
import type { HintBus } from '@tidemark/ports';

type Wake = () => void;

export class RowChanges {
  readonly #hints: HintBus;
  readonly #wakes = new Map<Partition | undefined, Set<Wake>>();
  #subscription: Promise<() => Promise<void>> | undefined;

  constructor(hints: HintBus) {
    this.#hints = hints;
  }

  /** Resolves once changes are heard. `wake` is called at each change of the partition; undefined: of any. Returns what ends that. */
  async watch(partition: Partition | undefined, wake: Wake): Promise<() => void> {
    const wakes = this.#wakes.get(partition) ?? new Set();
    this.#wakes.set(partition, wakes.add(wake));
    this.#subscription ??= this.#hints.subscribe('applied', (partitions) => {
      for (const changed of [undefined, ...partitions]) for (const each of this.#wakes.get(changed) ?? []) each();
    });
    await this.#subscription;
    return () => {
      wakes.delete(wake);
      if (wakes.size === 0 && this.#wakes.get(partition) === wakes) this.#wakes.delete(partition);
    };
  }

  async close(): Promise<void> {
    await (await this.#subscription)?.();
  }
}
