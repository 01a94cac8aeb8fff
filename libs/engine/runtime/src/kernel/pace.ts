/** Owns how fast a background task may move bytes, so that it does not slow commits down. It does not know what is moved. */

import type { Clock } from '@tidemark/ports';

/** The most, in milliseconds, that a task may catch up on after a pause. */
const BURST_MS = 250;

export class Pace {
  readonly #clock: Clock;
  readonly #bytesPerMs: number;
  /** When the bytes moved so far are paid for, on the monotonic clock. */
  #paidMs = 0;

  /** Infinity: no limit. */
  constructor(clock: Clock, bytesPerSecond: number) {
    this.#clock = clock;
    this.#bytesPerMs = bytesPerSecond / 1_000;
  }

  /** Reports moved bytes. Resolves when more may be moved. */
  async spent(bytes: number): Promise<void> {
    if (this.#bytesPerMs === Number.POSITIVE_INFINITY) return;
    const nowMs = this.#clock.monotonicMs();
    this.#paidMs = Math.max(this.#paidMs, nowMs - BURST_MS) + bytes / this.#bytesPerMs;
    const aheadMs = this.#paidMs - nowMs;
    if (aheadMs > 0) await this.#clock.sleep(aheadMs);
  }
}
