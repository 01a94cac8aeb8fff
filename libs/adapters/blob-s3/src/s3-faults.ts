/** Owns what an S3 server's refusals mean: which of our errors each becomes, and what a person can do. Holds no credentials. */

import { ConfigError, type TidemarkError, UnavailableError } from '@tidemark/core';

/** What the bucket stores: names it in messages, and begins the codes of its errors. */
export type BucketUse = 'object' | 'blob';

/** The parts of the SDK's errors that say something; any of them may be missing. */
interface Fault {
  readonly name?: string;
  readonly code?: string;
  readonly message?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

export const statusOf = (error: unknown): number | undefined => (error as Fault).$metadata?.httpStatusCode;

/** Node's codes for a broken connection, and the SDK's for a timeout. */
const BROKEN = ['ECONNRESET', 'EPIPE'];

export function nameOf(error: unknown): string {
  const { name = '', code = '' } = error as Fault;
  return name === '' || name === 'Error' || BROKEN.includes(code) ? code : name;
}

/** The object is missing. An answer to `HEAD` has no body, so its status alone says so. */
export const isMissing = (error: unknown): boolean =>
  ['NoSuchKey', 'NotFound'].includes(nameOf(error)) || (statusOf(error) === 404 && nameOf(error) !== 'NoSuchBucket');

/** The object exists (`If-None-Match`), or two write it at this moment. */
export const isThere = (error: unknown): boolean => statusOf(error) === 412 || statusOf(error) === 409;

/** The same fault under a name that says what it means here. */
export function renamed(error: unknown, name: string): Error {
  const { $metadata } = error as Fault;
  return Object.assign(new Error(name, { cause: error }), { name, $metadata });
}

/** Errors that a person can do something about. */
const REASONS: Readonly<Record<string, string>> = {
  NoSuchBucket: 'the bucket does not exist',
  AccessDenied: 'the credentials may not do this',
  InvalidAccessKeyId: 'the access key is unknown',
  SignatureDoesNotMatch: 'the secret key is wrong',
  ExpiredToken: 'the credentials have expired',
  CredentialsProviderError: 'no credentials were found',
  PermanentRedirect: 'the bucket is in another region',
  InsufficientStorage: 'the store is full',
  QuotaExceeded: 'the quota is used up',
  SlowDown: 'the store asks for fewer requests',
  PreconditionFailed: 'something else is in the way, such as a folder',
  ConditionalRequestConflict: 'others keep writing the same',
  RestoreRefused: 'the store refuses to restore what is in this archive class',
  ECONNREFUSED: 'nothing answers there',
  ENOTFOUND: 'the host is unknown',
  ECONNRESET: 'the connection broke',
  EPIPE: 'the connection broke',
  TimeoutError: 'it did not answer in time',
  AbortError: 'it did not answer in time',
};

/** Wrong settings, which waiting does not mend. */
const SETTINGS = ['NoSuchBucket', 'InvalidAccessKeyId', 'SignatureDoesNotMatch', 'PermanentRedirect'];

function reasonOf(error: unknown): string {
  const status = statusOf(error);
  if (status === 507) return REASONS.InsufficientStorage!;
  if (status === 403 && REASONS[nameOf(error)] === undefined) return REASONS.AccessDenied!;
  return REASONS[nameOf(error)] ?? (error as Fault).message ?? String(error);
}

/** `where`: the bucket's name in messages. `name`: the object of the request. */
export function faultOf(use: BucketUse, where: string, error: unknown, name?: string): TidemarkError {
  const about = name === undefined ? {} : { name };
  const details = { bucket: where, ...about, reason: nameOf(error), status: statusOf(error) ?? null, cause: error };
  const message = `The bucket of ${use}s ${where}: ${reasonOf(error)}`;
  if (SETTINGS.includes(nameOf(error))) return new ConfigError(`${use}-bucket-invalid`, message, details);
  if (nameOf(error) === 'InvalidObjectState') {
    const archived = `The bucket of ${use}s ${where}: ${name ?? `the ${use}`} is in an archive class and has to be restored first`;
    return new UnavailableError(`${use}-archived`, archived, details);
  }
  return new UnavailableError(`${use}s-unavailable`, message, details);
}
