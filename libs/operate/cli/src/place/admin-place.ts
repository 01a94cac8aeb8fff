/**
 * Owns where `tidemark admin` works: on the servers of a cluster themselves, with their own credentials, whether or not a coordinator runs;
 * or in a folder that nobody else holds. Changes of a cluster are recorded in its audit.
 */

import { ConfigError, messageOf, type TenantId, TidemarkError } from '@tidemark/core';
import {
  auditTrail,
  type ClusterConfig,
  configFromEnv,
  folderKeysFromEnv,
  type Host,
  hasClusterConfig,
  openCluster,
  openClusterRebuild,
  openEmbeddedRebuild,
  type Rebuild,
  type RebuildRole,
} from '@tidemark/host';
import type { AuditEntry } from '@tidemark/ports';
import { noState } from '../failures.ts';
import type { Session } from '../session.ts';
import { DEFAULT_FOLDER, exists, type Folder, folderTarget, inUse } from './folder.ts';
import { type HoldOptions, holdFolder } from './held-folder.ts';
import { holderPlace, ownName } from './place.ts';

export interface AdminOptions {
  readonly state?: string | undefined;
}

export type AdminTarget = Folder | { readonly kind: 'cluster'; readonly config: ClusterConfig };

/** `--state` decides where it is given; else the environment; else the default folder. Throws `ConfigError` (`setting-invalid`). */
export const adminTarget = ({ state }: AdminOptions, session: Pick<Session, 'env' | 'cwd'>): AdminTarget =>
  state === undefined && hasClusterConfig(session.env)
    ? { kind: 'cluster', config: configFromEnv(session.env) }
    : folderTarget(state ?? DEFAULT_FOLDER, session);

/** The audit entry of a change. */
export interface Changed extends Pick<AuditEntry, 'action' | 'target'> {
  /** Its tenant; absent: none. */
  readonly tenant?: TenantId | undefined;
}

/** Where `work` changes something, `changes` describes it. Throws `ConfigError` (`state-missing`, `log-locked`), and what `work` throws. */
export async function atHost<T>(
  session: Session,
  options: AdminOptions,
  work: (host: Host) => Promise<T>,
  changes?: Changed,
): Promise<T> {
  const target = adminTarget(options, session);
  if (target.kind === 'embedded') return atFolder(target, work);
  const host = await openCluster(target.config);
  try {
    const done = await work(host);
    if (changes !== undefined) await written(session, host, changes);
    return done;
  } catch (error) {
    // It may have been done in part.
    if (changes !== undefined) await written(session, host, changes, codeOf(error));
    throw error;
  } finally {
    await host.close();
  }
}

const codeOf = (error: unknown): string => (error instanceof TidemarkError ? error.code : 'internal');

/** Does `work` without an open host, and records what it has changed, also where it fails. `changed` undefined: nothing. Throws what `work` throws. */
export async function recorded<T>(
  work: () => Promise<T>,
  changed: () => Changed | undefined,
  write: (changed: Changed, code?: string) => Promise<void>,
): Promise<T> {
  const writeChanged = async (code?: string): Promise<void> => {
    const done = changed();
    if (done !== undefined) await write(done, code);
  };
  let done: T;
  try {
    done = await work();
  } catch (error) {
    await writeChanged(codeOf(error));
    throw error;
  }
  await writeChanged();
  return done;
}

/** Records changes of a cluster that were made without an open host. `code`: of the error with which they ended. */
export async function writeDown(session: Session, target: AdminTarget, changed: Changed, code?: string): Promise<void> {
  if (target.kind === 'embedded') return;
  try {
    const host = await openCluster(target.config);
    try {
      // Before any coordinator has seen that the log is empty, or has rebuilt the rows, nothing can begin, and so no entry.
      if (!(await host.ports.store.ready())) await host.startCoordinator();
      await written(session, host, changed, code);
    } finally {
      await host.close();
    }
  } catch (error) {
    session.terminal.warn(unwritten(error));
  }
}

/** `makes`: also where nothing is stored yet. Throws as `atHost` does. */
export async function atFolder<T>(
  target: Folder,
  work: (host: Host) => Promise<T>,
  { makes = false, begins }: Pick<HoldOptions, 'begins'> & { readonly makes?: boolean } = {},
): Promise<T> {
  if (!makes && !exists(target)) throw noState(target.shown);
  await refuseHeld(target);
  let held: Awaited<ReturnType<typeof holdFolder>>;
  try {
    held = await holdFolder(target, { begins });
  } catch (error) {
    throw inUse(error, target);
  }
  try {
    return await work(held.host);
  } finally {
    await held.close();
  }
}

/** Throws `ConfigError` (`log-locked`) where a process holds the folder and answers for it. */
async function refuseHeld(target: Folder): Promise<void> {
  const place = await holderPlace(target, ownName(target.env));
  if (place === undefined) return;
  const { holder } = place;
  const who = holder === null ? 'Another process' : `Process ${holder.pid} (tidemark ${holder.command})`;
  const message = `${who} holds ${target.shown}, and tidemark admin works on the state itself. End that process first.`;
  throw new ConfigError('log-locked', message, { pid: holder?.pid });
}

/** A failed entry does not undo the action. The actor's name is the local user's, which they can choose: the servers' credentials are what let them in. */
async function written(
  { env, terminal }: Session,
  host: Host,
  { action, target, tenant }: Changed,
  code?: string,
): Promise<void> {
  const trail = auditTrail(host);
  trail.start();
  const principal = { subject: `admin ${ownName(env)}`, kind: 'local', tenant: null, roles: ['admin'] } as const;
  const outcome = code === undefined ? 'done' : 'failed';
  try {
    await trail.write({ principal, tenant: tenant ?? null, action, right: 'administer', target, outcome, code });
  } catch (error) {
    terminal.warn(unwritten(error));
  } finally {
    await trail.close();
  }
}

const unwritten = (error: unknown): string => `it could not be written to the audit: ${messageOf(error)}`;

/** Rebuilt rows: of a folder that nobody else has open, or beside those of a cluster. Throws `ConfigError` (`log-locked`), and as opening does. */
export async function openRebuild(
  target: AdminTarget,
  purpose: 'switch' | 'compare',
  role: RebuildRole,
): Promise<Rebuild> {
  if (target.kind === 'cluster') return openClusterRebuild(target.config, purpose, role);
  await refuseHeld(target);
  const { folder, env } = target;
  try {
    return await openEmbeddedRebuild({ ...folderKeysFromEnv(env), folder }, purpose, role);
  } catch (error) {
    throw inUse(error, target);
  }
}
