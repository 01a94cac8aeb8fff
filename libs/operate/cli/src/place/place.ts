/**
 * Owns where a command sends its operations: a server, by a context or by `TIDEMARK_URL`; else a folder, through the process that holds it,
 * or by holding it for the time of the command. The operations are the same everywhere.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { LOCAL_PRINCIPAL, LOCAL_URL, OWN_VERSION } from '@tidemark/api/local';
import { type Client, connect, TidemarkApiError } from '@tidemark/client';
import { ConfigError, UnavailableError, type WorkflowId } from '@tidemark/core';
import type { Host } from '@tidemark/host';
import { isInClear } from '@tidemark/ports';
import type { Definition } from '@tidemark/runtime';
import { noState, UsageError } from '../failures.ts';
import { FOLDER_WAIT_MS, HOLDER_POLL_MS, RETRY_PAUSE_MS, TURNS_WAIT_MS } from '../limits.ts';
import type { Session } from '../session.ts';
import { failureOf } from './api-failure.ts';
import { contextNamed, readContexts } from './contexts.ts';
import type { Context } from './contexts-file.ts';
import { DEFAULT_FOLDER, exists, type Folder, folderTarget, inUse, isInUse, pidOf } from './folder.ts';
import { folderFetch, type Holder } from './folder-socket.ts';
import type { HeldFolder } from './held-folder.ts';
import { tokenOf } from './oidc.ts';
import { noticeStall } from './stall.ts';
import { takeTurn } from './turn.ts';

/** How long, in milliseconds, the holder of a folder may take to identify itself. */
const HOLDER_ANSWER_MS = 5_000;

/** As the user named it; neither: the default folder. */
export interface PlaceOptions {
  readonly state?: string | undefined;
  readonly context?: string | undefined;
}

/** Tenant; without one a server uses the caller's, and a folder its default. */
export interface OfTenant extends PlaceOptions {
  readonly tenant?: string | undefined;
}

export type Target =
  | Folder
  | {
      readonly kind: 'server';
      readonly url: string;
      /** Null: `TIDEMARK_URL` names it. */
      readonly context: string | null;
      readonly token: (() => Promise<string>) | string | undefined;
    };

export interface Place {
  readonly client: Client;
  /** Name for people: a folder, or a server's address. */
  readonly shown: string;
  readonly kind: 'folder' | 'server';
  /** The process that holds the folder; null: this one, or it is a server. */
  readonly holder: Holder | null;
  /** No process can be running workflows there. */
  readonly isIdle: boolean;
  /** What an answer doesn't contain, for a place in this process: its newest failure. */
  fault?(): unknown;
  close(): Promise<void>;
}

/** Throws `ConfigError` (`context-unknown`, `contexts-unreadable`, `api-unnamed`), `UsageError`. */
export async function targetOf(
  { state, context }: PlaceOptions,
  session: Pick<Session, 'env' | 'cwd'>,
): Promise<Target> {
  const { env } = session;
  if (state !== undefined && context !== undefined) throw new UsageError('give --state or --context, not both');
  if (state !== undefined) return folderTarget(state, session);
  const [url, token] = [env.TIDEMARK_URL, env.TIDEMARK_TOKEN];
  if (context === undefined && url !== undefined && url !== '') {
    return {
      kind: 'server',
      url: checkedUrl(url, 'TIDEMARK_URL'),
      context: null,
      token: token === '' ? undefined : token,
    };
  }
  const contexts = await readContexts(env);
  const name = context ?? contexts.current;
  if (name !== null) return serverTarget(name, contextNamed(contexts, name), env);
  if (env.TIDEMARK_KAFKA_BROKERS === undefined) return folderTarget(DEFAULT_FOLDER, session);
  throw new ConfigError(
    'api-unnamed',
    'TIDEMARK_KAFKA_BROKERS names the servers of a cluster, which tidemark admin speaks to. This command asks its API: give tidemark login URL, or set TIDEMARK_URL; --state names a folder.',
  );
}

