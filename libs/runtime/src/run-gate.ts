/**
 * Owns what stands between the end of a run and the calls of its tasks: whoever is about to end the run waits for those under
 * way, since their outcomes would be unknown, and what would begin meanwhile waits for that end. Must not end anything.
 */

import { unlessAborted } from './unless-aborted.ts';

export class RunGate {
  readonly #underWay = new Set<Promise<unknown>>();
  /** Effects that wait until the run ends, or goes on. */
  readonly #held: (() => void)[] = [];
  #closedCount = 0;

  /** Someone is about to end the run. */
  get isClosed(): boolean {
    return this.#closedCount > 0;
  }

  /** The effect, once nothing is about to end the run. Rejects with the signal's reason when the attempt is over before. */
  async pass<T>(signal: AbortSignal, effect: () => Promise<T>): Promise<T> {
    while (this.isClosed) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#held.push(resolve);
      await unlessAborted(promise, signal);
    }
    const using = effect();
    this.#underWay.add(using);
    try {
      return await using;
    } finally {
      this.#underWay.delete(using);
    }
  }

  /** Resolves when no effect is under way; none begins meanwhile. Rejects with the signal's reason when the run is over before. */
  async quiet(signal: AbortSignal): Promise<void> {
    this.#closedCount++;
    try {
      while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
      signal.throwIfAborted();
    } finally {
      this.#closedCount--;
      if (!this.isClosed) for (const goOn of this.#held.splice(0)) goOn();
    }
  }
}
