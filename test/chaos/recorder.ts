/**
 * Owns what was acknowledged during a run, as an outsider sees it: every checkpoint that the rows showed as the head of its
 * workflow, and every end. What was once seen must be in the final log. Reads the rows with a connection of its own.
 */

import pg from 'pg';
import { RECORD_PERIOD_MS } from './limits.ts';

export interface SeenRow {
  readonly workflow: string;
  readonly status: string;
  readonly sequence: number;
  readonly checkpoint: string | null;
}

export class Recorder {
  /** By workflow: each sequence that was seen as its head, with the checkpoint's id. */
  readonly heads = new Map<string, Map<number, string>>();
  /** Workflows that were seen closed, with how. */
  readonly ends = new Map<string, string>();
  /** Workflows that were last seen waiting for a person. */
  readonly parked = new Set<string>();
  readonly #url: string;
  readonly #isOpen: () => readonly string[];
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> = Promise.resolve();
  #movedMs = 0;

  /** `open` names the workflows to look at. */
  constructor(url: string, open: () => readonly string[]) {
    this.#url = url;
    this.#isOpen = open;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#polling = this.#polling.then(() => this.#read());
    }, RECORD_PERIOD_MS);
  }

  get headCount(): number {
    let count = 0;
    for (const heads of this.heads.values()) count += heads.size;
    return count;
  }

  /** Milliseconds since the last new checkpoint or end, or since a moment of the monotonic clock that is later. */
  stillSinceMs(momentMs: number): number {
    return performance.now() - Math.max(momentMs, this.#movedMs);
  }

  note({ workflow, status, sequence, checkpoint }: SeenRow): void {
    if (checkpoint !== null) {
      const heads = this.heads.get(workflow) ?? new Map<number, string>();
      this.heads.set(workflow, heads);
      // The first sight counts: a later one that differs is a loss of it.
      if (!heads.has(sequence)) {
        heads.set(sequence, checkpoint);
        this.#movedMs = performance.now();
      }
    }
    if (status === 'parked') this.parked.add(workflow);
    else this.parked.delete(workflow);
    const hasEnded = status === 'completed' || status === 'failed' || status === 'compensated';
    if (hasEnded && !this.ends.has(workflow)) {
      this.ends.set(workflow, status);
      this.#movedMs = performance.now();
    }
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#polling;
    await this.#client?.end().catch(() => {});
  }

  /** Rows that can't be read just now are read the next time. */
  async #read(): Promise<void> {
    try {
      const client = await this.#connected();
      const { rows } = await client.query<{ workflow: string; status: string; sequence: string; checkpoint: string }>(
        'select workflow, status, sequence, checkpoint from workflows where workflow = any($1)',
        [this.#isOpen()],
      );
      for (const row of rows) this.note({ ...row, sequence: Number(row.sequence) });
    } catch {
      const client = this.#client;
      this.#client = undefined;
      await client?.end().catch(() => {});
    }
  }

  async #connected(): Promise<pg.Client> {
    if (this.#client === undefined) {
      const client = new pg.Client({
        connectionString: this.#url,
        connectionTimeoutMillis: 2_000,
        query_timeout: 2_000,
      });
      client.on('error', () => {});
      await client.connect();
      this.#client = client;
    }
    return this.#client;
  }
}
