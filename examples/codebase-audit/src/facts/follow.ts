// Owns how an audit is watched: by its committed checkpoints, read as they come, on a folder and on a cluster alike. Must not
// take part in the run: whoever watches may come and go.

import type { Host } from '@tidemark/host';
import type { Run } from '@tidemark/runtime';
import { UnavailableError } from '@tidemark/sdk';
import { POLL_PAGE_COUNT, POLL_PAUSE_MS, POLL_PERIOD_MS } from '../limits.ts';

export type Seen = {
  /** The newest checkpoint. */
  checkpoint: number;
  /** Files whose facts are committed. */
  files: number;
  /** Of the lease under which the newest checkpoint was written: another one means another worker. */
  epoch: number;
  text: string;
};

export class Follower {
  readonly #run: Run;
  readonly #hints: Host['ports']['hints'];
  #seen: Seen = { checkpoint: 0, files: 0, epoch: 0, text: '' };

  constructor(run: Run, host: Host) {
    this.#run = run;
    this.#hints = host.ports.hints;
  }

  get seen(): Seen {
    return this.#seen;
  }

  /** Reads what was committed since the last look. */
  async poll(): Promise<Seen> {
    for (;;) {
      const { checkpoint, files } = this.#seen;
      const rows = await this.#run.checkpoints(checkpoint + 1, POLL_PAGE_COUNT);
      const last = rows.at(-1);
      if (last !== undefined) {
        const parsed = rows.filter((row) => row.step === 'parse').length;
        this.#seen = { checkpoint: last.sequence, files: files + parsed, epoch: last.epoch, text: last.lastAction };
      }
      if (rows.length < POLL_PAGE_COUNT) return this.#seen;
    }
  }

  /** Looks whenever something was committed, until the signal aborts; `onPoll` is told each time. A store that is away is
   * waited for. */
  async follow(onPoll: (seen: Seen) => void, signal: AbortSignal): Promise<void> {
    let wake = Promise.withResolvers<void>();
    const unsubscribe = await this.#hints.subscribe('applied', () => wake.resolve());
    try {
      while (!signal.aborted) {
        wake = Promise.withResolvers();
        await this.#tryToPoll();
        onPoll(this.#seen);
        await pause(POLL_PAUSE_MS, signal);
        await Promise.race([wake.promise, pause(POLL_PERIOD_MS, signal)]);
      }
    } finally {
      await unsubscribe();
    }
  }

  async #tryToPoll(): Promise<void> {
    try {
      await this.poll();
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
    }
  }
}

/** Resolves after the time, or at once when the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
  });
}
