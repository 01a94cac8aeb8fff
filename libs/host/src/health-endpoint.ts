/** Owns the life of the thread that answers a process's probes, and telling it how the process is. Must not judge health itself. */

import { Worker } from 'node:worker_threads';
import { ConfigError } from '@tidemark/core';
import type { Health } from '@tidemark/runtime';
import { HEALTH_PERIOD_MS, HEALTH_THREAD_HEAP_MB, LIVE_SILENCE_MAX_MS, READY_SILENCE_MAX_MS } from './health-limits.ts';
import type { HealthThreadData, HealthThreadWord, HealthWord, SilenceLimits } from './health-word.ts';
import { listenAddress } from './listen-address.ts';

const SILENCE_LIMITS: SilenceLimits = { readyMs: READY_SILENCE_MAX_MS, liveMs: LIVE_SILENCE_MAX_MS };

export interface HealthEndpoint {
  readonly port: number;
  /** Tells the thread at once, instead of at the end of the period. */
  tell(): void;
  close(): Promise<void>;
}

/**
 * Answers probes at `host:port` (port 0: any) with what `health` says each half second. Throws `ConfigError` (`health-listen`) when it
 * can't listen there.
 */
export async function openHealthEndpoint(
  listen: string,
  service: string,
  health: () => Health,
  limits: SilenceLimits = SILENCE_LIMITS,
): Promise<HealthEndpoint> {
  const { host, port } = listenAddress(listen);
  const thread = new Worker(new URL('./health-thread.ts', import.meta.url), {
    workerData: { host, port, service, limits } satisfies HealthThreadData,
    name: 'tidemark-health',
    // Not those of the process: a heap for workflows is far too large for this.
    resourceLimits: { maxOldGenerationSizeMb: HEALTH_THREAD_HEAP_MB, maxYoungGenerationSizeMb: 1 },
  });
  const tell = (): void => thread.postMessage(health() satisfies HealthWord);
  tell();
  let boundPort: number;
  try {
    boundPort = await listening(thread);
  } catch (cause) {
    await thread.terminate();
    const why = cause instanceof Error ? cause.message : String(cause);
    const message = `TIDEMARK_HEALTH_LISTEN: can't listen on ${host}:${port} (${why}).`;
    throw new ConfigError('health-listen', message, { cause });
  }
  thread.unref();
  const timer = setInterval(tell, HEALTH_PERIOD_MS).unref();
  return {
    port: boundPort,
    tell,
    close: async () => {
      clearInterval(timer);
      await thread.terminate();
    },
  };
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
