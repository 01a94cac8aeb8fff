/**
 * Owns the embedded default: one process, no servers. The log and its lock are in the folder, so a second process is refused before
 * anything else is opened. Rows in the folder are derived: the log rebuilds them.
 */

import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openFsObjects } from '@tidemark/blob-fs';
import { ConfigError, CorruptError } from '@tidemark/core';
import { KEYS_FILE, openSqliteKeys, openSqliteLog } from '@tidemark/log-sqlite';
import type { Embedder } from '@tidemark/memory';
import type { EventLog, KeyStore } from '@tidemark/ports';
import {
  createMemoryCalls,
  createMemoryHints,
  createMemoryLiveness,
  createMemoryQueue,
  createMemoryWatch,
} from '@tidemark/queue-memory';
import { lostTail, type OnSecret, systemClock } from '@tidemark/runtime';
import { openPgliteRebuild, openPgliteStore, type RebuildPurpose } from '@tidemark/store-postgres';
import type { MetricsSettings, TraceSettings } from '@tidemark/traces';
import type { CoordinatorRole, Host } from './host.ts';
import { hostOver, openMeasuring } from './host-over.ts';
import {
  type FolderKeys,
  historyKeyCount,
  openKeys,
  refuseTemporary,
  refuseWithoutKey,
  secretKeyCount,
} from './keys.ts';
import { Opened } from './opened.ts';
import { type Rebuild, type RebuildRole, rebuildOver } from './rebuild.ts';
import { refuseForeignState } from './state-folder.ts';
import { type Below, openBlobFolder } from './tiers.ts';

/** Partitions of a new folder; the pool grows by doubling. */
const EMBEDDED_PARTITIONS = 16;

export interface EmbeddedOptions extends FolderKeys {
  /** The folder of the state; created when missing. */
  readonly folder: string;
  /** Where traces are exported to; absent: nowhere. */
  readonly traces?: TraceSettings | undefined;
  /** Where metrics are sent to; absent: nowhere. */
  readonly metrics?: MetricsSettings | undefined;
  /** What happens to secrets in what workflows store, where their definition doesn't say; `report` by default. */
  readonly onSecret?: OnSecret | undefined;
  /** Called for stored secrets, once for each place, and for metrics that could not be sent (`metrics-unsent`). */
  readonly onWarning?: ((code: string, message: string) => void) | undefined;
  /** Finds memories by meaning; null or absent: by words alone. */
  readonly embedder?: Embedder | null | undefined;
  /** Bytes above which payloads are stored as blobs; 1 MiB by default. */
  readonly inlineMaxBytes?: number | undefined;
}

/**
 * Opens the folder and coordinates it: no other process can, and without it nothing that is started or reported would ever be in rows.
 * Throws `ConfigError` (in use, newer version, foreign, as `refuseForeignState`, `keys-missing`, as the key's provider does) or
 * `CorruptError` (damaged); the folder then stays untouched.
 */
export async function openEmbedded(given: EmbeddedOptions, role?: CoordinatorRole): Promise<Host> {
  const host = await openEmbeddedIdle(given);
  await host.startCoordinator(role);
  return host;
}

/** The same without a coordinator, for tests of what is there before one runs. */
export function openEmbeddedIdle(given: EmbeddedOptions): Promise<Host> {
  return Opened.all(async (opened) => {
    const { log, options } = await openLog(given, opened);
    const store = await opened.add(openPgliteStore({ folder: rowsIn(options) }));
    await store.ensure();
    await refuseLostLog(options.folder, log, store);
    const below = { ...(await openBelow(options, log, opened)), store };
    const ports = {
      queue: await opened.add(createMemoryQueue()),
      hints: await opened.add(createMemoryHints()),
      liveness: await opened.add(createMemoryLiveness()),
      watch: await opened.add(createMemoryWatch()),
      calls: await opened.add(createMemoryCalls(systemClock)),
    };
    const { metrics, traces, onSecret = 'report', onWarning } = options;
    // Without words there is nothing to embed.
    const embedder = options.memoryWords === 'off' ? null : (options.embedder ?? null);
    const telemetry = await openMeasuring({ metrics, traces, onWarning }, opened);
    return hostOver({ below, ports, telemetry, embedder, onSecret, onWarning, traces }, opened);
  });
}

/** Opens a rebuild of rows beside those of the folder, which nobody else may have open. Throws as `openEmbedded` does. */
export function openEmbeddedRebuild(
  given: EmbeddedOptions,
  purpose: RebuildPurpose,
  role: RebuildRole,
): Promise<Rebuild> {
  return Opened.all(async (opened) => {
    const { log, options } = await openLog(given, opened);
    const target = await opened.add(openPgliteRebuild(rowsIn(options), purpose));
    await refuseLostLog(options.folder, log, target);
    const below = await openBelow(options, log, opened);
    return rebuildOver(below, target, role, () => opened.close());
  });
}

const rowsIn = ({ folder }: EmbeddedOptions): string => path.join(folder, 'rows');

