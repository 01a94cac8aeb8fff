/** Owns what a person reads of a simulated run, event by event, and its digest: the same seed gives the same transcript. */

import { hash32 } from './random.ts';
import type { Scheduler } from './scheduler.ts';

export class Transcript {
  readonly lines: string[] = [];
  readonly #scheduler: Scheduler;
  #low = 0;
  #high = 0;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  add(who: string, what: string): void {
    const line = `${this.#scheduler.nowMs.toFixed(1).padStart(9)}  ${who.padEnd(15)}  ${what}`;
    this.lines.push(line);
    this.#low = hash32(line, this.#low);
    this.#high = hash32(line, this.#high ^ 0x5bd1e995);
  }

  get digest(): string {
    return [this.#high, this.#low].map((word) => word.toString(16).padStart(8, '0')).join('');
  }
}
