/** Owns what an S3 server's refusals mean: which error of ours each becomes, and what a person can do. Holds no credentials. */

import { ConfigError, CorruptError, type TidemarkError, UnavailableError } from '@tidemark/core';

/** The parts of the SDK's errors that say something; any of them may be missing. */
interface Fault {
  readonly name?: string;
  readonly code?: string;
  readonly message?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

export const statusOf = (error: unknown): number | undefined => (error as Fault).$metadata?.httpStatusCode;

const nameOf = (error: unknown): string => {
  const { name = '', code = '' } = error as Fault;
  return name === '' || name === 'Error' ? code : name;
};

/** The object isn't there. `HEAD` answers without a body, so by its status alone. */
export const isMissing = (error: unknown): boolean =>
  ['NoSuchKey', 'NotFound'].includes(nameOf(error)) || (statusOf(error) === 404 && nameOf(error) !== 'NoSuchBucket');

/** Something is there already (`If-None-Match`), or two write it at this moment. */
export const isThere = (error: unknown): boolean => statusOf(error) === 412 || statusOf(error) === 409;

/** What a person can do something about. */
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
  ECONNREFUSED: 'nothing answers there',
  ENOTFOUND: 'the host is unknown',
  TimeoutError: 'it did not answer in time',
  AbortError: 'it did not answer in time',
};

/** Settings that no waiting mends. */
const SETTINGS = ['NoSuchBucket', 'InvalidAccessKeyId', 'SignatureDoesNotMatch', 'PermanentRedirect'];

function reasonOf(error: unknown): string {
  const status = statusOf(error);
  if (status === 507) return REASONS.InsufficientStorage!;
  if (status === 403 && REASONS[nameOf(error)] === undefined) return REASONS.AccessDenied!;
  return REASONS[nameOf(error)] ?? (error as Fault).message ?? String(error);
}

/** `where`: the bucket as it is named to people. */
export function faultOf(where: string, error: unknown): TidemarkError {
  const details = { bucket: where, reason: nameOf(error), status: statusOf(error) ?? null, cause: error };
  const message = `The bucket of blobs ${where}: ${reasonOf(error)}`;
  if (SETTINGS.includes(nameOf(error))) return new ConfigError('blob-bucket-invalid', message, details);
  if (nameOf(error) === 'InvalidObjectState') {
    const archived = `The bucket of blobs ${where}: the blob is in an archive class and has to be restored first`;
    return new UnavailableError('blob-archived', archived, details);
  }
  return new UnavailableError('blobs-unavailable', message, details);
}

export const missing = (where: string, digest: string): CorruptError =>
  new CorruptError('blob-missing', `The blob ${digest} is not in ${where}`, { digest });

export const damaged = (where: string, digest: string, bytes: number): CorruptError =>
  new CorruptError('blob-damaged', `The blob ${digest} in ${where} is damaged: its bytes have another digest`, {
    digest,
    bytes,
  });