function serverTarget(name: string, { url, credential }: Context, env: Session['env']): Target {
  if (credential.kind !== 'none') refuseInClear(url, `context ${name}`, 'its credential');
  return { kind: 'server', url, context: name, token: tokenOf(name, credential, env) };
}

/** Throws `ConfigError` (`url-invalid`). A name and a password in it would appear in every message. */
export function checkedUrl(text: string, field: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isFit = url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  if (isFit && url.search === '' && url.hash === '') return text.replace(/(?<!\/)\/+$/, '');
  throw new ConfigError(
    'url-invalid',
    `${field}: give the address of the API, as https://tidemark.example.com, with nothing after its path.`,
  );
}

/** Throws `ConfigError` (`url-in-clear`). `what`: what would be sent there. */
export function refuseInClear(url: string, field: string, what: string): void {
  if (!isInClear(new URL(url))) return;
  throw new ConfigError(
    'url-in-clear',
    `${field}: ${what} would cross the network in clear on the way to ${new URL(url).host}, and nothing was sent. Give its https:// address, or make a tunnel and name this machine's end of it.`,
  );
}

/** How a command waits for a folder that others hold. */
export interface Patience {
  /** How long one and the same process may hold it without answering, in milliseconds. */
  readonly waitMs?: number | undefined;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** Called at each look at which a process holds it that doesn't answer; undefined: the process isn't known. */
  readonly onBusy?: ((pid: number | undefined) => void) | undefined;
}

export interface AtPlaceOptions extends PlaceOptions, Pick<Patience, 'waitMs' | 'signal'> {
  /** Where nothing is stored yet, `read` is refused, `write` creates the folder, and `look` has one for its own time. */
  readonly how: 'read' | 'write' | 'look';
  /** The name of the decider, where state is in a folder; a server knows it by the credential. */
  readonly by?: string | undefined;
  /** Used where this process opens the folder; another holder, or a server, has its own. Absent: none are needed. */
  readonly definitions?: (() => Promise<readonly Definition[]>) | undefined;
}

/** Throws `ConfigError` (`state-missing`) where there is nothing to read, what opening and `work` throw, and refusals as errors of their kind. */
export async function atPlace<T>(
  session: Session,
  options: AtPlaceOptions,
  work: (place: Place) => Promise<T>,
): Promise<T> {
  const target = await targetOf(options, session);
  const isNew = target.kind === 'embedded' && options.how !== 'write' && !exists(target);
  if (isNew && options.how === 'read') throw noState(target.shown);
  const own = isNew ? await mkdtemp(path.join(tmpdir(), 'tidemark-')) : undefined;
  try {
    const place = await openPlace(
      session,
      own === undefined ? target : ({ ...target, folder: own } as Folder),
      options,
    );
    try {
      return await within(place, () => noticeStall(session, waitingFor(place), work(place)));
    } finally {
      await place.close();
    }
  } finally {
    if (own !== undefined) await rm(own, { recursive: true, force: true });
  }
}

/** Throws refusals as errors of their kind. */
export async function within<T>(place: Pick<Place, 'fault' | 'holder' | 'shown'>, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw unansweredBy(place, error) ?? failureOf(error, place.fault?.());
  }
}

/** Another process held the folder and ended, or hangs, in the middle of a request. */
function unansweredBy(
  { holder, shown }: Pick<Place, 'holder' | 'shown'>,
  cause: unknown,
): UnavailableError | undefined {
  if (holder === null || !(cause instanceof TidemarkApiError) || cause.code !== 'unreachable') return undefined;
  const isLate = cause.cause instanceof Error && cause.cause.name === 'TimeoutError';
  const what = isLate ? `holds ${shown}, does not answer` : `held ${shown}, ended before it answered`;
  const message = `Process ${holder.pid} (tidemark ${holder.command}), which ${what}. Type the command again${isLate ? ', or end that process first' : ''}; what changes something may have been done, so look first (tidemark ls, show).`;
  return new UnavailableError(isLate ? 'holder-silent' : 'holder-gone', message, { pid: holder.pid, cause });
}

