/** Owns the life of a service process: orderly end on SIGTERM and SIGINT, distinct exit codes. */

import { TidemarkError, UnavailableError } from '@tidemark/core';
import { systemClock } from '@tidemark/runtime';
import { EXIT, exitCodeOf } from './exit-codes.ts';
import { logLine } from './log.ts';

/**
 * Flags of Node for a service process. By itself Node lets a heap grow to gigabytes before it is cleared; with these a worker
 * of 1,000 live workflows stays below 300 MB. Workflows with much state want a larger `--max-old-space-size`.
 */
export const SERVICE_NODE_FLAGS = ['--max-semi-space-size=16', '--max-old-space-size=224'] as const;

export interface Service {
  /** Hands over and lets go. */
  stop(): Promise<void>;
  /** Time, in milliseconds, that `stop` may give to work under way. */
  readonly drainMs?: number;
}

/** After the drain budget a service that can't let go (its servers are away) ends all the same; milliseconds. */
const STOP_GRACE_MS = 10_000;

/** A service whose servers are away waits for them this long at its start, in milliseconds; then it exits with 69. */
const START_TIMEOUT_MS = 60_000;
const START_RETRY_MS = 1_000;

/**
 * Runs a service until a signal asks it to end, or `leave` is called with a reason; exits with 0 then, and with the error's
 * code when it can't start.
 */
export async function runService(
  name: string,
  start: (leave: (reason: string) => void) => Promise<Service>,
): Promise<void> {
  let service: Service | undefined;
  let asked = false;
  const end = (reason: string): void => {
    if (asked) return;
    asked = true;
    logLine('info', `${name} stopping`, { reason });
    // Nothing is held yet, so nothing is handed over.
    if (service === undefined) process.exit(EXIT.ok);
    const stopTimeout = (): never => {
      logLine('error', `${name} could not let go in time`, { code: 'stop-timeout' });
      process.exit(EXIT.unavailable);
    };
    setTimeout(stopTimeout, (service.drainMs ?? 0) + STOP_GRACE_MS).unref();
    service.stop().then(
      () => {
        logLine('info', `${name} stopped`);
        process.exit(EXIT.ok);
      },
      (error: unknown) => fail(name, error),
    );
  };
  // Before the start: the first process of a container has no default for these.
  process.once('SIGTERM', () => end('SIGTERM'));
  process.once('SIGINT', () => end('SIGINT'));
  try {
    service = await startPatiently(name, () => start(end));
  } catch (error) {
    fail(name, error);
  }
  logLine('info', `${name} started`, { pid: process.pid });
}

async function startPatiently(name: string, start: () => Promise<Service>): Promise<Service> {
  const startedMs = performance.now();
  for (;;) {
    try {
      return await start();
    } catch (error) {
      if (!(error instanceof UnavailableError) || performance.now() - startedMs > START_TIMEOUT_MS) throw error;
      logLine('warn', error.message, { service: name, code: error.code, retryInMs: START_RETRY_MS });
      await systemClock.sleep(START_RETRY_MS);
    }
  }
}

function fail(name: string, error: unknown): never {
  const code = error instanceof TidemarkError ? error.code : 'internal';
  logLine('error', error instanceof Error ? error.message : String(error), { service: name, code });
  process.exit(exitCodeOf(error));
}
