/**
 * Owns where archived history lies, by its address, and the views of log and rows over all tiers and keys. An address is `s3://BUCKET/PREFIX`
 * (with `?endpoint=…&region=…` for another server than Amazon's; credentials as the AWS SDK finds them) or `file:///FOLDER`.
 */

import { fileURLToPath } from 'node:url';
import { openFsObjects } from '@tidemark/blob-fs';
import { openS3Objects, type S3ObjectsOptions } from '@tidemark/blob-s3';
import { ConfigError } from '@tidemark/core';
import type { Clock, EventLog, ObjectStore, ProjectionStore } from '@tidemark/ports';
import { Archive, Restorer, SealedLog, sealedStore, TieredLog, tieredStore } from '@tidemark/runtime';
import type { Keys } from './keys.ts';

/** What there is besides the views: the log itself, and the archive. */
export interface Tiers {
  readonly hot: EventLog;
  readonly archive: Archive;
  readonly restorer: Restorer;
}

export interface Views {
  readonly log: EventLog;
  readonly store: ProjectionStore;
  /** Absent: there is no archive. */
  readonly tiers?: Tiers;
}

/** Opens what the address names. Throws `ConfigError` (`archive-address-invalid`), or as the adapters do. */
export async function openObjects(address: string, setting: string): Promise<ObjectStore> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol === 'file:') return openFsObjects({ folder: fileURLToPath(url) });
  if (url?.protocol === 's3:' && url.hostname !== '') {
    const prefix = decodeURIComponent(url.pathname.slice(1));
    const [endpoint, region] = [url.searchParams.get('endpoint'), url.searchParams.get('region')];
    const storageClass = url.searchParams.get('class') as Required<S3ObjectsOptions>['storageClass'] | null;
    return openS3Objects({
      bucket: url.hostname,
      prefix: prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`,
      ...(endpoint !== null && { endpoint }),
      ...(region !== null && { region }),
      ...(storageClass !== null && { storageClass }),
    });
  }
  throw new ConfigError(
    'archive-address-invalid',
    `${setting} must be s3://BUCKET/PREFIX or file:///FOLDER; credentials don't belong into it.`,
    { setting },
  );
}

interface Below {
  readonly log: EventLog;
  readonly store: ProjectionStore;
  readonly clock: Clock;
  /** Absent: all history is in the log. */
  readonly archive?: { readonly warm: ObjectStore; readonly cold?: ObjectStore | undefined } | undefined;
  /** Absent: nothing is encrypted. */
  readonly keys?: Keys | undefined;
}

/**
 * Views that read every tier, and open what is sealed. Below them, log, segments and whoever archives see sealed bytes alone.
 */
export function viewsOver({ log: hot, store, clock, archive: stores, keys }: Below): Views {
  const rows = keys === undefined ? store : sealedStore(store, keys.workflows);
  const archive = stores && new Archive(stores);
  const whole = archive === undefined ? hot : new TieredLog(hot, archive);
  const log = keys === undefined ? whole : new SealedLog(whole, keys.workflows);
  if (archive === undefined) return { log, store: rows };
  const restorer = new Restorer({ log, store: rows, clock }, archive);
  return { log, store: tieredStore(rows, restorer), tiers: { hot, archive, restorer } };
}
