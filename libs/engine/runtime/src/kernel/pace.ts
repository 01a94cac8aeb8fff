/** Owns how quickly a background task may move bytes, so that it stays out of the way of commits. Must not know what is moved. */

import type { Clock } from '@tidemark/ports';

/** After a pause it may catch up on so many milliseconds, and no more. */
const BURST_MS = 250;

export class Pace {
  readonly #clock: Clock;
  readonly #bytesPerMs: number;
  /** When what was spent so far is paid for, by the monotonic clock. */
  #paidMs = 0;

  /** Infinity: as quickly as it goes. */
  constructor(clock: Clock, bytesPerSecond: number) {
    this.#clock = clock;
    this.#bytesPerMs = bytesPerSecond / 1_000;
  }

  /** Resolves when more may be moved. */
  async spent(bytes: number): Promise<void> {
    if (this.#bytesPerMs === Number.POSITIVE_INFINITY) return;
    const nowMs = this.#clock.monotonicMs();
    this.#paidMs = Math.max(this.#paidMs, nowMs - BURST_MS) + bytes / this.#bytesPerMs;
    const aheadMs = this.#paidMs - nowMs;
    if (aheadMs > 0) await this.#clock.sleep(aheadMs);
  }
}
