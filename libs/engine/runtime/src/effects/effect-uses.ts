/**
 * Owns the order in which one attempt uses effects: the ordinals of their keys, the turns of uses of the same key, and which uses are still
 * running.
 */

import type { EffectKey, Json } from '@tidemark/core';

export class EffectUses {
  readonly #counts = new Map<string, number>();
  /** The latest use of each key, for which the next one waits: two uses at once would call twice. */
  readonly #last = new Map<EffectKey, Promise<unknown>>();
  /** Intentions for which it is not decided yet whether the call is made. */
  readonly #deciding = new Set<Promise<void>>();

  /** The ordinal of the operation's next use that has no name, from 0. */
  ordinal(operation: string): number {
    const ordinal = this.#counts.get(operation) ?? 0;
    this.#counts.set(operation, ordinal + 1);
    return ordinal;
  }

  /** Runs one use of the key after the other. Two uses of a key are one effect: the second finds what the first recorded. */
  async inTurn(key: EffectKey, use: () => Promise<Json>): Promise<Json> {
    const before = this.#last.get(key);
    const using = before === undefined ? use() : before.then(use, use);
    this.#last.set(key, using);
    try {
      return await using;
    } finally {
      if (this.#last.get(key) === using) this.#last.delete(key);
    }
  }

  /** Registers an intention; the returned function must be called once it is decided whether the call is made. */
  intending(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#deciding.add(promise);
    return () => {
      this.#deciding.delete(promise);
      resolve();
    };
  }

  /** Resolves once every intention is decided and no use is running. */
  async settled(): Promise<void> {
    await Promise.all(this.#deciding);
    await Promise.allSettled(this.#last.values());
  }
}
