/**
 * Owns one simulated process, an incarnation that is never reused: its clock and its life. A paused one receives nothing until it resumes;
 * a dead one never receives anything, and nothing that it still computes leaves it. Must not know what it runs.
 */

import { SimulatedClock } from '../engine/simulated-ports.ts';
import type { SeededRandom } from './random.ts';
import type { Scheduler } from './scheduler.ts';

/** Time of the wall clocks at the beginning, in milliseconds since the Unix epoch. */
export const BEGAN_AT_MS = 1_700_000_000_000;

export type Role = 'coordinator' | 'worker' | 'compactor' | 'client' | 'person' | 'sender';

export class SimulatedProcess extends SimulatedClock {
  readonly name: string;
  readonly role: Role;
  readonly random: SeededRandom;
  readonly #scheduler: Scheduler;
  #state: 'running' | 'paused' | 'dead' = 'running';
  #queued: (() => void)[] = [];
  /** When it last paused, or began to resume; for the judge. */
  disturbedMs: number;

  constructor(name: string, role: Role, scheduler: Scheduler, random: SeededRandom) {
    super({ time: scheduler, beganAtMs: BEGAN_AT_MS, bornMs: scheduler.nowMs - random.between(0, 1_000_000) });
    this.name = name;
    this.role = role;
    this.random = random;
    this.#scheduler = scheduler;
    this.disturbedMs = scheduler.nowMs;
  }

  get isDead(): boolean {
    return this.#state === 'dead';
  }

  get isPaused(): boolean {
    return this.#state === 'paused';
  }

  /** Held back while it is paused, dropped once it is dead. */
  override deliver(run: () => void): 'quiet' | undefined {
    if (this.#state === 'dead') return 'quiet';
    if (this.#state === 'paused') {
      this.#queued.push(run);
      return 'quiet';
    }
    return super.deliver(run);
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
