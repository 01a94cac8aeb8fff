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
import type { Clock, KeyProvider, KeyStore, Prng } from '@tidemark/ports';
import { DataKeys, WorkflowKeys } from '@tidemark/runtime';

/** What encrypts in a process. */
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

export function keysOver(provider: KeyProvider, store: KeyStore, clock: Clock, prng: Prng): Keys {
  const data = new DataKeys({ provider, store, clock, prng });
  return { data, workflows: new WorkflowKeys(data, store), provider, store };
}
