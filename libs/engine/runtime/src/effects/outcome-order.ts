/**
 * Owns the order in which a step learns how its calls ended: as the outcomes stand in the log, one after the other. What a step does next
 * may depend on which call ended first, so a later attempt has to learn them in the same order. It does not know what an outcome is.
 *
 * O1 No outcome is handed over before one that was recorded earlier, in whichever attempt.
 * O2 What the step does with one outcome, without waiting for anything, is done before it learns the next.
 * O3 A step that does not repeat the call whose outcome is due first has taken another path: the recorded order no longer applies (`isLost`).
 */

import type { EffectKey } from '@tidemark/core';
import type { Clock } from '@tidemark/ports';
import { RECORD_CLAIM_PERIOD_MS } from './limits.ts';

/** Periods of `RECORD_CLAIM_PERIOD_MS` without a call, after which a step that has not repeated the first due call has taken another path. */
const ORDER_LOST_PERIODS = 2;

export class OutcomeOrder {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  /** Whether a call of this attempt has the key. */
  readonly #isClaimed: (key: EffectKey) => boolean;
  /** Outcomes that are in the log, or on their way, and that the step has not learned yet, the earliest first. */
  readonly #due: Set<EffectKey>;
  readonly #waiting = new Map<EffectKey, (() => void)[]>();
  /** The record of another run that answers a call, by the call's key; and those records. */
  readonly #answers = new Map<EffectKey, EffectKey>();
  readonly #answering = new Set<EffectKey>();
  readonly #foreign = new Set<EffectKey>();
  #underWayCount = 0;
  #isHanding = false;
  #hasMoved = false;
  #isWatching = false;
  #isOver = false;
  isLost = false;

  /** `recorded`: the outcomes of earlier attempts, as they stand in the log. */
  constructor(
    clock: Clock,
    signal: AbortSignal,
    recorded: Iterable<EffectKey>,
    isClaimed: (key: EffectKey) => boolean,
  ) {
    this.#clock = clock;
    this.#signal = signal;
    this.#due = new Set(recorded);
    this.#isClaimed = (key) => isClaimed(key) && (!this.#foreign.has(key) || this.#answering.has(key));
    signal.addEventListener('abort', () => this.end(), { once: true });
  }

  /** Outcomes that another run recorded, and that come next, in their order. Must be called before a call is answered by one of them. */
  expect(recorded: Iterable<EffectKey>): void {
    for (const key of recorded) {
      this.#foreign.add(key);
      this.#due.add(key);
    }
  }

  answeredBy(key: EffectKey, record: EffectKey): void {
    this.#answers.set(key, record);
    this.#answering.add(record);
  }

  /** Must be called in the turn in which the outcome goes to the log. */
  recording(key: EffectKey): void {
    this.#due.add(this.#answers.get(key) ?? key);
  }

  /** Settles as the work does, once it is the outcome's turn. */
  async inOrder<T>(key: EffectKey, work: Promise<T>): Promise<T> {
    this.#underWayCount++;
    this.#hasMoved = true;
    try {
      await work.then(
        () => this.#turn(key),
        () => this.#turn(key),
      );
    } finally {
      this.#underWayCount--;
    }
    return work;
  }

  #turn(of: EffectKey): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    const key = this.#answers.get(of) ?? of;
    this.#due.add(key);
    if (!this.#isHanding && this.#first === key) {
      this.#hand(key);
      return undefined;
    }
    return new Promise((resolve) => {
      this.#waiting.set(key, [...(this.#waiting.get(key) ?? []), resolve]);
      this.#watch();
    });
  }

  get #first(): EffectKey | undefined {
    return this.#due.values().next().value;
  }

  /** A turn of the event loop for each, so that all that follows from it is done (O2); a call alone needs none. */
  #hand(key: EffectKey): void {
    this.#due.delete(key);
    this.#hasMoved = true;
    if (this.#underWayCount < 2) return;
    this.#isHanding = true;
    setImmediate(() => {
      this.#isHanding = false;
      this.#next();
    });
  }

  #next(): void {
    const key = this.#first;
    const [resolve, ...others] = (key !== undefined && this.#waiting.get(key)) || [];
    if (key === undefined || resolve === undefined) {
      this.#watch();
      return;
    }
    if (others.length === 0) this.#waiting.delete(key);
    else this.#waiting.set(key, others);
    this.#hand(key);
    // It was taken out with the first of several uses of one key.
    if (others.length > 0) this.#due.add(key);
    resolve();
  }

  /** Begins to watch if outcomes wait for one whose call this attempt has not repeated (O3). */
  #watch(): void {
    const key = this.#first;
    if (this.#isWatching || this.#waiting.size === 0 || key === undefined || this.#isClaimed(key)) return;
    this.#isWatching = true;
    void this.#watchQuiet().finally(() => {
      this.#isWatching = false;
      if (!this.#isHanding) this.#next();
    });
  }

  async #watchQuiet(): Promise<void> {
    for (let quiet = 0; quiet < ORDER_LOST_PERIODS; ) {
      this.#hasMoved = false;
      await this.#clock.sleep(RECORD_CLAIM_PERIOD_MS, this.#signal);
      const key = this.#first;
      if (this.#isOver || key === undefined || this.#isClaimed(key)) return;
      quiet = this.#hasMoved ? 0 : quiet + 1;
    }
    this.isLost = true;
    for (const key of this.#due) if (!this.#isClaimed(key)) this.#due.delete(key);
  }

  /** Call when the step has ended or was discarded. Releases everyone who waits. */
  end(): void {
    this.#isOver = true;
    for (const resolves of this.#waiting.values()) for (const resolve of resolves) resolve();
    this.#waiting.clear();
  }
}
