/**
 * Owns how long events are gathered before a batch is taken, so that load makes few large batches instead of many small ones: a request or
 * a transaction costs the same for one event as for twenty. An event that arrives alone does not wait.
 */

import type { Clock } from '@tidemark/ports';

export interface GatheringLimits {
  /** The next batch begins this many milliseconds after the one before began, for each entry that one had. */
  readonly msPerEntry: number;
  /** The longest wait, in milliseconds. It is reached when more than `1,000 / msPerEntry` entries arrive a second. */
  readonly maxMs: number;
}

const NOTHING: GatheringLimits = { msPerEntry: 0, maxMs: 0 };

export class Gathering {
  readonly #clock: Clock;
  readonly #limits: GatheringLimits;
  #beganMs = 0;
  #waitMs = 0;

  /** Without limits it never waits. */
  constructor(clock: Clock, limits = NOTHING) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Resolves when the next batch may begin, or at once when the signal aborts. */
  async next(signal?: AbortSignal): Promise<void> {
    const leftMs = this.#beganMs + this.#waitMs - this.#clock.monotonicMs();
    if (leftMs > 0) await this.#clock.sleep(leftMs, signal);
    this.#beganMs = this.#clock.monotonicMs();
  }

  /** Reports how many entries the batch had. */
  took(count: number): void {
    const { msPerEntry, maxMs } = this.#limits;
    this.#waitMs = Math.min(count * msPerEntry, maxMs);
  }
}
