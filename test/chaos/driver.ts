/** Owns the load of a run: keeps a bounded number of workflows alive, through a client that goes round every proxy. */

import type { Host } from '@tidemark/host';
import type { Start } from './expected.ts';
import { randomStart } from './expected.ts';
import { STARTING_MAX } from './limits.ts';
import type { Random } from './random.ts';
import * as workload from './workload.ts';

const definitions = {
  'chaos-pace': workload.pace,
  'chaos-staged': workload.staged,
  'chaos-transfer': workload.transfer,
  'chaos-fan': workload.fan,
  'chaos-long': workload.long,
  'chaos-trip': workload.trip,
  'chaos-script': workload.script,
} as const;

export class Driver {
  /** Everything that was started, or may have been. */
  readonly starts = new Map<string, Start>();
  readonly #live = new Set<string>();
  readonly #host: Host;
  readonly #random: Random;
  readonly #liveMax: number;
  readonly #onSurprise: (what: string) => void;
  readonly #nextStart: (random: Random) => Start;
  readonly #starting = new Set<Promise<void>>();
  #isStopped = false;

  constructor(
    host: Host,
    random: Random,
    liveMax: number,
    onSurprise: (what: string) => void,
    nextStart = randomStart,
  ) {
    this.#nextStart = nextStart;
    this.#host = host;
    this.#random = random;
    this.#liveMax = liveMax;
    this.#onSurprise = onSurprise;
  }

  /** Started, and not known to have ended. */
  get live(): readonly string[] {
    return [...this.#live];
  }

  /** Starts what there is room for. Called now and then. */
  fill(): void {
    while (!this.#isStopped && this.#live.size < this.#liveMax && this.#starting.size < STARTING_MAX) {
      const start = this.#begin().finally(() => this.#starting.delete(start));
      this.#starting.add(start);
    }
  }

  ended(workflow: string): void {
    this.#live.delete(workflow);
  }

  /** Starts nothing more, and waits for what is being started. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#starting);
  }

  async #begin(): Promise<void> {
    const start = this.#nextStart(this.#random);
    const id = `${start.definition.slice('chaos-'.length)}-${this.starts.size}`;
    this.starts.set(id, start);
    this.#live.add(id);
    try {
      await this.#host.client.start<unknown, unknown>(definitions[start.definition], start.input, { id });
    } catch (error) {
      this.#onSurprise(`${id} could not be started: ${error}`);
    }
  }
}
