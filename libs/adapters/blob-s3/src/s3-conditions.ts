/**
 * Owns finding out whether a bucket's server honours the condition under which objects are created (`If-None-Match: *`). One that ignores
 * it overwrites the object and answers that it was created: two compactors would both believe that their segment counts.
 *
 * The check creates an object of its own twice, and the server must refuse the second time. The object stays, so that later checks need one
 * request. No archived object can have its name, so no listing shows it.
 */

import { ConfigError } from '@tidemark/core';
import type { S3Bucket } from './s3-bucket.ts';
import { isThere, nameOf, statusOf } from './s3-faults.ts';

/** Below the prefix. */
export const PROBE_NAME = '.tidemark-created-once';
const PROBE = Buffer.from('Created to see whether the server refuses to create it again. It may be deleted.\n');

/** `forbidden`: the credentials may not write it, which proves nothing. */
type Outcome = 'created' | 'refused' | 'unknown-condition' | 'forbidden';

/** Throws `ConfigError` (`objects-unconditional`), and what the bucket throws when the check could not run. */
export async function requireConditions(bucket: S3Bucket): Promise<void> {
  const first = await create(bucket);
  const outcome = first === 'created' ? await create(bucket) : first;
  if (outcome === 'refused' || outcome === 'forbidden') return;
  const what =
    outcome === 'created'
      ? 'its server ignores the condition If-None-Match: * and overwrites existing objects'
      : 'its server does not support the condition If-None-Match: *, which creating an object needs';
  throw new ConfigError(
    'objects-unconditional',
    `The bucket of objects ${bucket.where}: ${what}. When several processes archive the same history only one may create each object, so nothing is archived there. Use a server that refuses to create an object that exists, as Amazon S3 does, or a newer release of this one.`,
    { bucket: bucket.where, name: PROBE_NAME },
  );
}

function create(bucket: S3Bucket): Promise<Outcome> {
  return bucket.guarded(async () => {
    try {
      await bucket.write(PROBE_NAME, PROBE, { IfNoneMatch: '*' });
      return 'created';
    } catch (error) {
      if (isThere(error)) return 'refused';
      if (statusOf(error) === 501) return 'unknown-condition';
      if (nameOf(error) === 'AccessDenied') return 'forbidden';
      throw error;
    }
  }, PROBE_NAME);
}
