/**
 * Owns the gate between the end of a run and the effects of its tasks. Code that is about to end the run waits for running effects, because
 * their outcomes would be unknown, and new effects wait until it has finished. The gate itself ends nothing.
 */

export class RunGate {
  readonly #underWay = new Set<Promise<unknown>>();
  /** Effects that wait while the gate is closed. */
  readonly #waiting: (() => void)[] = [];
  #closedCount = 0;
  /** Resolves when the latest work of `quiet` is done; the next such work waits for it. */
  #ending: Promise<unknown> = Promise.resolve();

  /** Whether code is about to end the run, so that no effect may begin. */
  get isClosed(): boolean {
    return this.#closedCount > 0;
  }

  /** Resolves when the gate opens; it may be closed again by then. Rejects with the signal's reason if the attempt ends first. */
  opening(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    return unlessAborted(promise, signal);
  }

  /** Must be called in the turn in which the gate was seen open, and the effect began. */
  async passing<T>(effect: Promise<T>): Promise<T> {
    this.#underWay.add(effect);
    try {
      return await effect;
    } finally {
      this.#underWay.delete(effect);
    }
  }

  /**
   * Does the work once no effect is running. Until it is done, no effect begins, and neither does other such work. Rejects with the
   * signal's reason if the run ends first.
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
      if (!this.isClosed) for (const resume of this.#waiting.splice(0)) resume();
    }
  }
}

/**
 * Stops waiting when the signal aborts: a step that ignores its signal must hold neither the lease nor the worker, and nothing that it does
 * later counts.
 */
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
