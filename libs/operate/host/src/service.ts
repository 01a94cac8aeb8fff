/** Owns the life of a service process: its health, orderly end on SIGTERM and SIGINT, distinct exit codes. */

import { messageOf, TidemarkError, UnavailableError } from '@tidemark/core';
import { check, type Health, systemClock } from '@tidemark/runtime';
import { EXIT, exitCodeOf } from './exit-codes.ts';
import { type HealthEndpoint, openHealthEndpoint } from './health-endpoint.ts';
import { type LogFields, logLine } from './log.ts';
import { logWhatIsPrinted } from './printed-lines.ts';
import { surviveUnawaitedCalls } from './unawaited-calls.ts';

/** Time for which a service that others send requests to keeps answering after it is asked to end: nobody sends new ones then. */
const LEAVE_NOTICE_MS = 2_000;

/**
 * Flags of Node for a service process. By default Node lets a heap grow to gigabytes before it is cleared; with these a worker of 1,000
 * live workflows stays below 300 MB. Workflows with much state need a larger `--max-old-space-size`.
 */
export const SERVICE_NODE_FLAGS = ['--max-semi-space-size=16', '--max-old-space-size=224'] as const;

export interface Service {
  /** Hands work over and closes. */
  stop(): Promise<void>;
  /** Time, in milliseconds, that `stop` may give to work under way. */
  readonly drainMs?: number;
  /** Its health; called twice a second where probes are answered. */
  health(): Health;
  /** Others send it requests: before it stops it keeps answering for a moment in which probes already report that it leaves. */
  readonly isAsked?: boolean;
}

/** What a starting service may use of the process. */
export interface ServiceLife {
  /** Ends the service, with a reason for the log. */
  leave(reason: string): void;
  /** Answers probes at `host:port` from now on; empty: nowhere. Harmless when repeated. Throws `ConfigError` (`health-listen`). */
  answerProbes(listen: string): Promise<void>;
}

/** Milliseconds after the drain budget at which a service that can't close (its servers are unreachable) exits anyway. */
const STOP_GRACE_MS = 10_000;
/** Longest end of a service beyond its drain, in milliseconds: an orchestrator must wait for both. */
export const STOP_MARGIN_MS = LEAVE_NOTICE_MS + STOP_GRACE_MS;

/** Time for which a starting service waits for unreachable servers, in milliseconds; then it exits with 69. */
const START_TIMEOUT_MS = 60_000;
const START_RETRY_MS = 1_000;

/** Runs a service until a signal asks it to end, or `leave` is called with a reason; exits with 0 then, and with the error's code when it can't start. */
export async function runService(name: string, start: (life: ServiceLife) => Promise<Service>): Promise<void> {
  let service: Service | undefined;
  let asked = false;
  let probes: HealthEndpoint | undefined;
  const health = (): Health => {
    if (service === undefined) return { ready: [check('started', 'it is starting')], live: [] };
    const { ready, live } = service.health();
    return { ready: [check('staying', asked && 'it was asked to end'), ...ready], live: asked ? [] : live };
  };
  const answerProbes = async (listen: string): Promise<void> => {
    if (listen !== '') probes ??= await openHealthEndpoint(listen, name, health);
  };
  const end = (reason: string): void => {
    if (asked) return;
    asked = true;
    logLine('info', `${name} stopping`, { reason });
    // It holds nothing yet, so it hands nothing over.
    if (service === undefined) process.exit(EXIT.ok);
    const stopTimeout = (): never => {
      logLine('error', `${name} did not stop in time`, { code: 'stop-timeout' });
      process.exit(EXIT.unavailable);
    };
    probes?.report();
    const noticeMs = service.isAsked === true && probes !== undefined ? LEAVE_NOTICE_MS : 0;
    setTimeout(stopTimeout, noticeMs + (service.drainMs ?? 0) + STOP_GRACE_MS).unref();
    const stop = service.stop.bind(service);
    const ended = noticeMs === 0 ? stop() : systemClock.sleep(noticeMs).then(stop);
    ended.then(
      () => {
        logLine('info', `${name} stopped`);
        process.exit(EXIT.ok);
      },
      (error: unknown) => fail(name, error),
    );
  };
  logWhatIsPrinted((error) => fail(name, error, { stack: error instanceof Error ? error.stack : undefined }));
  // Before the start: the first process of a container has no default for these.
  surviveUnawaitedCalls((line) => logLine('warn', line, { code: 'call-not-awaited' }));
  process.once('SIGTERM', () => end('SIGTERM'));
  process.once('SIGINT', () => end('SIGINT'));
  try {
    service = await startPatiently(name, () => start({ leave: end, answerProbes }));
  } catch (error) {
    fail(name, error);
  }
  probes?.report();
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

function fail(name: string, error: unknown, fields: LogFields = {}): never {
  const code = error instanceof TidemarkError ? error.code : 'internal';
  logLine('error', messageOf(error), { service: name, code, ...fields });
  process.exit(exitCodeOf(error));
}
