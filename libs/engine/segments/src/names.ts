/**
 * Owns the names of segments and manifests in the object store. Query engines read `partition=00012` in a path as a column. Numbers have
 * leading zeros, so that names sort as offsets do.
 */

import { InvalidError, type Offset, PARTITION_MAX, type Partition, type Sha256 } from '@tidemark/core';

const PARTITION_DIGITS = 5;
const OFFSET_DIGITS = 20;
/** Digits of the digest in a segment's name: enough to distinguish two segments of one stretch. */
const DIGEST_CHARS = 16;

const SEGMENT = /^segments\/partition=(\d{5,10})\/(\d{20})-(\d{20})-([0-9a-f]{16})\.parquet$/;
const MANIFEST = /^manifests\/partition=(\d{5,10})\/(\d{20})\.json$/;

export interface SegmentPlace {
  readonly partition: Partition;
  readonly from: Offset;
  readonly to: Offset;
  /** The first 16 hex digits of the file's SHA-256. */
  readonly digestStart: string;
}

export interface ManifestPlace {
  readonly partition: Partition;
  readonly from: Offset;
}

/** For the stretch `[from, to)`; `digest` is the file's SHA-256. Throws `InvalidError` (`segment-name-invalid`). */
export function segmentName(partition: Partition, from: Offset, to: Offset, digest: Sha256): string {
  if (!/^[0-9a-f]{64}$/.test(digest) || to <= from) {
    throw invalid(`[${from}, ${to}) with digest '${digest.slice(0, 100)}'`);
  }
  return `segments/${folder(partition)}/${padded(from)}-${padded(to)}-${digest.slice(0, DIGEST_CHARS)}.parquet`;
}

/** The name of the manifest whose segment begins at `from`. Throws `InvalidError` (`segment-name-invalid`). */
export const manifestName = (partition: Partition, from: Offset): string =>
  `${manifestPrefix(partition)}${padded(from)}.json`;

/** Prefix of the names of a partition's manifests. */
export const manifestPrefix = (partition: Partition): string => `manifests/${folder(partition)}/`;
/** Prefix of the names of a partition's segments; with `from`, of those that begin there. */
export const segmentPrefix = (partition: Partition, from?: Offset): string =>
  `segments/${folder(partition)}/${from === undefined ? '' : `${padded(from)}-`}`;

/** Undefined if the name is not a segment's. */
export function parseSegmentName(name: string): SegmentPlace | undefined {
  const [, partition, from, to, digestStart] = SEGMENT.exec(name) ?? [];
  if (digestStart === undefined) return undefined;
  const place = { partition: Number(partition), from: Number(from), to: Number(to), digestStart } as SegmentPlace;
  // Only names that `segmentName` makes: not `000012`, nor an unsafe integer.
  const isOurs = isStretch(place) && segmentName(place.partition, place.from, place.to, digestStart.repeat(4)) === name;
  return isOurs ? place : undefined;
}

/** Undefined if the name is not a manifest's. */
export function parseManifestName(name: string): ManifestPlace | undefined {
  const [, partition, from] = MANIFEST.exec(name) ?? [];
  if (from === undefined) return undefined;
  const place = { partition: Number(partition), from: Number(from) } as ManifestPlace;
  const isOurs = isPlace(place) && manifestName(place.partition, place.from) === name;
  return isOurs ? place : undefined;
}

const isCount = (value: number, max: number): boolean => Number.isInteger(value) && value >= 0 && value <= max;
const isPlace = ({ partition, from }: ManifestPlace): boolean =>
  isCount(partition, PARTITION_MAX) && isCount(from, Number.MAX_SAFE_INTEGER);
const isStretch = (place: SegmentPlace): boolean =>
  isPlace(place) && isCount(place.to, Number.MAX_SAFE_INTEGER) && place.to > place.from;

function folder(partition: Partition): string {
  if (!isCount(partition, PARTITION_MAX)) throw invalid(`partition ${partition}`);
  return `partition=${String(partition).padStart(PARTITION_DIGITS, '0')}`;
}

function padded(offset: Offset): string {
  if (!isCount(offset, Number.MAX_SAFE_INTEGER)) throw invalid(`offset ${offset}`);
  return String(offset).padStart(OFFSET_DIGITS, '0');
}

const invalid = (what: string): InvalidError =>
  new InvalidError(
    'segment-name-invalid',
    `No object can be named after ${what}: partitions and offsets are whole numbers from 0, a stretch holds one offset at least, and a digest is 64 hex digits.`,
  );
