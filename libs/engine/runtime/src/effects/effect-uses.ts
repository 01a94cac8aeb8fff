/** Owns the order in which one attempt uses effects: the ordinals of their keys, uses of one key one after the other, and what is still under way. */

import type { EffectKey, Json } from '@tidemark/core';

export class EffectUses {
  readonly #counts = new Map<string, number>();
  /** The last use of each key: the same key twice at once would call twice. */
  readonly #last = new Map<EffectKey, Promise<unknown>>();
  /** Intentions whose call is not decided yet. */
  readonly #deciding = new Set<Promise<void>>();

  /** Counts the uses of an operation that have no name. */
  ordinal(operation: string): number {
    const ordinal = this.#counts.get(operation) ?? 0;
    this.#counts.set(operation, ordinal + 1);
    return ordinal;
  }

  /** A key that is used twice at once is one effect: the second use waits for the first, and finds what it recorded. */
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

  /** Returns what to call once the intention's call is decided. */
  intending(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#deciding.add(promise);
    return () => {
      this.#deciding.delete(promise);
      resolve();
    };
  }

  /** Resolves once no intention is undecided and no use under way. */
  async settled(): Promise<void> {
    await Promise.all(this.#deciding);
    await Promise.allSettled(this.#last.values());
  }
}
