/**
 * Owns the KeyProvider on the transit engine of OpenBao and Vault: the engine encrypts and decrypts data keys, with tenant and workflow as
 * associated data. A wrapping key is named `mount/key:vN`. Rotating the key in the engine, or naming another, is a rotation here, and the
 * older versions still unwrap until the key's `min_decryption_version` is raised. (The engine's own `rewrap` takes no associated data, so
 * wrapping again is unwrapping and wrapping.)
 *
 * The token needs `update` on `MOUNT/encrypt/KEY` and `MOUNT/decrypt/KEY`, and `read` on `MOUNT/keys/KEY`. It must not have `create`: the
 * engine would then silently create a deleted key again.
 */

import { ConfigError, canonicalJson } from '@tidemark/core';
import { type KeyContext, type KeyProvider, keyWrong, type WrappedKey } from '@tidemark/ports';
import { z } from 'zod';
import { originOf, TransitClient, type TransitRequest } from './transit-client.ts';
import { isByPolicy, isWithoutKey, type Refusal, refused, unfit } from './transit-faults.ts';
import { TokenSource, type TransitToken } from './transit-token.ts';

export type TransitKeysOptions = TransitToken & {
  /** `https://host:8200`. */
  readonly address: string;
  /** Where the engine is mounted. Default `transit`. */
  readonly mount?: string;
  /** Name of a key that authenticates what it encrypts, such as one of type `aes256-gcm96`. */
  readonly key: string;
  /** Namespace, for servers that have them. */
  readonly namespace?: string;
  /** Longest wait for an answer, in milliseconds. */
  readonly requestTimeoutMs?: number;
  /** Attempts of one request, the first included. */
  readonly attemptsMax?: number;
};

/**
 * Checks the key with one request. Throws `ConfigError` (`key-address-invalid`, `key-name-invalid`, `key-token-invalid`, `key-refused`: the
 * key is missing or of the wrong type, or the token may not use it) and `UnavailableError` (`keys-unavailable`).
 */
export async function openTransitKeys(options: TransitKeysOptions): Promise<KeyProvider> {
  const { mount = 'transit', key, namespace, requestTimeoutMs, attemptsMax } = options;
  const name: KeyName = { mount: checkedName('mount', MOUNT, mount), key: checkedName('key', KEY, key) };
  const address = originOf(options.address);
  const tokens = new TokenSource(options);
  const client = new TransitClient({ address, tokens, namespace, requestTimeoutMs, attemptsMax });
  const keys = new TransitKeys(client, name);
  await keys.current();
  return keys;
}

const PROVIDER = 'transit';
/** Types of key that bind a ciphertext to its associated data. */
const AUTHENTICATING = ['aes128-gcm96', 'aes256-gcm96', 'chacha20-poly1305', 'xchacha20-poly1305'];

const MOUNT = /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/;
const KEY = /^\w(?:[\w.-]*\w)?$/;
const WRAPPED_BY = /^([\w./-]+)\/([\w.-]+):v([1-9][0-9]*)$/;
const CIPHERTEXT = /^vault:v([1-9][0-9]*):[A-Za-z0-9+/]+={0,2}$/;

const keySchema = z.object({
  data: z.object({ type: z.string(), latest_version: z.int().min(1), derived: z.boolean().default(false) }),
});
const encryptedSchema = z.object({ data: z.object({ ciphertext: z.string().regex(CIPHERTEXT) }) });
const decryptedSchema = z.object({ data: z.object({ plaintext: z.base64() }) });

interface KeyName {
  readonly mount: string;
  readonly key: string;
}

class TransitKeys implements KeyProvider {
  readonly name = PROVIDER;
  readonly #client: TransitClient;
  readonly #own: KeyName;

  constructor(client: TransitClient, own: KeyName) {
    this.#client = client;
    this.#own = own;
  }

  async current(): Promise<string> {
    const { mount, key } = this.#own;
    const where = nameOf(this.#own);
    const { data } = await this.#answered({ path: `${mount}/keys/${key}`, answer: keySchema, where });
    if (!AUTHENTICATING.includes(data.type)) {
      throw unfit(where, `is of type ${data.type}; one of ${AUTHENTICATING.join(', ')} is needed`);
    }
    if (data.derived) throw unfit(where, 'derives keys from a context; one that does not is needed');
    return versionName(this.#own, data.latest_version);
  }

  async wrap(dataKey: Uint8Array, context: KeyContext): Promise<WrappedKey> {
    const { mount, key } = this.#own;
    const body = { plaintext: base64(dataKey), associated_data: boundTo(context) };
    const where = nameOf(this.#own);
    const { data } = await this.#answered({ path: `${mount}/encrypt/${key}`, body, answer: encryptedSchema, where });
    const version = Number(CIPHERTEXT.exec(data.ciphertext)![1]);
    return { provider: PROVIDER, wrappedBy: versionName(this.#own, version), wrapped: data.ciphertext };
  }

  async unwrap(key: WrappedKey, context: KeyContext): Promise<Uint8Array> {
    if (key.provider !== PROVIDER) throw keyWrong(key, context, 'is not for a transit engine');
    // The recorded key, which may be older than the one that wraps by now.
    const [, mount = '', name = '', version] = WRAPPED_BY.exec(key.wrappedBy) ?? [];
    const isNamed = MOUNT.test(mount) && KEY.test(name) && !hasDots(mount);
    if (!isNamed || CIPHERTEXT.exec(key.wrapped)?.[1] !== version) throw keyWrong(key, context, 'was changed');
    const body = { ciphertext: key.wrapped, associated_data: boundTo(context) };
    const where = nameOf({ mount, key: name });
    const answer = await this.#client.ask({ path: `${mount}/decrypt/${name}`, body, answer: decryptedSchema, where });
    if ('refusal' in answer) throw notUnwrapped(answer.refusal, where, key, context);
    return new Uint8Array(Buffer.from(answer.data.data.plaintext, 'base64'));
  }

  async close(): Promise<void> {
    this.#client.close();
  }

  async #answered<T>(request: TransitRequest<T>): Promise<T> {
    const answer = await this.#client.ask(request);
    if ('refusal' in answer) throw refused(request.where, answer.refusal);
    return answer.data;
  }
}

function notUnwrapped(refusal: Refusal, where: string, key: WrappedKey, context: KeyContext): Error {
  const { status, said } = refusal;
  if (status !== 400) return refused(where, refusal);
  if (isWithoutKey(said)) return refused(where, { status: 404, said });
  if (isByPolicy(said)) return unfit(where, 'no longer decrypts with this version (min_decryption_version)');
  return keyWrong(key, context, 'belongs to something else or was changed');
}

function checkedName(field: 'mount' | 'key', form: RegExp, name: string): string {
  if (form.test(name) && !hasDots(name)) return name;
  const message = `${field}: '${name}' is not a name of a transit engine's ${field}.`;
  throw new ConfigError('key-name-invalid', message, { field });
}

/** Such a part would lead to another path of the server. */
const hasDots = (name: string): boolean => name.split('/').some((part) => part === '.' || part === '..');

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const boundTo = ({ tenant, workflow }: KeyContext): string => base64(Buffer.from(canonicalJson({ tenant, workflow })));
const nameOf = ({ mount, key }: KeyName): string => `${mount}/${key}`;
const versionName = (name: KeyName, version: number): string => `${nameOf(name)}:v${version}`;
