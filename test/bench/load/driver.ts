/**
 * Owns the load itself: keeps so many workflows live, at such a period that their checkpoints come to the rate. One that has ended is
 * replaced at once: workers hint at ends, and rows tell of those whose hint was lost.
 */

import type { Host } from '@tidemark/host';
import pg from 'pg';
import { Random } from '../../chaos/random.ts';
import {
  FILL_PERIOD_MS,
  RAMP_STARTS_PER_S,
  ROWS_PERIOD_MS,
  START_RETRY_MS,
  START_TRIES_MAX,
  STARTING_MAX,
  STEPS_EACH,
} from './limits.ts';
import { loadSteps } from './workload.ts';

export interface DriverOptions {
  readonly host: Host;
  readonly postgresUrl: string;
  readonly seed: number;
  readonly liveCount: number;
  /** Checkpoints a second of all together. */
  readonly ratePerS: number;
  readonly onSurprise: (what: string) => void;
}

const STARTS_EACH_LOOK = (RAMP_STARTS_PER_S * FILL_PERIOD_MS) / 1_000;

export class LoadDriver {
  /** Everything that was started, or may have been, with its number of steps. */
  readonly starts = new Map<string, number>();
  readonly #options: DriverOptions;
  readonly #random: Random;
  readonly #live = new Set<string>();
  /** Hinted as ended; rows haven't said so yet. */
  readonly #ending = new Set<string>();
  readonly #starting = new Set<Promise<void>>();
  readonly #timers: NodeJS.Timeout[] = [];
  #client: pg.Client | undefined;
  #polling: Promise<void> = Promise.resolve();
  #isRamped = false;
  #isStopped = false;

  constructor(options: DriverOptions) {
    this.#options = options;
    this.#random = new Random(options.seed);
  }

  get liveCount(): number {
    return this.#live.size;
  }

  /** True once all were live at a time. */
  get isRamped(): boolean {
    return this.#isRamped;
  }

  begin(): void {
    this.#timers.push(setInterval(() => this.#fill(), FILL_PERIOD_MS));
    this.#timers.push(
      setInterval(() => {
        this.#polling = this.#polling
          .then(() => this.#readRows())
          .catch((error) => this.#options.onSurprise(`rows: ${error}`));
      }, ROWS_PERIOD_MS),
    );
  }

  /** A hint that its last step has run. */
  ended(workflow: string): void {
    if (this.#live.delete(workflow)) this.#ending.add(workflow);
  }

  /** Starts nothing more. */
  async stopStarting(): Promise<void> {
    clearInterval(this.#timers[0]);
    await Promise.all(this.#starting);
  }

  /** Whether rows say of everything that it has ended. */
  get isFinished(): boolean {
    return this.#live.size + this.#ending.size + this.#starting.size === 0;
  }

  get unfinished(): readonly string[] {
    return [...this.#live, ...this.#ending];
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all([this.#polling, ...this.#starting]);
    await this.#client?.end().catch(() => {});
  }

  #fill(): void {
    const { liveCount } = this.#options;
    if (this.#live.size >= liveCount) this.#isRamped = true;
    const startsMax = this.#isRamped ? STARTING_MAX : STARTS_EACH_LOOK;
    for (let started = 0; started < startsMax; started++) {
      if (this.#live.size >= liveCount || this.#starting.size >= STARTING_MAX) return;
      const start = this.#begin().finally(() => this.#starting.delete(start));
      this.#starting.add(start);
    }
  }

  async #begin(): Promise<void> {
    const { host, liveCount, ratePerS, onSurprise } = this.#options;
    const id = `load-${this.starts.size}`;
    const periodMs = (liveCount / ratePerS) * 1_000;
    // The first ones are as if they had run for a while, so that ends and starts come evenly from the beginning.
    const shortest = this.#isRamped ? STEPS_EACH / 2 : STEPS_EACH / 10;
    const steps = this.#random.between(shortest, (STEPS_EACH * 3) / 2);
    const firstDueMs = Date.now() + this.#random.between(0, Math.ceil(periodMs));
    this.starts.set(id, steps);
    this.#live.add(id);
    for (let attempt = 1; ; attempt++) {
      try {
        await host.client.start(loadSteps, { steps, periodMs, firstDueMs }, { id });
        return;
      } catch (error) {
        if (this.#isStopped) return;
        onSurprise(`${id} could not be started at once: ${error}`);
        if (attempt === START_TRIES_MAX) return;
        await host.ports.clock.sleep(START_RETRY_MS);
      }
    }
  }

  async #readRows(): Promise<void> {
    this.#client ??= await connected(this.#options.postgresUrl);
    const { rows } = await this.#client.query<{ workflow: string }>(
      "select workflow from workflows where status = 'completed' and workflow = any($1)",
      [this.unfinished],
    );
    for (const { workflow } of rows) {
      this.#live.delete(workflow);
      this.#ending.delete(workflow);
    }
  }
}

async function connected(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => {});
  await client.connect();
  return client;
}
