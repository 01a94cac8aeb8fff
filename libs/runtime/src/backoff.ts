/** Owns a loop that lives until it is stopped, and outlives servers that go away. */

import { UnavailableError } from '@tidemark/core';
import type { Clock } from '@tidemark/ports';
import { BACKOFF_FIRST_MS, BACKOFF_MAX_MS } from './limits.ts';
import { backoffMs } from './retry.ts';

export interface Loop {
  /** Runs the body again now, instead of at the end of its period. */
  wake(): void;
  /** Resolves once the body that is under way has ended. */
  stop(): Promise<void>;
}

export interface LoopOptions {
  readonly clock: Clock;
  /** Pause between two runs of the body, in milliseconds; a wake cuts it short. Infinity: only when woken. */
  readonly periodMs: number;
  /** Called for each failure; unless it throws, the loop goes on after a back-off. */
  readonly onError: (error: unknown) => void;
  /** False: the first run waits for a wake or for the period. */
  readonly immediately?: boolean;
}

/** A reason that is at hand: by default each abort would make an error with a stack. */
const WOKEN = 'woken';

/** Runs the body again and again. A failure is reported, and the next run waits with doubling delays. */
export function startLoop(body: () => Promise<void>, options: LoopOptions): Loop {
  const stopped = new AbortController();
  let wakeUp = new AbortController();
  let wanted = options.immediately !== false;
  const wake = (): void => {
    wanted = true;
    wakeUp.abort(WOKEN);
  };
  const pause = async (ms: number): Promise<void> => {
    if (ms === Number.POSITIVE_INFINITY) await aborted(AbortSignal.any([wakeUp.signal, stopped.signal]));
    else await options.clock.sleep(ms, AbortSignal.any([wakeUp.signal, stopped.signal]));
  };
  const run = async (): Promise<void> => {
    let failureCount = 0;
    while (!stopped.signal.aborted) {
      if (!wanted) await pause(options.periodMs);
      if (stopped.signal.aborted) return;
      wanted = false;
      wakeUp = new AbortController();
      try {
        await body();
        failureCount = 0;
      } catch (error) {
        if (stopped.signal.aborted) return;
        failureCount++;
        options.onError(error);
        await options.clock.sleep(backoffMs(failureCount, BACKOFF_FIRST_MS, BACKOFF_MAX_MS), stopped.signal);
        wanted = true;
      }
    }
  };
  const ended = run();
  return {
    wake,
    stop: async () => {
      stopped.abort();
      await ended;
    },
  };
}

const aborted = (signal: AbortSignal): Promise<void> =>
  signal.aborted
    ? Promise.resolve()
    : new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

/** Tries again while a server is away, until the signal aborts; then throws the last failure. Other errors pass. */
export async function whileUnavailable<T>(clock: Clock, signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
  for (let failureCount = 1; ; failureCount++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof UnavailableError) || signal.aborted) throw error;
      await clock.sleep(backoffMs(failureCount, BACKOFF_FIRST_MS, BACKOFF_MAX_MS), signal);
      if (signal.aborted) throw error;
    }
  }
}
