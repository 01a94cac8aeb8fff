/**
 * Owns when a holder's staged events are flushed, and who waits for their acceptance. Durable writes are flushed at once and wait until
 * they are accepted; staged ones are flushed within the limits of requirement C4. It does not know what the events mean.
 */

import type { Definition } from '../definition/index.ts';
import { STAGED_DELAY_DEFAULT_MS, STAGED_STEPS_DEFAULT_COUNT } from '../definition/index.ts';
import type { Ports } from '../kernel/index.ts';
import type { Draft } from './draft.ts';
import type { LeasedStream } from './leased-stream.ts';

/** A constant reason, because an abort without one creates an error with a stack. */
const FLUSHED = 'flushed';

export class Flushing {
  readonly #stream: LeasedStream;
  readonly #ports: Pick<Ports, 'clock' | 'telemetry'>;
  /** Receives the error of a staged checkpoint that was not accepted. */
  readonly #onLost: (error: unknown) => void;
  readonly #maxCount: number;
  readonly #delayMs: number;
  #unflushedCount = 0;
  /** Acceptance of the newest staged checkpoint since the last flush. */
  #lastStaged: Promise<void> | undefined;
  /** Set while a delayed flush is scheduled, and aborted when another flush comes first. */
  #due: AbortController | undefined;
  /** Number of durable writes that wait for their acceptance. */
  durableInFlightCount = 0;

  constructor(
    stream: LeasedStream,
    ports: Pick<Ports, 'clock' | 'telemetry'>,
    { steps = STAGED_STEPS_DEFAULT_COUNT, delayMs = STAGED_DELAY_DEFAULT_MS }: NonNullable<Definition['staging']>,
    onLost: (error: unknown) => void,
  ) {
    this.#stream = stream;
    this.#maxCount = steps;
    this.#delayMs = delayMs;
    this.#ports = ports;
    this.#onLost = onLost;
  }

  async write(drafts: readonly Draft[]): Promise<void> {
    await this.durable(this.#stream.stage(drafts));
  }

  /**
   * Stages events that the next flush sends, at the latest after the staging delay, and does not wait for their acceptance. Rejects when
   * nothing was staged, because an event is too large or the lease is lost.
   */
  async writeStaged(drafts: readonly Draft[]): Promise<void> {
    const before = this.#stream.speculative;
    const accepted = this.#stream.stage(drafts);
    if (this.#stream.speculative === before) await accepted;
    // A rejection surfaces with the next write, or at the end of the run.
    accepted.catch(() => {});
    this.soon();
  }

  /** Flushes at once, and waits for the acceptance of a durable write. */
  async durable(accepted: Promise<void>): Promise<void> {
    this.durableInFlightCount++;
    try {
      this.now();
      await accepted;
    } finally {
      this.durableInFlightCount--;
    }
  }

  /**
   * Lets a staged checkpoint wait for a later flush. Once as many as the definition's staging allows are not accepted yet, it flushes and
   * waits.
   */
  async staged(accepted: Promise<void>): Promise<void> {
    this.#unflushedCount++;
    this.#lastStaged = accepted;
    const settled = accepted.then(() => {
      this.#unflushedCount--;
    }, this.#onLost);
    if (this.#unflushedCount < this.#maxCount) {
      this.soon();
      return;
    }
    this.now();
    await settled;
  }

  now(): void {
    this.stop();
    this.#stream.flush();
    if (this.#lastStaged !== undefined) this.#timed(this.#lastStaged);
    this.#lastStaged = undefined;
  }

  /** Measures the time from the flush until the newest staged checkpoint is accepted. */
  #timed(accepted: Promise<void>): void {
    const { clock, telemetry } = this.#ports;
    const startedMs = clock.monotonicMs();
    const drained = (): void => {
      const seconds = (clock.monotonicMs() - startedMs) / 1_000;
      telemetry.observe('checkpoint_buffer_drain_latency_seconds', seconds, undefined, this.#stream.trace);
    };
    accepted.then(drained, () => {});
  }

  soon(): void {
    if (this.#due !== undefined) return;
    const due = new AbortController();
    this.#due = due;
    void this.#ports.clock.sleep(this.#delayMs, due.signal).then(() => {
      if (!due.signal.aborted) this.now();
    });
  }

  /** Cancels the scheduled flush. */
  stop(): void {
    this.#due?.abort(FLUSHED);
    this.#due = undefined;
  }
}
