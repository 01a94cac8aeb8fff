/**
 * Owns when a holder's staged events are flushed and who waits for it: durable writes at once and until they are known to be
 * accepted, staged ones within the limits of requirement C4. Must not know what the events mean.
 */

import type { Definition } from '../definition/index.ts';
import { STAGED_DELAY_DEFAULT_MS, STAGED_STEPS_DEFAULT_COUNT } from '../definition/index.ts';
import type { Ports } from '../kernel/index.ts';
import type { Draft, LeasedStream } from './leased-stream.ts';

/** A reason that is at hand: by default each abort would make an error with a stack. */
const FLUSHED = 'flushed';

export class Flushing {
  readonly #stream: LeasedStream;
  readonly #ports: Pick<Ports, 'clock' | 'telemetry'>;
  /** Receives the error of a staged checkpoint that was not accepted. */
  readonly #onLost: (error: unknown) => void;
  readonly #maxCount: number;
  readonly #delayMs: number;
  #unflushedCount = 0;
  /** Acceptance of the last staged checkpoint that was not flushed yet. */
  #lastStaged: Promise<void> | undefined;
  /** Set while a flush is due; aborted when another came first. */
  #due: AbortController | undefined;
  /** Durable writes that wait for their acceptance. */
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

  /** Goes out with the next flush, or within the staging delay. Rejects when nothing was added: an event is too large, or the lease is lost. */
  async writeStaged(drafts: readonly Draft[]): Promise<void> {
    const before = this.#stream.speculative;
    const accepted = this.#stream.stage(drafts);
    if (this.#stream.speculative === before) await accepted;
    // A rejection surfaces with the next write, or at the end of the run.
    accepted.catch(() => {});
    this.soon();
  }

  /** Durable: waits for acceptance. */
  async durable(accepted: Promise<void>): Promise<void> {
    this.durableInFlightCount++;
    try {
      this.now();
      await accepted;
    } finally {
      this.durableInFlightCount--;
    }
  }

  /** Staged: waits only when too much is unflushed. */
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

  /** How long it takes until all that was staged is known to be in the log. */
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

  /** Flushes nothing more by itself. */
  stop(): void {
    this.#due?.abort(FLUSHED);
    this.#due = undefined;
  }
}
