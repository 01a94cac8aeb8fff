/** Owns a loop that runs until it is stopped, and that survives servers that are unavailable. */

import { UnavailableError } from '@tidemark/core';
import type { Clock } from '@tidemark/ports';
import { BACKOFF_FIRST_MS, BACKOFF_MAX_MS } from './limits.ts';
import { backoffMs } from './retry.ts';

/**
 * A poll of everything runnable, or of all leases, rests this many times as long as it took, but no longer than keeps its results younger
 * than `POLL_AGE_MAX_MS` milliseconds at the end of the next poll.
 */
export const POLL_REST = 4;
const POLL_AGE_MAX_MS = 10_000;

export interface Loop {
  /** Runs the body again now, instead of at the end of its period. */
  wake(): void;
  /** Resolves once the body that is under way has ended. */
  stop(): Promise<void>;
  state(): LoopState;
}

/** The state of a loop, in milliseconds of its clock. */
export interface LoopState {
  /** Time since the current run of the body began, or since it last called `moved`; undefined during a pause. */
  readonly unmovedMs: number | undefined;
  /** Time since the first of the latest failures in a row; undefined when the last run succeeded or none has ended. */
  readonly failingMs: number | undefined;
}

export interface LoopOptions {
  readonly clock: Clock;
  /**
   * Pause between two runs of the body, in milliseconds, or a function of how long the last run took. A wake cuts it short. Infinity: it
   * runs only when woken.
   */
  readonly periodMs: number | ((tookMs: number) => number);
  /** Receives each failure. The loop continues after a back-off unless this throws. */
  readonly onError: (error: unknown) => void;
  /** Pause before the first run, in milliseconds; a wake cuts it short. Default: none. */
  readonly firstMs?: number;
}

/** A constant reason, because an abort without one creates an error with a stack. */
export const WOKEN = 'woken';

/**
 * Runs the body again and again; a body that takes long calls `moved` to show progress. After a failure, the next run waits with doubling
 * delays. The loop does not combine abort signals: each wake would cost ten times as much, and would hold memory until the next collection.
 */
export function startLoop(
  body: (moved: () => void, stopped: AbortSignal) => Promise<void>,
  options: LoopOptions,
): Loop {
  const { clock, onError } = options;
  const stopped = new AbortController();
  let wanted = options.firstMs === undefined;
  let firstMs = options.firstMs;
  let resume = (): void => {};
  let movedMs: number | undefined;
  let failedMs: number | undefined;
  let tookMs = 0;
  const moved = (): void => {
    movedMs = clock.monotonicMs();
  };
  const pause = async (): Promise<void> => {
    const periodMs = firstMs ?? (typeof options.periodMs === 'number' ? options.periodMs : options.periodMs(tookMs));
    firstMs = undefined;
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
      const beganMs = clock.monotonicMs();
      try {
        moved();
        await body(moved, stopped.signal);
        tookMs = clock.monotonicMs() - beganMs;
        movedMs = undefined;
        failedMs = undefined;
        failureCount = 0;
      } catch (error) {
        movedMs = undefined;
        if (stopped.signal.aborted) return;
        failedMs ??= clock.monotonicMs();
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
    state: () => {
      const nowMs = clock.monotonicMs();
      return {
        unmovedMs: movedMs === undefined ? undefined : nowMs - movedMs,
        failingMs: failedMs === undefined ? undefined : nowMs - failedMs,
      };
    },
  };
}

/** Repeats the attempt while a server is unavailable. Once the signal aborts it throws the last failure. It never catches other errors. */
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

/**
 * The pause in milliseconds after a poll that took `tookMs`: a multiple of that time, but no longer than keeps the results younger than
 * `POLL_AGE_MAX_MS` at the end of the next poll, and never shorter than `periodMs`.
 */
export const pollRestMs = (tookMs: number, periodMs: number): number =>
  Math.max(periodMs, Math.min(POLL_REST * tookMs, POLL_AGE_MAX_MS - 2 * tookMs));