/** The folder where nothing is stored in it yet; undefined: there is something to read. Throws as `targetOf`. */
export async function nothingKept(session: Session, options: PlaceOptions): Promise<string | undefined> {
  const target = await targetOf(options, session);
  return target.kind === 'embedded' && !exists(target) ? target.shown : undefined;
}

/** Throws as opening a folder does, and `UsageError`. */
export async function openPlace(
  session: Session,
  target: Target,
  how: Pick<AtPlaceOptions, 'by' | 'definitions' | 'waitMs' | 'signal'> = {},
): Promise<Place> {
  if (target.kind === 'embedded') return openFolder(session, target, how);
  const { by } = how;
  const { url, token, context } = target;
  if (by !== undefined) {
    throw new UsageError(`--by is for folders: ${url} knows by your credential who you are; leave it out`);
  }
  const shown = context === null ? url : `${url} (context ${context})`;
  const close = async (): Promise<void> => {};
  return { client: connect({ url, token }), shown, kind: 'server', holder: null, isIdle: false, close };
}

async function openFolder(
  session: Session,
  target: Folder,
  { by: name = ownName(session.env), definitions, waitMs, signal }: Omit<AtPlaceOptions, 'how'>,
): Promise<Place> {
  const hold = async () => {
    // A command that uses another process must not load the engine.
    const { holdNoticed } = await import('./held-folder.ts');
    return holdNoticed(session, target, { definitions: (await definitions?.()) ?? [] });
  };
  const found = await placeOr(target, name, hold, { waitMs, signal });
  return 'client' in found ? found : placeOf(found, name);
}

/**
 * The place of the folder's holder, or the result of `hold`. Other commands may hold it one after another without a socket, or be opening
 * it: this waits for its turn, and the folder counts as in use once one and the same process has held it for `waitMs` and answers nobody, or
 * `signal` has aborted.
 */
export async function placeOr<T>(
  target: Folder,
  name: string,
  hold: () => Promise<T>,
  { waitMs = FOLDER_WAIT_MS, signal, onBusy }: Patience = {},
): Promise<Place | T> {
  const lastMs = performance.now() + Math.max(waitMs, TURNS_WAIT_MS);
  let deadlineMs = performance.now() + waitMs;
  let busy: ConfigError | undefined;
  const turn = await takeTurn(target.folder);
  try {
    for (;;) {
      const held = await holderPlace(target, name);
      if (held !== undefined) return held;
      if (await turn.isFirst()) {
        try {
          return await hold();
        } catch (error) {
          if (!isInUse(error)) throw error;
          if (pidOf(error) !== pidOf(busy)) deadlineMs = performance.now() + waitMs;
          busy = error;
          onBusy?.(pidOf(error));
        }
      } else deadlineMs = performance.now() + waitMs;
      if (signal?.aborted === true || performance.now() > Math.min(deadlineMs, lastMs)) throw inUse(busy, target);
      await new Promise((resolve) => setTimeout(resolve, RETRY_PAUSE_MS));
    }
  } finally {
    await turn.end();
  }
}

/** A folder that this process holds; closing it releases the folder. */
export async function placeOf(held: HeldFolder, name: string): Promise<Place> {
  const { host, runsWorker, definitions, target } = held;
  const place = await hostPlace(host, { name, shown: target.shown, isIdle: !runsWorker, definitions });
  return {
    ...place,
    close: async () => {
      await place.close();
      await held.close();
    },
  };
}

export interface HostPlaceOptions extends Pick<Place, 'shown' | 'isIdle'> {
  /** The caller. */
  readonly name: string;
  readonly definitions: readonly Definition[];
}

