/** Owns a state folder that a command holds itself: opening it, running workflows in it, releasing it. Commands that use another process do not load this. */

import { existsSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, CorruptError, InvalidError, type TidemarkError, UnavailableError } from '@tidemark/core';
import {
  embedderIn,
  folderKeysFromEnv,
  type Host,
  hotMsFromEnv,
  installedEmbedder,
  onSecretFromEnv,
  openEmbedded,
} from '@tidemark/host';
import { type Definition, haveRows, type Ports, type WorkerOptions } from '@tidemark/runtime';
import { metricsSettings, traceSettings } from '@tidemark/traces';
import { MIRRORS_WAIT_MS, RETRY_PAUSE_MS } from '../limits.ts';
import type { Session } from '../session.ts';
import type { Folder } from './folder.ts';
import { serveFolder } from './folder-socket.ts';
import { noticeStall } from './stall.ts';
import { awaitMirrors } from './turn.ts';

/** Workflows that `dev` and `run` run at once. */
const CONCURRENCY_COUNT = 100;
/** Longest wait, in milliseconds, for rows to hold all of the log when a folder is opened. */
const CATCH_UP_MAX_MS = 120_000;

type WorkerHooks = Pick<WorkerOptions, 'onError' | 'onResume' | 'onDelta'>;

/** A folder that this process holds, with a coordinator in it. */
export class HeldFolder {
  readonly host: Host;
  readonly target: Folder;
  /** Definitions that it runs, or only knows. */
  readonly definitions: readonly Definition[];
  runsWorker = false;
  readonly #served: { close(): Promise<void> }[] = [];
  readonly #heldAtMs = Date.now();
  #closed: Promise<void> | undefined;

  constructor(host: Host, target: Folder, definitions: readonly Definition[]) {
    this.host = host;
    this.target = target;
    this.definitions = definitions;
  }

  /** Runs its workflows from now on, and where mirrors waited for a holder once they have taken what others did until then: it isn't done twice. */
  async startWorker(hooks: WorkerHooks): Promise<void> {
    this.runsWorker = true;
    const isServed = this.#served.length > 0;
    if (isServed && !(await awaitMirrors(this.target.folder, this.#heldAtMs, MIRRORS_WAIT_MS))) {
      const message = `A mirror of ${this.target.shown} (tidemark files mirror) has not taken what was written to its files: steps begin without that, and may repeat what was done there.`;
      hooks.onError?.('mirror', new UnavailableError('mirror-silent', message));
    }
    const build = this.target.env.TIDEMARK_BUILD || undefined;
    await this.host.startWorker({ definitions: this.definitions, concurrency: CONCURRENCY_COUNT, build, ...hooks });
  }

  /**
   * Archives what is no longer hot from now on, at a compactor's pace, so that the log doesn't grow forever; ends with the folder. Throws
   * `ConfigError` (`setting-invalid`).
   */
  startCompactor(onError: (where: string, error: unknown) => void): void {
    this.host.compactor({ policy: { hotMs: hotMsFromEnv(this.target.env) }, onError }).start();
  }

  /** Answers other commands on the folder from now on. */
  async serve(command: string, onError?: (where: string, error: unknown) => void): Promise<void> {
    const { host, definitions, target } = this;
    this.closeFirst(await serveFolder({ folder: target.folder, host, definitions, command, onError }));
  }

  /** It is closed before the folder is. */
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

/** `otlp`: where traces go, instead of `env`'s setting. Throws `ConfigError` (`setting-invalid`). */
export const folderSettings = (env: Folder['env'], otlp?: string) => ({
  ...folderKeysFromEnv(env),
  onSecret: onSecretFromEnv(env),
  traces: traceSettings(env, otlp),
  metrics: metricsSettings(env),
});

export interface HoldOptions {
  /** Where traces are exported to; absent: as the environment says. */
  readonly otlp?: string | undefined;
  readonly definitions?: readonly Definition[];
  /** Begins to encrypt a folder whose history is plain, with the key that the environment names. */
  readonly begins?: boolean | undefined;
  /** Called for every failure that was survived. */
  readonly onError?: ((where: string, error: unknown) => void) | undefined;
}

/** Holds the folder: opens it, coordinates, and returns once its rows hold all of its log. Throws `ConfigError` (`setting-invalid`). */
export async function holdFolder(
  target: Folder,
  { definitions = [], onError, otlp, begins = false }: HoldOptions = {},
): Promise<HeldFolder> {
  const { folder, env } = target;
  const embedder = embedderIn(env.TIDEMARK_EMBEDDER_FOLDER) ?? installedEmbedder(env);
  const onWarning = (code: string, message: string): void =>
    onError?.(code === 'metrics-unsent' ? 'metrics' : 'secrets', new InvalidError(code, message));
  // The projector survives it and retries, so nobody would learn why the rows stay behind.
  let damage: TidemarkError | undefined;
  let isOpen = false;
  const onFailure = (where: string, error: unknown): void => {
    const isLasting = error instanceof CorruptError || error instanceof ConfigError;
    if (isLasting && !isOpen) damage ??= error;
    else onError?.(where, error);
  };
  const options = { ...folderSettings(env, otlp), begins, folder, embedder, onWarning };
  const host = await openEmbedded(options, { onError: onFailure });
  try {
    await catchUp(host.ports, target.shown, () => damage);
    isOpen = true;
    return new HeldFolder(host, target, definitions);
  } catch (error) {
    await host.close();
    throw error;
  }
}

/** Says once that a folder stays plain although the environment names a key. */
export function noteStaysPlain({ terminal }: Session, { host, target }: HeldFolder): void {
  const { TIDEMARK_KEYS_URL: named = '', TIDEMARK_ENCRYPTION: wanted } = target.env;
  if (host.keys !== undefined || named === '' || wanted === 'off') return;
  const message = `TIDEMARK_KEYS_URL is set, but ${target.shown} is not encrypted and stays so: tidemark admin keys begin encrypts what is written from then on.`;
  terminal.note(message);
}

/** As `holdFolder`, with a message to people where it takes long. */
export function holdNoticed(session: Session, target: Folder, options: HoldOptions): Promise<HeldFolder> {
  const isNew = !existsSync(path.join(target.folder, 'log'));
  const why = isNew ? '' : ': what its rows lack, or all of them where they are lost, is rebuilt from its log first';
  return noticeStall(session, `Still opening ${target.shown}${why}.`, holdFolder(target, options));
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

/** True once rows hold all of the current log and placements are rebuilt. */
async function isCaughtUp({ log, store }: Ports): Promise<boolean> {
  return (await store.ready()) && (await haveRows(store, await log.bounds()));
}
