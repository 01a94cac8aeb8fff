/**
 * Owns where a command finds its state. A cluster, when the environment names one; else a folder: through the process that
 * holds it, when one answers on its socket, or by holding it for the time of the command.
 */

import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, CorruptError, partition, TidemarkError, UnavailableError } from '@tidemark/core';
import {
  type ClusterConfig,
  configFromEnv,
  embedderIn,
  type FolderKeys,
  folderKeysFromEnv,
  hasClusterConfig,
  type OpenOptions,
  openCluster,
  openClusterRebuild,
  openEmbedded,
  openEmbeddedRebuild,
  type Rebuild,
  type RebuildRole,
} from '@tidemark/host';
import type { Definition } from '@tidemark/runtime';
import { type MetricsSettings, metricsSettings, type TraceSettings, traceSettings } from '@tidemark/traces';
import { CATCH_UP_MAX_MS, FOLDER_WAIT_MS, RETRY_PAUSE_MS } from '../limits.ts';
import { DEFAULT_FOLDER, type Desk } from './desk.ts';
import { HostDesk, isCaughtUp } from './host-desk.ts';
import { connectSocket } from './socket-desk.ts';

export type Target =
  | { readonly kind: 'cluster'; readonly config: ClusterConfig }
  /** `folder` is absolute; `shown` as the user knows it. */
  | {
      readonly kind: 'embedded';
      readonly folder: string;
      readonly shown: string;
      readonly embedderFolder?: string | undefined;
      readonly keys?: FolderKeys | undefined;
      /** Where whoever holds the folder exports traces to. */
      readonly traces?: TraceSettings | undefined;
      readonly metrics?: MetricsSettings | undefined;
    };

/** `--state` decides where it is given; else the environment; else the default folder. Throws `ConfigError` (`setting-invalid`). */
export function targetOf(
  state: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): Target {
  if (state === undefined && hasClusterConfig(env)) return { kind: 'cluster', config: configFromEnv(env) };
  return folderTarget(state ?? DEFAULT_FOLDER, env, cwd);
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
export function exists(target: Target): boolean {
  if (target.kind === 'cluster') return true;
  const { folder, shown } = target;
  if (existsSync(folder) && !statSync(folder).isDirectory()) {
    throw new ConfigError('state-no-folder', `${shown} is a file. Name a folder with --state.`);
  }
  if (existsSync(path.join(folder, 'log'))) return true;
  if (!existsSync(path.join(folder, 'rows'))) return false;
  const message = `${shown} has rows, but its log is gone. Restore the folder log from a copy: without it, what was started there is forgotten, and starting it again calls its effects again.`;
  throw new CorruptError('log-missing', message);
}

export async function openClusterDesk(
  config: ClusterConfig,
  definitions: readonly Definition[] = [],
  options: OpenOptions = {},
): Promise<HostDesk> {
  const host = await openCluster(config, options);
  // A hint bus connects with its first hint, which is lost: let that be one that nobody needs, or a short-lived command's
  // start would wait for the coordinators' slow sweep.
  host.ports.hints.publish('appended', partition(0));
  return new HostDesk(host, { kind: 'cluster', topic: config.topic }, definitions);
}

export interface HoldOptions {
  readonly definitions?: readonly Definition[];
  /** Told of every failure that was outlived. */
  readonly onError?: (where: string, error: unknown) => void;
}

export type Folder = Extract<Target, { kind: 'embedded' }>;

/** Holds the folder: opens it, coordinates, and returns once its rows hold all of its log. */
export async function holdFolder(target: Folder, { definitions = [], onError }: HoldOptions = {}): Promise<HostDesk> {
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
  const desk = new HostDesk(host, { kind: 'embedded', folder: target.shown, holder: null }, definitions);
  try {
    await host.startCoordinator({ onError: onFailure });
    await catchUp(desk, target.shown, () => damage);
    isOpen = true;
    return desk;
  } catch (error) {
    await desk.close();
    throw error;
  }
}

async function catchUp(desk: HostDesk, shown: string, damage: () => TidemarkError | undefined): Promise<void> {
  const { clock } = desk.host.ports;
  const deadlineMs = clock.monotonicMs() + CATCH_UP_MAX_MS;
  while (!(await isCaughtUp(desk.host.ports))) {
    const found = damage();
    if (found !== undefined) throw found;
    if (clock.monotonicMs() > deadlineMs) {
      throw new UnavailableError('rows-behind', `The rows in ${shown} did not catch up with its log in time.`);
    }
    await clock.sleep(RETRY_PAUSE_MS / 10);
  }
}

export const isInUse = (error: unknown): boolean => error instanceof ConfigError && error.code === 'log-locked';

/**
 * Uses the folder through whoever holds it, or holds it with `hold`. Another command may hold it for a moment without a
 * socket (`ls` does), so it is tried for a while before the folder counts as in use.
 */
export async function shareFolder<T extends Desk>(
  target: Folder,
  hold: () => Promise<T>,
  waitMs = FOLDER_WAIT_MS,
): Promise<T | Desk> {
  const deadlineMs = performance.now() + waitMs;
  for (;;) {
    const other = await connectSocket(target.folder, target.shown);
    if (other !== undefined) return other;
    try {
      return await hold();
    } catch (error) {
      if (!isInUse(error) || performance.now() > deadlineMs) throw inUse(error, target);
      await new Promise((resolve) => setTimeout(resolve, RETRY_PAUSE_MS));
    }
  }
}

export function inUse(error: unknown, { shown }: Folder): unknown {
  if (!isInUse(error) || !(error instanceof TidemarkError)) return error;
  const { pid } = error.details;
  const who = typeof pid === 'number' ? `process ${pid}` : 'another process';
  const message = `${shown} is in use by ${who}, which doesn't answer here; it may be starting. Wait for it, end it, or use another folder (--state).`;
  return new ConfigError(error.code, message, { ...error.details, cause: error });
}

/** For commands that run nothing. `definitions`: what is known of effects, where this process is to know it. */
export async function openToRead(target: Target, definitions: readonly Definition[] = []): Promise<Desk> {
  if (target.kind === 'cluster') return openClusterDesk(target.config, definitions);
  return shareFolder(target, () => holdFolder(target, { definitions }));
}

/** Rows made anew: of a folder that nobody else has open, or beside those of a cluster. */
export async function openRebuild(target: Target, purpose: 'switch' | 'compare', role: RebuildRole): Promise<Rebuild> {
  if (target.kind === 'cluster') return openClusterRebuild(target.config, purpose, role);
  const { folder, keys } = target;
  try {
    return await openEmbeddedRebuild({ ...keys, folder }, purpose, role);
  } catch (error) {
    throw inUse(error, target);
  }
}
