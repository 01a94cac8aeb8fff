/**
 * Owns what stands between the end of a run and the calls of its tasks: whoever is about to end the run waits for those under
 * way, since their outcomes would be unknown, and what would begin meanwhile waits for that end. Must not end anything.
 */

export class RunGate {
  readonly #underWay = new Set<Promise<unknown>>();
  /** Effects that wait until the run ends, or goes on. */
  readonly #held: (() => void)[] = [];
  #closedCount = 0;
  /** The end of whoever is ending the run before the next may. */
  #ending: Promise<unknown> = Promise.resolve();

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

  /**
   * Does the work once no effect is under way; none begins, and nobody else's such work, until it is done. Rejects with the signal's
   * reason when the run is over before.
   */
  async quiet<T>(signal: AbortSignal, work: () => T | Promise<T>): Promise<T> {
    this.#closedCount++;
    const before = this.#ending;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ending = promise;
    try {
      await before;
      while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
      signal.throwIfAborted();
      return await work();
    } finally {
      resolve();
      this.#closedCount--;
      if (!this.isClosed) for (const goOn of this.#held.splice(0)) goOn();
    }
  }
}

/** A step that doesn't heed its signal must hold neither the lease nor the worker: nothing that it does later counts. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const leave = (): void => reject(signal.reason);
  signal.addEventListener('abort', leave, { once: true });
  if (signal.aborted) leave();
  work.then(resolve, reject);
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
