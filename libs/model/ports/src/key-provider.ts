/**
 * Owns the contract of key encryption keys: data keys are wrapped by a key that never leaves its provider, and unwrapped for
 * whoever may use it. Must not keep data keys, nor print them: no error tells one, nor what proves to the provider who asks.
 */

import { CorruptError, type TenantId, type WorkflowId } from '@tidemark/core';

/** What a wrapped key is bound to: unwrapping for another is refused. No secret: providers log it. */
export interface KeyContext {
  readonly tenant: TenantId;
  readonly workflow: WorkflowId;
}

export interface WrappedKey {
  /** Which provider's key wrapped it: `local`, `aws-kms`, `transit`; after `secrets:` where it seals fields that are marked secret. */
  readonly provider: string;
  /** Names the wrapping key, version included where the provider tells it; for people and for rotation. */
  readonly wrappedBy: string;
  /** The wrapped bytes, as the provider gave them, in base64 or the provider's own text. */
  readonly wrapped: string;
}

export interface KeyProvider {
  readonly name: WrappedKey['provider'];
  /** Names the key that wraps now; what is wrapped by another is to be rewrapped. Throws as `wrap` does. */
  current(): Promise<string>;
  /**
   * Twice the same bytes give different texts. Throws `UnavailableError` (`keys-unavailable`: away, slow or throttling) after some
   * tries, `ConfigError` (`key-refused`: no such key, not fit for this, or no right to it; or a code of the provider's own).
   */
  wrap(dataKey: Uint8Array, context: KeyContext): Promise<WrappedKey>;
  /**
   * The bytes are the caller's own. Throws as `wrap` does, and `CorruptError` (`key-wrong`: wrapped by another provider or by a key
   * that it doesn't have, for something else, or changed).
   */
  unwrap(key: WrappedKey, context: KeyContext): Promise<Uint8Array>;
  close(): Promise<void>;
}

const SECRETS = 'secrets:';

/** Whether the key seals fields that are marked secret, and not a history as a whole. */
export const isForSecrets = ({ provider }: Pick<WrappedKey, 'provider'>): boolean => provider.startsWith(SECRETS);

/** What the provider of that name is called for fields that are marked secret. */
export const nameForSecrets = (provider: string): string => `${SECRETS}${provider}`;

/** The provider of the keys that seal secret fields: who may use its key may read them. Its keys are told from others by its name. */
export const forSecrets = (provider: KeyProvider): KeyProvider => ({
  name: nameForSecrets(provider.name),
  current: () => provider.current(),
  async wrap(dataKey, context) {
    const wrapped = await provider.wrap(dataKey, context);
    return { ...wrapped, provider: nameForSecrets(wrapped.provider) };
  },
  unwrap: (key, context) => provider.unwrap({ ...key, provider: key.provider.slice(SECRETS.length) }, context),
  close: () => provider.close(),
});

/** Bytes of a data key: AES-256. */
export const DATA_KEY_BYTES = 32;

/** What `unwrap` throws. `why` goes on after "the data key of workflow …". */
export const keyWrong = (key: WrappedKey, { tenant, workflow }: KeyContext, why: string): CorruptError =>
  new CorruptError('key-wrong', `The data key of workflow ${workflow} ${why}; it was wrapped by ${nameOf(key)}.`, {
    tenant,
    workflow,
    provider: key.provider,
    wrappedBy: key.wrappedBy,
  });

const nameOf = ({ provider, wrappedBy }: WrappedKey): string => `${provider} ${wrappedBy}`;
