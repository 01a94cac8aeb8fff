/**
 * Owns how long what comes is gathered before it is taken, so that under load few large batches are made instead of many small ones: a
 * request and a transaction cost the same for one event as for twenty. What comes alone waits for nothing.
 */

import type { Clock } from '@tidemark/ports';

export interface GatheringLimits {
  /** The next batch begins so long after the one before for each that that one held, in milliseconds. */
  readonly msPerEntry: number;
  /** At most so long, in milliseconds: where more than `1,000 / msPerEntry` come a second, it grows to this. */
  readonly maxMs: number;
}

const NOTHING: GatheringLimits = { msPerEntry: 0, maxMs: 0 };

export class Gathering {
  readonly #clock: Clock;
  readonly #limits: GatheringLimits;
  #beganMs = 0;
  #waitMs = 0;

  /** Without limits it waits for nothing. */
  constructor(clock: Clock, limits = NOTHING) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Resolves when the next batch may be taken, which begins then; or at once when the signal aborts. */
  async next(signal?: AbortSignal): Promise<void> {
    const leftMs = this.#beganMs + this.#waitMs - this.#clock.monotonicMs();
    if (leftMs > 0) await this.#clock.sleep(leftMs, signal);
    this.#beganMs = this.#clock.monotonicMs();
  }

  /** What the batch held. */
  took(count: number): void {
    const { msPerEntry, maxMs } = this.#limits;
    this.#waitMs = Math.min(count * msPerEntry, maxMs);
  }
}
