/**
 * Owns how history is encrypted, by the address of the key that wraps data keys: `file:///PATH/keys.json`, `aws-kms:KEY?region=…` (a key's
 * id, ARN or alias; the AWS SDK finds the credentials), or `transit:https://HOST:PORT/MOUNT/KEY?tokenFile=…` for OpenBao and Vault. An
 * address must not contain a secret.
 */

import { realpathSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigError } from '@tidemark/core';
import { FILE_KEYS, openFileKeys } from '@tidemark/keys-file';
import { openTransitKeys } from '@tidemark/keys-transit';
import {
  forSecrets,
  isForSecrets,
  type KeyProvider,
  type KeyStore,
  nameForSecrets,
  type StoredKey,
} from '@tidemark/ports';
import { DataKeys, systemClock, systemPrng, WorkflowKeys } from '@tidemark/runtime';
import { clusterPackage } from '@tidemark/traces';
import type { Opened } from './opened.ts';

/** What a process encrypts: histories, or fields that are marked as secret. */
export interface Keys {
  readonly data: DataKeys;
  readonly workflows: WorkflowKeys;
  readonly provider: KeyProvider;
  readonly store: KeyStore;
  /** The absolute path of the key file; undefined: its keys are stored and rotated elsewhere. */
  readonly file: string | undefined;
}

/**
 * `fileKeysCount`: how many data keys need a key file already; a file is created only where none does. Throws `ConfigError`
 * (`keys-address-invalid`), or as the providers do.
 */
async function openProvider(
  address: string,
  setting: string,
  fileKeysCount: () => Promise<number>,
): Promise<KeyProvider> {
  const file = fileIn(address);
  if (file !== undefined) return openFileKeys({ file, neededBy: fileKeysCount });
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol === 'aws-kms:' && url.pathname !== '') {
    const [region, endpoint] = [url.searchParams.get('region'), url.searchParams.get('endpoint')];
    if (region !== null && isPlain(endpoint)) {
      const { openAwsKmsKeys } = await (await clusterPackage(`${setting}=aws-kms:`)).awsKmsKeys();
      return openAwsKmsKeys({
        keyId: decodeURIComponent(url.pathname),
        region,
        ...(endpoint !== null && { endpoint }),
      });
    }
  }
  if (url?.protocol === 'transit:' && URL.canParse(url.pathname)) {
    const { origin, pathname } = new URL(url.pathname);
    const isFit = isPlain(url.pathname);
    const parts = pathname.split('/').filter((part) => part !== '');
    const [key, mount] = [parts.at(-1), parts.slice(0, -1).join('/')];
    const tokenFile = url.searchParams.get('tokenFile');
    if (key !== undefined && mount !== '' && tokenFile !== null && isFit) {
      return openTransitKeys({ address: origin, mount, key, tokenFile });
    }
  }
  throw new ConfigError(
    'keys-address-invalid',
    `${setting} must be file:///PATH/keys.json, aws-kms:KEY?region=REGION or transit:https://HOST:PORT/MOUNT/KEY?tokenFile=PATH; no secret belongs into it.`,
    { setting },
  );
}

/** Without credentials, which would be ignored. */
function isPlain(address: string | null): boolean {
  const url = URL.parse(address ?? '');
  return url === null || (url.username === '' && url.password === '');
}

/** Undefined: the address is not one of a file. */
const fileIn = (address: string): string | undefined =>
  URL.canParse(address) && new URL(address).protocol === 'file:' ? fileURLToPath(address) : undefined;

/** Keys that a process was given. */
export interface AllKeys {
  /** Absent: histories are not encrypted. */
  readonly keys?: Keys | undefined;
  /** Absent: secret fields can neither be written nor read. */
  readonly secrets?: Keys | undefined;
}

export interface KeyAddresses {
  /** Of the key that wraps data keys; empty or absent: nothing is encrypted. */
  readonly keysUrl?: string | undefined;
  /** Of the key of secret fields; empty or absent: definitions that have some are refused. */
  readonly secretsUrl?: string | undefined;
}

/** Keys with which a folder is opened. A folder with encrypted history is refused without its key, unless `encryption` is `off`. */
export interface FolderKeys extends KeyAddresses {
  /** `off`: no key for histories, even where some are encrypted. */
  readonly encryption?: 'on' | 'off' | undefined;
  /** `off`: rows have no words of memories. */
  readonly memoryWords?: 'on' | 'off' | undefined;
  /** False: a folder whose history is plain stays so, although a key is named. Default true: the named key begins to encrypt it. */
  readonly begins?: boolean | undefined;
}

/**
 * The settings of a folder's keys. They don't begin to encrypt one: an environment is easily another's, such as that of a cluster that was
 * tried before, and what was sealed is lost with its key. Throws `ConfigError` (`setting-invalid`).
 */
