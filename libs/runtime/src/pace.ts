/** Owns how quickly a background task may move bytes, so that it stays out of the way of commits. Must not know what is moved. */

import type { Clock } from '@tidemark/ports';

/** After a pause it may catch up on so many milliseconds, and no more. */
const BURST_MS = 250;
/** Share of the limit that is allowed however little was expected. */
const LEAST_SHARE = 1 / 8;

export class Pace {
  readonly #clock: Clock;
  readonly #limit: number;
  /** Bytes a millisecond for what is expected, and until when. */
  #spread = { rate: Number.POSITIVE_INFINITY, untilMs: 0 };
  /** When what was spent so far is paid for, by the monotonic clock. */
  #paidMs = 0;
  #spentBytes = 0;
  readonly #ended = new AbortController();

  /** The limit; Infinity: as quickly as it goes. */
  constructor(clock: Clock, bytesPerSecond: number) {
    this.#clock = clock;
    this.#limit = bytesPerSecond / 1_000;
  }

  /** All that was moved so far. */
  get spentBytes(): number {
    return this.#spentBytes;
  }

  /** So many bytes are expected: they may take that time, rather than come at once. What is there beyond it goes at the limit. */
  spread(bytes: number, overMs: number): void {
    const rate = Math.min(Math.max(bytes / overMs, this.#limit * LEAST_SHARE), this.#limit);
    this.#spread = { rate, untilMs: this.#clock.monotonicMs() + overMs };
  }

  /** Resolves when more may be moved. */
  async spent(bytes: number): Promise<void> {
    this.#spentBytes += bytes;
    if (this.#limit === Number.POSITIVE_INFINITY || this.#ended.signal.aborted) return;
    const nowMs = this.#clock.monotonicMs();
    const { rate, untilMs } = this.#spread;
    this.#paidMs = Math.max(this.#paidMs, nowMs - BURST_MS) + bytes / (nowMs < untilMs ? rate : this.#limit);
    const aheadMs = this.#paidMs - nowMs;
    if (aheadMs > 0) await this.#clock.sleep(aheadMs, this.#ended.signal);
  }

  /** Whoever waits goes on, and nobody waits any more. */
  end(): void {
    this.#ended.abort();
  }
}
