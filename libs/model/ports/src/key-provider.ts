/**
 * Owns the contract of key encryption keys. A key that never leaves its provider wraps data keys, and unwraps them for callers who may use
 * it. Must not keep data keys, nor print them: no error quotes one, nor the credentials that the provider was given.
 */

import { CorruptError, type TenantId, type WorkflowId } from '@tidemark/core';

/** What a wrapped key is bound to: unwrapping it with another context is refused. Not secret: providers log it. */
export interface KeyContext {
  readonly tenant: TenantId;
  readonly workflow: WorkflowId;
}

export interface WrappedKey {
  /** The provider that wrapped it: `local`, `aws-kms`, `transit`; prefixed with `secrets:` when it seals fields that are marked secret. */
  readonly provider: string;
  /** Names the wrapping key, with its version where the provider reports it; for people and for rotation. */
  readonly wrappedBy: string;
  /** The wrapped bytes as the provider returned them, in base64 or the provider's own text. */
  readonly wrapped: string;
}

export interface KeyProvider {
  readonly name: WrappedKey['provider'];
  /** Names the key that wraps now. A data key that another one wrapped has to be rewrapped. Throws as `wrap` does. */
  current(): Promise<string>;
  /**
   * Wrapping the same bytes twice gives different texts. Throws `UnavailableError` (`keys-unavailable`: unreachable, slow or throttling)
   * after some tries, `ConfigError` (`key-refused`: no such key, unsuitable, or no right to it; or a code of the provider).
   */
  wrap(dataKey: Uint8Array, context: KeyContext): Promise<WrappedKey>;
  /**
   * The caller owns the returned bytes. Throws as `wrap` does, and `CorruptError` (`key-wrong`: wrapped by another provider or by a key
   * that it doesn't have, for another context, or changed).
   */
  unwrap(key: WrappedKey, context: KeyContext): Promise<Uint8Array>;
  close(): Promise<void>;
}

const SECRETS = 'secrets:';

/** Whether the key seals fields that are marked secret, rather than a whole history. */
export const isForSecrets = ({ provider }: Pick<WrappedKey, 'provider'>): boolean => provider.startsWith(SECRETS);

/** The provider's name for keys that seal fields that are marked secret. */
export const nameForSecrets = (provider: string): string => `${SECRETS}${provider}`;

/** The provider for keys that seal secret fields: a process that may use its key may read them. The name distinguishes its keys from others. */
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

/** The error of `unwrap`. `why` completes the sentence "the data key of workflow …". */
export const keyWrong = (key: WrappedKey, { tenant, workflow }: KeyContext, why: string): CorruptError =>
  new CorruptError('key-wrong', `The data key of workflow ${workflow} ${why}; it was wrapped by ${nameOf(key)}.`, {
    tenant,
    workflow,
    provider: key.provider,
    wrappedBy: key.wrappedBy,
  });

const nameOf = ({ provider, wrappedBy }: WrappedKey): string => `${provider} ${wrappedBy}`;
