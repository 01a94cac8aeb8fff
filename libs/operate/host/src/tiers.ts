/**
 * Owns where archived history and large payloads lie, by an address, and the views of log and rows over all tiers, blobs and keys. An
 * address is `s3://BUCKET/PREFIX` (with `?endpoint=…&region=…` for a server other than Amazon's; the AWS SDK finds the credentials) or
 * `file:///FOLDER`.
 */

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { openFsBlobs, openFsObjects } from '@tidemark/blob-fs';
import type { S3ObjectsOptions } from '@tidemark/cluster';
import { ConfigError } from '@tidemark/core';
import type { Clock, EventLog, ObjectStore, ProjectionStore, RowStore } from '@tidemark/ports';
import {
  Archive,
  BlobEncoding,
  Blobs,
  type ColdHistory,
  ColdReads,
  EncodedLog,
  KEYLESS,
  loggedStore,
  Restorer,
  SealedRecords,
  SealedTexts,
  TieredLog,
  tieredStore,
  transformedStore,
  wordlessStore,
} from '@tidemark/runtime';
import { clusterPackage } from '@tidemark/traces';
import type { Keys } from './keys.ts';

/** The log itself, and the archive, which the views don't include. */
export interface Tiers {
  readonly hot: EventLog;
  readonly archive: Archive;
  readonly cold: ColdHistory;
  readonly restorer: Restorer;
  /** Absent: there are no large payloads. */
  readonly blobs: Blobs | undefined;
}

export interface Views {
  readonly log: EventLog;
  readonly store: ProjectionStore;
  /** Absent: there is no archive. */
  readonly tiers?: Tiers;
}

/** Opens the address. Throws `ConfigError` (`archive-address-invalid`), or as the adapters do. */
export async function openObjects(address: string, setting: string): Promise<ObjectStore> {
  const place = placeIn(address, setting);
  if ('folder' in place) return openFsObjects(place);
  const { openS3Objects } = await s3();
  return openS3Objects(place);
}

/** Opens the large payloads beside the archive of the address. Throws as `openObjects` does. */
export async function openBlobs(address: string, setting: string): Promise<Blobs> {
  const place = placeIn(address, setting);
  if ('folder' in place) return openBlobFolder(place.folder);
  const { openS3Blobs } = await s3();
  return new Blobs(await openS3Blobs({ ...place, prefix: `${place.prefix}${BLOBS}/` }));
}

/** The same in a subfolder of that folder. */
export const openBlobFolder = async (folder: string): Promise<Blobs> =>
  new Blobs(await openFsBlobs({ folder: path.join(folder, BLOBS) }));

const BLOBS = 'blobs';

const s3 = async () => (await clusterPackage('A bucket (s3:)')).s3Blobs();

function placeIn(
  address: string,
  setting: string,
): { readonly folder: string } | (S3ObjectsOptions & { prefix: string }) {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol === 'file:') return { folder: fileURLToPath(url) };
  if (url?.protocol === 's3:' && url.hostname !== '' && !hasCredentials(url)) {
    const prefix = decodeURIComponent(url.pathname.slice(1));
    const [endpoint, region] = [url.searchParams.get('endpoint'), url.searchParams.get('region')];
    const storageClass = url.searchParams.get('class') as Required<S3ObjectsOptions>['storageClass'] | null;
    return {
      bucket: url.hostname,
      prefix: prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`,
      ...(endpoint !== null && { endpoint }),
      ...(region !== null && { region }),
      ...(storageClass !== null && { storageClass }),
    };
  }
  throw new ConfigError(
    'archive-address-invalid',
    `${setting} must be s3://BUCKET/PREFIX or file:///FOLDER; credentials don't belong into it.`,
    { setting },
  );
}

/** Also refuses credentials in the server's address: settings would hold a secret that nothing uses. */
const hasCredentials = (url: URL): boolean => {
  const endpoint = URL.parse(url.searchParams.get('endpoint') ?? '');
  return [url, endpoint].some((one) => one !== null && (one.username !== '' || one.password !== ''));
};

/** The parts below the views. */
export interface Below {
  readonly log: EventLog;
  readonly store: RowStore;
  readonly clock: Clock;
  /** Absent: all history is in the log. */
  readonly archive?: { readonly warm: ObjectStore; readonly cold?: ObjectStore | undefined } | undefined;
  /** Absent: nothing is encrypted. */
  readonly keys?: Keys | undefined;
  /** No key was ever made for a history, nor is one made while it is open: a record that claims to be sealed stops its workflow alone. */
  readonly isKeyless?: boolean | undefined;
  /** Workflows that begin unencrypted are refused, unless a person has accepted their plain history. */
  readonly refusesPlain?: boolean | undefined;
  /** `off`: rows have no words of memories. */
  readonly memoryWords?: 'on' | 'off' | undefined;
  /** Absent: fields that are marked as secret can neither be written nor read. */
  readonly secrets?: Keys | undefined;
  /** Absent: large payloads are refused. */
  readonly blobs?: Blobs | undefined;
  /** Bytes above which payloads are stored as blobs. */
  readonly inlineMaxBytes?: number | undefined;
}

/**
 * Returns views that read every tier, load large payloads, and open sealed ones. Below them, log, segments and compactors see names and
 * sealed bytes alone; blobs hold sealed bytes. Rows hold texts of any size themselves, since they outlive the history that blobs belong to.
 *
 * The views from the outside in; each is absent where its part isn't configured:
 * - log: `EncodedLog` (payloads are sealed, then moved into blobs; read the other way round) → `TieredLog` (segments) → the log.
 * - rows: `tieredStore` (restores archived rows) → `wordlessStore` → `transformedStore` (opens sealed texts) → `loggedStore` (payloads from
 *   the log view) → the store. The API puts its own views around these (see backend.ts).
 */
export function viewsOver(below: Below): Views {
  const { log: hot, clock, archive: stores, keys, blobs, inlineMaxBytes } = below;
  const archive = stores && new Archive(stores);
  const everyTier = archive === undefined ? hot : new TieredLog(hot, archive);
  const sealing = keys && new SealedRecords(keys.workflows, { refusesPlain: below.refusesPlain });
  const encodings = [
    sealing ?? (below.isKeyless === true ? KEYLESS : undefined),
    blobs && new BlobEncoding({ blobs, clock, inlineMaxBytes }),
  ].filter((encoding) => encoding !== undefined);
  const log = encodings.length === 0 ? everyTier : new EncodedLog(everyTier, ...encodings);
  const logged = loggedStore(below.store, log);
  const whole = keys === undefined ? logged : transformedStore(logged, new SealedTexts(keys.workflows));
  const rows = below.memoryWords === 'off' ? wordlessStore(whole) : whole;
  if (archive === undefined) return { log, store: rows };
  const restorer = new Restorer({ log, store: rows, clock }, archive);
  return {
    log,
    store: tieredStore(rows, restorer),
    tiers: { hot, archive, cold: new ColdReads({ archive, clock }), restorer, blobs },
  };
}
