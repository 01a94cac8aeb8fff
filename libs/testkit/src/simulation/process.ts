/**
 * Owns one simulated process, an incarnation that is never reused: its clock and its life. A paused one receives nothing until it resumes;
 * a dead one never receives anything, and nothing that it still computes leaves it. Must not know what it runs.
 */

import type { Clock } from '@tidemark/ports';
import type { SeededRandom } from './random.ts';
import type { Scheduler } from './scheduler.ts';

/** Time of the wall clocks at the beginning, in milliseconds since the Unix epoch. */
export const BEGAN_AT_MS = 1_700_000_000_000;

export type Role = 'coordinator' | 'worker' | 'compactor' | 'client' | 'person' | 'sender';

export class SimulatedProcess implements Clock {
  readonly name: string;
  readonly role: Role;
  readonly random: SeededRandom;
  readonly #scheduler: Scheduler;
  readonly #bornMs: number;
  #state: 'running' | 'paused' | 'dead' = 'running';
  #queued: (() => void)[] = [];
  /** Error of the wall clock, in milliseconds. */
  skewMs = 0;
  /** When it last paused, or began to resume; for the judge. */
  disturbedMs: number;

  constructor(name: string, role: Role, scheduler: Scheduler, random: SeededRandom) {
    this.name = name;
    this.role = role;
    this.random = random;
    this.#scheduler = scheduler;
    this.#bornMs = scheduler.nowMs - random.between(0, 1_000_000);
    this.disturbedMs = scheduler.nowMs;
  }

  get isDead(): boolean {
    return this.#state === 'dead';
  }

  get isPaused(): boolean {
    return this.#state === 'paused';
  }

  nowMs(): number {
    return Math.floor(BEGAN_AT_MS + this.#scheduler.nowMs + this.skewMs);
  }

  monotonicMs(): number {
    return this.#scheduler.nowMs - this.#bornMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true || ms <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const event = this.#scheduler.after(ms, () => this.deliver(wake));
      const wake = (): void => {
        signal?.removeEventListener('abort', abort);
        resolve();
      };
      const abort = (): void => {
        this.#scheduler.cancel(event);
        resolve();
      };
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  /** Everything from outside the process enters here. */
  deliver(run: () => void): 'quiet' | undefined {
    if (this.#state === 'dead') return 'quiet';
    if (this.#state === 'paused') {
      this.#queued.push(run);
      return 'quiet';
    }
    run();
    return undefined;
  }

  pause(): void {
    if (this.#state !== 'running') return;
    this.#state = 'paused';
    this.disturbedMs = Number.POSITIVE_INFINITY;
  }

  /** Delivers at once what arrived meanwhile, in any order. */
  resume(): void {
    if (this.#state !== 'paused') return;
    this.#state = 'running';
    this.disturbedMs = this.#scheduler.nowMs;
    const held = this.#queued;
    this.#queued = [];
    for (const run of held) this.#scheduler.after(0, () => this.deliver(run));
  }

  kill(): void {
    this.#state = 'dead';
    this.#queued = [];
    this.disturbedMs = Number.POSITIVE_INFINITY;
  }
}