export function folderKeysFromEnv(env: Readonly<Record<string, string | undefined>>): FolderKeys {
  const { TIDEMARK_KEYS_URL: keysUrl, TIDEMARK_SECRETS_KEYS_URL: secretsUrl } = env;
  const [encryption, memoryWords] = [onOrOff('TIDEMARK_ENCRYPTION', env), onOrOff('TIDEMARK_MEMORY_WORDS', env)];
  return { encryption, keysUrl, secretsUrl, memoryWords, begins: false };
}

function onOrOff(setting: string, env: Readonly<Record<string, string | undefined>>): 'on' | 'off' | undefined {
  const value = env[setting];
  if (value === undefined || value === 'on' || value === 'off') return value;
  throw new ConfigError('setting-invalid', `${setting} must be on or off.`);
}

/**
 * Throws `ConfigError` (`key-file-temporary`): a key file that a restart removes takes with it all that it sealed. State in such a place is
 * no better than its key.
 */
export function refuseTemporary(setting: string, address: string, folder: string): void {
  const file = fileIn(address);
  if (file === undefined || !isTemporary(file) || isTemporary(folder)) return;
  const message = `${setting}: ${file} is in a folder for temporary files, and what it seals in ${folder} could never be read again without it. Name a place that stays.`;
  throw new ConfigError('key-file-temporary', message, { setting, file });
}

/** Docker, Podman and Kubernetes mount secrets below `/run/secrets` from a place that stays. */
function isTemporary(place: string): boolean {
  const found = realPath(path.resolve(place));
  const isBelow = (folder: string): boolean => {
    const inside = path.relative(realPath(folder), found);
    return inside === '' || !(inside.startsWith('..') || path.isAbsolute(inside));
  };
  return [os.tmpdir(), '/tmp', '/var/tmp', '/dev/shm', '/run'].some(isBelow) && !MOUNTED.some(isBelow);
}

const MOUNTED = ['/run/secrets', '/var/run/secrets'];

/** Of what exists of it. */
function realPath(place: string): string {
  try {
    return realpathSync(place);
  } catch {
    const above = path.dirname(place);
    return above === place ? place : path.join(realPath(above), path.basename(place));
  }
}

/** How many keys of histories the store holds. */
export const historyKeyCount = (store: KeyStore): Promise<number> => count(store.list({}), (key) => !isForSecrets(key));
/** How many keys of secret fields it holds. */
export const secretKeyCount = (store: KeyStore): Promise<number> => count(store.list({}), isForSecrets);

/** Throws `ConfigError` (`keys-missing`) where the store holds keys of histories: without one the process would write plain text beside sealed records. */
export async function refuseWithoutKey(store: KeyStore): Promise<void> {
  const found = await historyKeyCount(store);
  if (found === 0) return;
  const keys = found === 1 ? '1 data key' : `${found} data keys`;
  throw new ConfigError(
    'keys-missing',
    `History here is encrypted (${keys} in ${store.place}), and TIDEMARK_KEYS_URL is not set: what was said could not be read, and what is written would be plain text. Set it to the address of the key; or set TIDEMARK_ENCRYPTION=off if that is meant.`,
    { place: store.place, count: found },
  );
}

/** A key store, and a reader of all of it that works before anything else exists, such as tables. */
export interface OpenedKeyStore {
  readonly store: KeyStore;
  readonly all: () => AsyncIterable<StoredKey>;
}

/** Both kinds of data keys are in one store, which is opened where there is a key. Throws as `openProvider` and `openStore` do. */
export async function openKeys(
  { keysUrl = '', secretsUrl = '' }: KeyAddresses,
  opened: Opened,
  openStore: () => Promise<OpenedKeyStore>,
): Promise<AllKeys> {
  if (keysUrl === '' && secretsUrl === '') return {};
  const { store, all } = await openStore();
  await opened.add(store);
  const over = (provider: KeyProvider, address: string): Keys => {
    const data = new DataKeys({ provider, store, clock: systemClock, prng: systemPrng });
    return { data, workflows: new WorkflowKeys(data, store), provider, store, file: fileIn(address) };
  };
  const open = (address: string, setting: string, fileKeys: string) =>
    opened.add(openProvider(address, setting, () => count(all(), ({ provider }) => provider === fileKeys)));
  const openHistory = () => open(keysUrl, 'TIDEMARK_KEYS_URL', FILE_KEYS);
  const openSecrets = () => open(secretsUrl, 'TIDEMARK_SECRETS_KEYS_URL', nameForSecrets(FILE_KEYS));
  return {
    keys: keysUrl === '' ? undefined : over(await openHistory(), keysUrl),
    secrets: secretsUrl === '' ? undefined : over(forSecrets(await openSecrets()), secretsUrl),
  };
}

async function count(keys: AsyncIterable<StoredKey>, isMeant: (key: StoredKey) => boolean): Promise<number> {
  let found = 0;
  for await (const key of keys) if (isMeant(key)) found++;
  return found;
}

export const keysMissing = (): ConfigError =>
  new ConfigError('keys-missing', 'Nothing is encrypted here: TIDEMARK_KEYS_URL is not set.');