/** Opens the log, and settles, now that nobody else has it, with which of the given keys. */
async function openLog(
  given: EmbeddedOptions,
  opened: Opened,
): Promise<{ readonly log: EventLog; readonly options: EmbeddedOptions }> {
  if (typeof given.folder !== 'string' || given.folder === '') {
    throw new ConfigError('folder-missing', 'folder: name the folder that keeps the state, such as .tidemark.', {});
  }
  refuseForeignState(given.folder);
  const folder = path.join(given.folder, 'log');
  const log = await opened.add(openSqliteLog({ folder, partitions: EMBEDDED_PARTITIONS }));
  const options = await withSettledKey(given);
  if (keyOf(options) === '' && options.encryption !== 'off') await refuseSealed(options);
  return { log, options };
}

/** Throws `ConfigError` (`folder-plain`, `key-file-temporary`). */
async function withSettledKey(options: EmbeddedOptions): Promise<EmbeddedOptions> {
  const { folder, begins = true, encryption, secretsUrl = '' } = options;
  if (secretsUrl !== '' && (await hasNoKeys(options, secretKeyCount))) {
    refuseTemporary('TIDEMARK_SECRETS_KEYS_URL', secretsUrl, folder);
  }
  if (keyOf(options) === '' || (await isEncrypted(options))) return options;
  if (begins) {
    refuseTemporary('TIDEMARK_KEYS_URL', keyOf(options), folder);
    return options;
  }
  if (encryption !== 'on') return { ...options, keysUrl: '' };
  throw new ConfigError(
    'folder-plain',
    `TIDEMARK_ENCRYPTION is on, and ${folder} is not encrypted: a key in the environment alone doesn't begin it. Begin with: tidemark admin keys begin`,
    { folder },
  );
}

const keyOf = ({ keysUrl = '', encryption }: EmbeddedOptions): string => (encryption === 'off' ? '' : keysUrl);

const openKeyStore = ({ folder }: EmbeddedOptions): Promise<KeyStore> =>
  openSqliteKeys({ folder: path.join(folder, 'log') });

/** Archive and keys. */
async function openBelow(options: EmbeddedOptions, log: EventLog, opened: Opened): Promise<Omit<Below, 'store'>> {
  const { folder, inlineMaxBytes, secretsUrl, memoryWords } = options;
  const warm = await opened.add(openFsObjects({ folder: path.join(folder, 'archive') }));
  const blobs = await opened.add(openBlobFolder(folder));
  const isKeyless = keyOf(options) === '' && (await hasNoKeys(options));
  // Wrapped data keys lie beside the log, in a file of their own.
  const keys = await openKeys({ keysUrl: keyOf(options), secretsUrl }, opened, async () => {
    const store = await openKeyStore(options);
    return { store, all: () => store.list({}) };
  });
  if (keys.keys !== undefined) writeFileSync(markOf(options), '', { flag: 'a', mode: 0o600 });
  const refusesPlain = options.encryption === 'on';
  const views = { refusesPlain, isKeyless, memoryWords, blobs, inlineMaxBytes };
  return { log, clock: systemClock, archive: { warm }, ...keys, ...views };
}

async function refuseSealed(options: EmbeddedOptions): Promise<void> {
  await inKeyStore(options, { absent: undefined, use: refuseWithoutKey });
  if (!existsSync(markOf(options))) return;
  const message = `${options.folder} is encrypted, and TIDEMARK_KEYS_URL is not set: what is written would be plain text. Set it to the address of the key; or set TIDEMARK_ENCRYPTION=off if that is meant.`;
  throw new ConfigError('keys-missing', message, { folder: options.folder });
}

/** Says that a folder is encrypted, also before anything is, and where its keys were lost: it never becomes plain again by that. */
const markOf = ({ folder }: EmbeddedOptions): string => path.join(folder, 'log', 'encrypted');

const isEncrypted = async (options: EmbeddedOptions): Promise<boolean> =>
  existsSync(markOf(options)) || !(await hasNoKeys(options));

/** No other process writes to the folder meanwhile. */
const hasNoKeys = async (options: EmbeddedOptions, use = historyKeyCount): Promise<boolean> =>
  (await inKeyStore(options, { absent: 0, use })) === 0;

/** Does not create a missing store of keys. */
async function inKeyStore<T>(
  options: EmbeddedOptions,
  { absent, use }: { readonly absent: T; readonly use: (store: KeyStore) => Promise<T> },
): Promise<T> {
  if (!existsSync(path.join(options.folder, 'log', KEYS_FILE))) return absent;
  const store = await openKeyStore(options);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Rows that know more than the log prove that the log lost something, which only a copy of it can restore. */
async function refuseLostLog(folder: string, log: EventLog, rows: Parameters<typeof lostTail>[1]): Promise<void> {
  const lost = await lostTail(log, rows);
  if (lost === undefined) return;
  throw new CorruptError(
    'log-replaced',
    `The log in ${path.join(folder, 'log')} ends before what its rows hold (partition ${lost.partition}: ${lost.end} of ${lost.next} events): it was deleted, cut or replaced. Nothing was changed. Restore that folder from a copy; or delete ${path.join(folder, 'rows')} to continue with what the log still has.`,
    { folder, ...lost },
  );
}
