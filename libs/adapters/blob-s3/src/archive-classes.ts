/**
 * Owns the rules of S3's archive classes: which objects have to be restored before they are read, how to request that, and how long it
 * takes. Source: Amazon S3 User Guide, "Archive retrieval options" and "Working with archived objects".
 */

import type { HeadObjectCommandOutput, RestoreRequest } from '@aws-sdk/client-s3';

/** Speed and price of a restore. The deep archive has no `Expedited`. */
export type RestoreTier = 'Expedited' | 'Standard' | 'Bulk';

/** Storage classes, and tiers into which Intelligent-Tiering moves objects by itself. */
const ARCHIVES = ['GLACIER', 'DEEP_ARCHIVE', 'ARCHIVE_ACCESS', 'DEEP_ARCHIVE_ACCESS'] as const;
export type ArchiveClass = (typeof ARCHIVES)[number];

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SHALLOW = { Expedited: 5 * MINUTE_MS, Standard: 5 * HOUR_MS, Bulk: 12 * HOUR_MS };
const DEEP = { Expedited: null, Standard: 12 * HOUR_MS, Bulk: 48 * HOUR_MS };
const LONGEST_MS: Readonly<Record<ArchiveClass, Readonly<Record<RestoreTier, number | null>>>> = {
  GLACIER: SHALLOW,
  ARCHIVE_ACCESS: SHALLOW,
  DEEP_ARCHIVE: DEEP,
  DEEP_ARCHIVE_ACCESS: DEEP,
};

/** Longest usual time of a restore, in milliseconds; null: unknown. */
export const restoreLongestMs = (archive: ArchiveClass, tier: RestoreTier): number | null => LONGEST_MS[archive][tier];

/** Undefined: the object is readable at once. */
export function archiveClassOf({ StorageClass, ArchiveStatus }: HeadObjectCommandOutput): ArchiveClass | undefined {
  return ARCHIVES.find((each) => each === (ArchiveStatus ?? StorageClass));
}

/** `x-amz-restore`: `ongoing-request="true"`, or `ongoing-request="false", expiry-date="…"` once a copy is readable. */
export function restoreOf({ Restore }: HeadObjectCommandOutput): 'not-asked' | 'under-way' | 'done' {
  if (Restore === undefined) return 'not-asked';
  return Restore.includes('ongoing-request="true"') ? 'under-way' : 'done';
}

/** Intelligent-Tiering moves the object back permanently, and refuses a number of days. */
export function restoreRequest(archive: ArchiveClass, Tier: RestoreTier, Days: number): RestoreRequest {
  const isCopy = archive === 'GLACIER' || archive === 'DEEP_ARCHIVE';
  return { GlacierJobParameters: { Tier }, ...(isCopy && { Days }) };
}
