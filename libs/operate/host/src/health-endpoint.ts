/** Owns the life of the thread that answers a process's probes, and reporting the process's health to it. Must not judge health itself. */

import { Worker } from 'node:worker_threads';
import { ConfigError, messageOf } from '@tidemark/core';
import type { Health } from '@tidemark/runtime';
import type { HealthThreadData, HealthThreadWord, HealthWord, SilenceLimits } from './health-word.ts';
import { type ListenAddress, listenAddress } from './listen-address.ts';
import { logLine } from './log.ts';

/** Period at which a process reports its health to the thread that answers probes. */
const HEALTH_PERIOD_MS = 500;
/** Age of a report after which the process is not ready: as long as a worker's beat counts while its event loop is blocked. */
export const READY_SILENCE_MAX_MS = 5_000;
/** Age after which it is not live: its event loop is blocked, and others have long taken over its work. */
export const LIVE_SILENCE_MAX_MS = 60_000;
/** Pause before a thread that died is started again. */
const HEALTH_RESTART_PAUSE_MS = 1_000;
/** Heap of the thread that answers, in MB. */
const HEALTH_THREAD_HEAP_MB = 16;

const SILENCE_LIMITS: SilenceLimits = { readyMs: READY_SILENCE_MAX_MS, liveMs: LIVE_SILENCE_MAX_MS };

export interface HealthEndpoint {
  readonly port: number;
  /** Reports to the thread at once, instead of at the end of the period. */
  report(): void;
  close(): Promise<void>;
}

/**
 * Answers probes at `host:port` (port 0: any) with the result of `health` each half second. A thread that died is restarted at the same
 * port, until it listens. Throws `ConfigError` (`health-listen`) when it can't listen there at first.
 */
export async function openHealthEndpoint(
  listen: string,
  service: string,
  health: () => Health,
  limits: SilenceLimits = SILENCE_LIMITS,
): Promise<HealthEndpoint> {
  const address = listenAddress(listen);
  let ended: ((why: string) => void) | undefined;
  const start = (at: ListenAddress): Promise<Listening> =>
    startThread({ ...at, service, limits }, health(), (why) => ended?.(why));
  let { thread, port } = await start(address).catch((cause: unknown) => {
    const message = `TIDEMARK_HEALTH_LISTEN: can't listen on ${address.host}:${address.port} (${messageOf(cause)}).`;
    throw new ConfigError('health-listen', message, { cause });
  });
  let again: NodeJS.Timeout | undefined;
  let isClosed = false;
  /** Message of the last failure, so that the same one isn't reported each second. */
  let reported: string | undefined;
  ended = (why) => {
    if (isClosed) return;
    if (why !== reported)
      logLine('warn', 'nobody answers probes; the thread for them is started again', { service, why });
    reported = why;
    again = setTimeout(restart, HEALTH_RESTART_PAUSE_MS).unref();
  };
  const restart = (): void => {
    start({ ...address, port }).then(
      (started) => {
        ({ thread } = started);
        reported = undefined;
        if (isClosed) void thread.terminate();
      },
      (cause: unknown) => ended?.(messageOf(cause)),
    );
  };
  const report = (): void => thread.postMessage(health() satisfies HealthWord);
  const timer = setInterval(report, HEALTH_PERIOD_MS).unref();
  return {
    port,
    report,
    close: async () => {
      isClosed = true;
      clearInterval(timer);
      clearTimeout(again);
      await thread.terminate();
    },
  };
}

interface Listening {
  readonly thread: Worker;
  readonly port: number;
}

/**
 * Starts a thread that listens and has received the health. `ended` receives the reason when it stops. Throws when it doesn't listen; the
 * thread is gone then.
 */
async function startThread(
  data: HealthThreadData,
  health: HealthWord,
  ended: (why: string) => void,
): Promise<Listening> {
  const thread = new Worker(new URL('./health-thread.ts', import.meta.url), {
    workerData: data,
    name: 'tidemark-health',
    // Not the process's own flags: a heap for workflows is far too large for this thread.
    resourceLimits: { maxOldGenerationSizeMb: HEALTH_THREAD_HEAP_MB, maxYoungGenerationSizeMb: 1 },
  });
  // Its death must not end the process.
  let failure: Error | undefined;
  thread.on('error', (error) => {
    failure = error;
  });
  thread.postMessage(health);
  try {
    const port = await listening(thread);
    thread.unref();
    thread.once('exit', (code) => ended(failure?.message ?? `it ended with ${code}`));
    return { thread, port };
  } catch (error) {
    await thread.terminate();
    throw error;
  }
}

function listening(thread: Worker): Promise<number> {
  return new Promise((resolve, reject) => {
    thread.once('error', reject);
    thread.once('exit', (code) => reject(new Error(`the thread ended with ${code}`)));
    thread.once('message', (word: HealthThreadWord) => {
      if (word.kind === 'listening') resolve(word.port);
      else reject(new Error(word.message));
    });
  });
}
