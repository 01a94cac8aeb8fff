/** Owns a loop that lives until it is stopped, and outlives servers that go away. */

import { UnavailableError } from '@tidemark/core';
import type { Clock } from '@tidemark/ports';
import { BACKOFF_FIRST_MS, BACKOFF_MAX_MS, POLL_AGE_MAX_MS, POLL_REST } from './limits.ts';
import { backoffMs } from './retry.ts';

export interface Loop {
  /** Runs the body again now, instead of at the end of its period. */
  wake(): void;
  /** Resolves once the body that is under way has ended. */
  stop(): Promise<void>;
  state(): LoopState;
}

/** How a loop fares; milliseconds of its clock. */
export interface LoopState {
  /** Since the body that is under way began, or last moved; undefined while it pauses. */
  readonly unmovedMs: number | undefined;
  /** Since the first of the failures that came without a success between them; undefined: the last run succeeded, or none has ended. */
  readonly failingMs: number | undefined;
}

export interface LoopOptions {
  readonly clock: Clock;
  /** Pause between two runs of the body, in milliseconds, or what it is after one that took so long; a wake cuts it short. Infinity: only when woken. */
  readonly periodMs: number | ((tookMs: number) => number);
  /** Called for each failure; unless it throws, the loop goes on after a back-off. */
  readonly onError: (error: unknown) => void;
  /** Pause before the first run, in milliseconds; a wake cuts it short. Default: none. */
  readonly firstMs?: number;
}

/** A reason that is at hand: by default each abort would make an error with a stack. */
const WOKEN = 'woken';

/**
 * Runs the body again and again; one that takes long by its nature calls `moved` as it goes. A failure is reported, and the next run waits with doubling delays. Combined abort signals
 * would cost ten times as much a wake, and memory until they are collected.
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

/**
 * The pause after a look that took so long, in milliseconds: its period, or longer after a long one, unless what it found would then be too old
 * before the next has ended.
 */
export const pollRestMs = (tookMs: number, periodMs: number): number =>
  Math.max(periodMs, Math.min(POLL_REST * tookMs, POLL_AGE_MAX_MS - 2 * tookMs));
