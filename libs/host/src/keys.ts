/**
 * Owns how history is encrypted, by the address of the key that wraps data keys: `file:///PATH/keys.json`,
 * `aws-kms:KEY?region=…` (a key's id, ARN or alias; credentials as the AWS SDK finds them), or
 * `transit:https://HOST:PORT/MOUNT/KEY?tokenFile=…` for OpenBao and Vault. No secret belongs into an address.
 */

import { fileURLToPath } from 'node:url';
import { ConfigError } from '@tidemark/core';
import { openAwsKmsKeys } from '@tidemark/keys-aws-kms';
import { openFileKeys } from '@tidemark/keys-file';
import { openTransitKeys } from '@tidemark/keys-transit';
import { forSecrets, type KeyProvider, type KeyStore } from '@tidemark/ports';
import { DataKeys, systemClock, systemPrng, WorkflowKeys } from '@tidemark/runtime';
import type { Opened } from './opened.ts';

/** What encrypts in a process: histories, or fields that are marked as secret. */
export interface Keys {
  readonly data: DataKeys;
  readonly workflows: WorkflowKeys;
  readonly provider: KeyProvider;
  readonly store: KeyStore;
}

/** Throws `ConfigError` (`keys-address-invalid`), or as the providers do. */
export async function openProvider(address: string, setting: string): Promise<KeyProvider> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol === 'file:') return openFileKeys({ file: fileURLToPath(url) });
  if (url?.protocol === 'aws-kms:' && url.pathname !== '') {
    const [region, endpoint] = [url.searchParams.get('region'), url.searchParams.get('endpoint')];
    if (region !== null) {
      return openAwsKmsKeys({
        keyId: decodeURIComponent(url.pathname),
        region,
        ...(endpoint !== null && { endpoint }),
      });
    }
  }
  if (url?.protocol === 'transit:' && URL.canParse(url.pathname)) {
    const { origin, pathname } = new URL(url.pathname);
    const parts = pathname.split('/').filter((part) => part !== '');
    const [key, mount] = [parts.at(-1), parts.slice(0, -1).join('/')];
    const tokenFile = url.searchParams.get('tokenFile');
    if (key !== undefined && mount !== '' && tokenFile !== null) {
      return openTransitKeys({ address: origin, mount, key, tokenFile });
    }
  }
  throw new ConfigError(
    'keys-address-invalid',
    `${setting} must be file:///PATH/keys.json, aws-kms:KEY?region=REGION or transit:https://HOST:PORT/MOUNT/KEY?tokenFile=PATH; no secret belongs into it.`,
    { setting },
  );
}

/** What a process was given keys for. */
export interface AllKeys {
  /** Absent: histories are not encrypted. */
  readonly keys?: Keys | undefined;
  /** Absent: secret fields can neither be written nor read. */
  readonly secrets?: Keys | undefined;
}

/** Addresses of both keys; empty: none. */
export interface KeyAddresses {
  readonly keysUrl?: string | undefined;
  readonly secretsUrl?: string | undefined;
}

/** Both kinds of data keys are in one store, which is opened where there is a key. Throws as `openProvider` and `openStore` do. */
export async function openKeys(
  { keysUrl = '', secretsUrl = '' }: KeyAddresses,
  opened: Opened,
  openStore: () => Promise<KeyStore>,
): Promise<AllKeys> {
  if (keysUrl === '' && secretsUrl === '') return {};
  const store = await opened.add(openStore());
  const over = (provider: KeyProvider): Keys => {
    const data = new DataKeys({ provider, store, clock: systemClock, prng: systemPrng });
    return { data, workflows: new WorkflowKeys(data, store), provider, store };
  };
  const open = (address: string, setting: string) => opened.add(openProvider(address, setting));
  return {
    keys: keysUrl === '' ? undefined : over(await open(keysUrl, 'TIDEMARK_KEYS_URL')),
    secrets: secretsUrl === '' ? undefined : over(forSecrets(await open(secretsUrl, 'TIDEMARK_SECRETS_KEYS_URL'))),
  };
}