/** A place that this process has open; closing the place leaves that open. */
export async function hostPlace(host: Host, { name, shown, isIdle, definitions }: HostPlaceOptions): Promise<Place> {
  const { localApi } = await import('@tidemark/api/local-api');
  const { ports, client } = host;
  const principal = { ...LOCAL_PRINCIPAL, subject: name };
  const pendingCheckpoints = (workflow: WorkflowId) => host.pendingCheckpoints(workflow);
  const api = localApi({ place: { ports, client, isIdle, pendingCheckpoints }, definitions, principal });
  return {
    client: connect({ url: LOCAL_URL, shown, fetch: api.fetch, tries: 1 }),
    ...{ shown, kind: 'folder', holder: null, isIdle, fault: api.fault },
    close: async () => api.close(),
  };
}

/** A lasting place that this process doesn't hold. Undefined: nobody holds the folder. */
export const lastingPlace = async (session: Session, target: Target): Promise<Place | undefined> =>
  target.kind === 'server' ? openPlace(session, target) : holderPlace(target, ownName(session.env));

/** Says that nobody holds the folder, and waits for a holder. Undefined: interrupted first. */
export async function awaitHolder(session: Session, target: Target, signal: AbortSignal): Promise<Place | undefined> {
  const shown = target.kind === 'server' ? target.url : target.shown;
  session.terminal.note(`Nobody runs workflows in ${shown} now; waiting for tidemark dev or run.`);
  while (!signal.aborted) {
    const place = await lastingPlace(session, target);
    if (place !== undefined) return place;
    await new Promise((resolve) => setTimeout(resolve, HOLDER_POLL_MS));
  }
  return undefined;
}

/** For a folder that this process itself holds and serves, over its socket as other commands do. Throws `UnavailableError` (`holder-silent`). */
export async function ownPlace(target: Folder, name: string): Promise<Place> {
  const place = await holderPlace(target, name);
  if (place !== undefined) return place;
  throw new UnavailableError(
    'holder-silent',
    `The socket that this process has made in ${target.shown} does not answer.`,
  );
}

/** Undefined: nobody answers there. Throws `ConfigError` (`holder-differs`, `holder-silent`). */
export async function holderPlace({ folder, shown }: Folder, name: string): Promise<Place | undefined> {
  const client = connect({
    ...{ url: LOCAL_URL, shown },
    fetch: await folderFetch(folder),
    token: encodeURIComponent(name),
    tries: 1,
  });
  const signal = AbortSignal.timeout(HOLDER_ANSWER_MS);
  try {
    const { server } = await client.ask('GET /v1/me', {}, { signal });
    const { version, holder } = server;
    if (version !== OWN_VERSION) throw holderDiffers(shown, holder?.pid, version);
    return { client, shown, kind: 'folder', holder, isIdle: false, close: async () => {} };
  } catch (error) {
    if (signal.aborted) {
      const message = `A process holds ${shown} but does not answer on its socket. Wait for it, or end it.`;
      throw new ConfigError('holder-silent', message);
    }
    if (error instanceof TidemarkApiError && error.status === 0) return undefined;
    throw error;
  }
}

const holderDiffers = (shown: string, pid: number | undefined, version: string): ConfigError =>
  new ConfigError(
    'holder-differs',
    `Process ${pid} holds ${shown} and is version ${version} of Tidemark; this is ${OWN_VERSION}: use the same one, or end it.`,
    { pid },
  );

/** The default name of the caller. */
export function ownName({ USER: user }: Session['env']): string {
  if (user !== undefined && /\S/.test(user)) return user;
  try {
    return userInfo().username;
  } catch {
    return LOCAL_PRINCIPAL.subject;
  }
}

export const waitingFor = ({ kind, shown }: Place): string =>
  kind === 'server'
    ? `Still waiting for ${shown}. Is a coordinator running? tidemark admin doctor shows what is missing.`
    : `Still waiting for ${shown}.`;
