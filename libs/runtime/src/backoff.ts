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

/**
 * Runs the body again and again. A failure is reported, and the next run waits with doubling delays. Combined abort signals
 * would cost ten times as much a wake, and memory until they are collected.
 */
export function startLoop(body: () => Promise<void>, options: LoopOptions): Loop {
  const { clock, periodMs, onError } = options;
  const stopped = new AbortController();
  let wanted = options.immediately !== false;
  let resume = (): void => {};
  const pause = async (): Promise<void> => {
    if (periodMs === Number.POSITIVE_INFINITY) {
      await new Promise<void>((resolve) => {
        resume = resolve;
      });
      return;
    }
    const woken = new AbortController();
    resume = () => woken.abort(WOKEN);
    await clock.sleep(periodMs, woken.signal);
  };
  const run = async (): Promise<void> => {
    let failureCount = 0;
    while (!stopped.signal.aborted) {
      if (!wanted) await pause();
      if (stopped.signal.aborted) return;
      wanted = false;
      try {
        await body();
        failureCount = 0;
      } catch (error) {
        if (stopped.signal.aborted) return;
        failureCount++;
        onError(error);
        await clock.sleep(backoffMs(failureCount, BACKOFF_FIRST_MS, BACKOFF_MAX_MS), stopped.signal);
        wanted = true;
      }
    }
  };
  const ended = run();
  return {
    wake: () => {
      wanted = true;
      resume();
    },
    stop: async () => {
      stopped.abort();
      resume();
      await ended;
    },
  };
}

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
