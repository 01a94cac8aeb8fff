/**
 * Owns what the refusals of AWS KMS mean: which of our errors each becomes, and what a person can do. Must not pass the SDK's error on: it
 * holds the answer that it was made from, and an answer may hold a data key.
 */

import { ConfigError, type TidemarkError, UnavailableError } from '@tidemark/core';

/** Longest text of a refusal that is passed on, in characters. */
const SAID_MAX_CHARS = 500;

/** The parts of the SDK's errors that say something; any of them may be missing. */
interface Fault {
  readonly name?: string;
  readonly code?: string;
  readonly message?: string;
  readonly $metadata?: { readonly httpStatusCode?: number; readonly requestId?: string };
}

const nameOf = (error: unknown): string => {
  const { name = '', code = '' } = error as Fault;
  return name === '' || name === 'Error' ? code : name;
};

/** Refusals that waiting does not mend, and what a person can do about each. */
const REFUSALS: Readonly<Record<string, string>> = {
  AccessDeniedException: 'the credentials may not use it',
  NotFoundException: 'there is no such key',
  DisabledException: 'the key is disabled',
  KMSInvalidStateException: 'the key is disabled or about to be deleted',
  InvalidKeyUsageException: 'the key is not for encryption',
  InvalidArnException: 'its name is not one of a key',
  ValidationException: 'KMS does not accept the request',
  UnrecognizedClientException: 'the access key is unknown',
  InvalidClientTokenId: 'the access key is unknown',
  InvalidSignatureException: 'the secret key is wrong',
  IncompleteSignature: 'the credentials are incomplete',
  MissingAuthenticationTokenException: 'the credentials are incomplete',
  OptInRequired: 'the account may not use KMS',
};

/** Refusals that may pass; unknown ones count as such. */
const TROUBLES: Readonly<Record<string, string>> = {
  ThrottlingException: 'KMS throttles: it asks for fewer requests',
  Throttling: 'KMS throttles: it asks for fewer requests',
  TooManyRequestsException: 'KMS throttles: it asks for fewer requests',
  LimitExceededException: 'KMS throttles: it asks for fewer requests',
  KeyUnavailableException: 'the key is not available at the moment',
  DependencyTimeoutException: 'KMS did not answer in time',
  ExpiredTokenException: 'the credentials have expired',
  CredentialsProviderError: 'no credentials were found',
  ECONNREFUSED: 'nothing answers there',
  ECONNRESET: 'the connection was cut',
  ENOTFOUND: 'the host is unknown',
  TimeoutError: 'KMS did not answer in time',
  AbortError: 'KMS did not answer in time',
};

const THROTTLES: ReadonlySet<string> = new Set(
  Object.keys(TROUBLES).filter((name) => TROUBLES[name] === TROUBLES.ThrottlingException),
);

/** Refusals whose text is passed on: it names the missing right and who lacks it. The text of others may quote the request. */
const REPORTED: ReadonlySet<string> = new Set([
  'AccessDeniedException',
  'NotFoundException',
  'DisabledException',
  'KMSInvalidStateException',
]);

/** KMS says that the ciphertext is not what this key made for this context. */
export const isWrong = (error: unknown): boolean =>
  ['InvalidCiphertextException', 'IncorrectKeyException'].includes(nameOf(error));

/** `key`: its name in messages. */
export function faultOf(key: string, error: unknown): TidemarkError {
  const { $metadata = {}, message = '' } = error as Fault;
  const reason = nameOf(error);
  const status = $metadata.httpStatusCode ?? null;
  const refusal = REFUSALS[reason] ?? (status === 403 ? REFUSALS.AccessDeniedException : undefined);
  const isThrottled = THROTTLES.has(reason) || status === 429;
  const trouble = isThrottled ? TROUBLES.ThrottlingException : TROUBLES[reason];
  const said = REPORTED.has(reason) ? message.slice(0, SAID_MAX_CHARS) : '';
  const text = `The key ${key} of AWS KMS: ${refusal ?? trouble ?? `it can't be used (${reason || 'no reason given'})`}`;
  const details = { key, reason, status, requestId: $metadata.requestId ?? null };
  if (refusal === undefined) return new UnavailableError('keys-unavailable', text, { ...details, isThrottled });
  return new ConfigError('key-refused', said === '' ? text : `${text}: ${said}`, details);
}

/** The key exists and can't be used for this. */
export const unfit = (key: string, why: string): ConfigError =>
  new ConfigError('key-refused', `The key ${key} of AWS KMS ${why}.`, { key });
