/** Owns a state folder that a command holds itself: finding it, opening it, running workflows in it, letting it go. */

import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, CorruptError, TidemarkError, UnavailableError } from '@tidemark/core';
import { embedderIn, type FolderKeys, folderKeysFromEnv, type Host, openEmbedded } from '@tidemark/host';
import type { Definition, Ports, WorkerOptions } from '@tidemark/runtime';
import { type MetricsSettings, metricsSettings, type TraceSettings, traceSettings } from '@tidemark/traces';
import { CATCH_UP_MAX_MS, RETRY_PAUSE_MS } from '../limits.ts';
import { serveFolder } from './folder-socket.ts';

/** Where state is kept when nothing is said. */
export const DEFAULT_FOLDER = '.tidemark';

export interface Folder {
  readonly kind: 'embedded';
  /** Absolute. */
  readonly folder: string;
  /** As the user knows it. */
  readonly shown: string;
  readonly embedderFolder?: string | undefined;
  readonly keys?: FolderKeys | undefined;
  /** Where whoever holds the folder exports traces to. */
  readonly traces?: TraceSettings | undefined;
  readonly metrics?: MetricsSettings | undefined;
}

/** Throws `ConfigError` (`setting-invalid`). */
export const folderTarget = (
  shown: string,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): Folder => ({
  kind: 'embedded',
  folder: path.resolve(cwd, shown),
  shown,
  embedderFolder: env.TIDEMARK_EMBEDDER_FOLDER,
  keys: folderKeysFromEnv(env),
  traces: traceSettings(env),
  metrics: metricsSettings(env),
});

/**
 * Whether there is anything to read; a command that only looks makes nothing. Throws `ConfigError` (`state-no-folder`), and
 * `CorruptError` (`log-missing`) where rows tell of a log that is gone: that isn't the same as nothing.
 */
export function exists({ folder, shown }: Folder): boolean {
  if (existsSync(folder) && !statSync(folder).isDirectory()) {
    throw new ConfigError('state-no-folder', `${shown} is a file. Name a folder with --state.`);
  }
  if (existsSync(path.join(folder, 'log'))) return true;
  if (!existsSync(path.join(folder, 'rows'))) return false;
  const message = `${shown} has rows, but its log is gone. Restore the folder log from a copy: without it, what was started there is forgotten, and starting it again calls its effects again.`;
  throw new CorruptError('log-missing', message);
}

type WorkerHooks = Pick<WorkerOptions, 'onError' | 'onResume' | 'onDelta'>;

/** A folder that this process holds, with a coordinator in it. */
export class HeldFolder {
  readonly host: Host;
  readonly target: Folder;
  /** What it runs, or is told of. */
  readonly definitions: readonly Definition[];
  runsWorker = false;
  readonly #served: { close(): Promise<void> }[] = [];
  #closed: Promise<void> | undefined;

  constructor(host: Host, target: Folder, definitions: readonly Definition[]) {
    this.host = host;
    this.target = target;
    this.definitions = definitions;
  }

  /** Runs its workflows from now on. */
  async startWorker(concurrency: number, hooks: WorkerHooks): Promise<void> {
    this.runsWorker = true;
    await this.host.startWorker({ definitions: this.definitions, concurrency, ...hooks });
  }

  /** Answers other commands on the folder from now on. */
  async serve(command: string, onError?: (where: string, error: unknown) => void): Promise<void> {
    const { host, definitions, target } = this;
    this.closeFirst(await serveFolder({ folder: target.folder, host, definitions, command, onError }));
  }

  /** Is closed before the folder is. */
  closeFirst(served: { close(): Promise<void> }): void {
    this.#served.push(served);
  }

  /** Harmless when repeated. */
  close(drainMs = 0): Promise<void> {
    this.#closed ??= this.#close(drainMs);
    return this.#closed;
  }

  async #close(drainMs: number): Promise<void> {
    for (const served of this.#served.splice(0)) await served.close();
    await this.host.close(drainMs);
  }
}

export interface HoldOptions {
  readonly definitions?: readonly Definition[];
  /** Told of every failure that was outlived. */
  readonly onError?: ((where: string, error: unknown) => void) | undefined;
}

/** Holds the folder: opens it, coordinates, and returns once its rows hold all of its log. */
export async function holdFolder(target: Folder, { definitions = [], onError }: HoldOptions = {}): Promise<HeldFolder> {
  const { folder, keys, traces, metrics } = target;
  const host = await openEmbedded({ ...keys, folder, traces, metrics, embedder: embedderIn(target.embedderFolder) });
  // The projector outlives it and tries again, so nobody would learn why the rows stay behind.
  let damage: TidemarkError | undefined;
  let isOpen = false;
  const onFailure = (where: string, error: unknown): void => {
    const isLasting = error instanceof CorruptError || error instanceof ConfigError;
    if (isLasting && !isOpen) damage ??= error;
    else onError?.(where, error);
  };
  try {
    await host.startCoordinator({ onError: onFailure });
    await catchUp(host.ports, target.shown, () => damage);
    isOpen = true;
    return new HeldFolder(host, target, definitions);
  } catch (error) {
    await host.close();
    throw error;
  }
}

async function catchUp(ports: Ports, shown: string, damage: () => TidemarkError | undefined): Promise<void> {
  const { clock } = ports;
  const deadlineMs = clock.monotonicMs() + CATCH_UP_MAX_MS;
  while (!(await isCaughtUp(ports))) {
    const found = damage();
    if (found !== undefined) throw found;
    if (clock.monotonicMs() > deadlineMs) {
      throw new UnavailableError('rows-behind', `The rows in ${shown} did not catch up with its log in time.`);
    }
    await clock.sleep(RETRY_PAUSE_MS / 10);
  }
}

/** True once rows hold all that is in the log now and placements are rebuilt. */
async function isCaughtUp({ log, store }: Ports): Promise<boolean> {
  if (!(await store.ready())) return false;
  const bounds = await log.bounds();
  const positions = await store.positions();
  for (const [partition, { end }] of bounds) if ((positions.get(partition) ?? 0) < end) return false;
  return true;
}

export const isInUse = (error: unknown): boolean => error instanceof ConfigError && error.code === 'log-locked';

export function inUse(error: unknown, { shown }: Folder): unknown {
  if (!isInUse(error) || !(error instanceof TidemarkError)) return error;
  const { pid } = error.details;
  const who = typeof pid === 'number' ? `process ${pid}` : 'another process';
  const message = `${shown} is in use by ${who}, which doesn't answer here; it may be starting. Wait for it, end it, or use another folder (--state).`;
  return new ConfigError(error.code, message, { ...error.details, cause: error });
}
