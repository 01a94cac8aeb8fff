/**
 * Owns the rules of S3's archive classes: which objects have to be restored before they are read, how to request that, and how long it
 * takes. Source: Amazon S3 User Guide, "Archive retrieval options" and "Working with archived objects".
 */

import type { HeadObjectCommandOutput, RestoreRequest } from '@aws-sdk/client-s3';

/** How long a restored copy of an archived object stays readable, in days. */
const RESTORED_DAYS = 3;

/** Storage classes, and tiers into which Intelligent-Tiering moves objects by itself. */
const ARCHIVES = ['GLACIER', 'DEEP_ARCHIVE', 'ARCHIVE_ACCESS', 'DEEP_ARCHIVE_ACCESS'] as const;
export type ArchiveClass = (typeof ARCHIVES)[number];

/** The one speed of a restore that all classes have. */
const TIER = 'Standard';
const HOUR_MS = 3_600_000;
/** Longest usual time of a restore, in milliseconds. */
export const RESTORE_LONGEST_MS: Readonly<Record<ArchiveClass, number>> = {
  GLACIER: 5 * HOUR_MS,
  ARCHIVE_ACCESS: 5 * HOUR_MS,
  DEEP_ARCHIVE: 12 * HOUR_MS,
  DEEP_ARCHIVE_ACCESS: 12 * HOUR_MS,
};

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
export function restoreRequest(archive: ArchiveClass): RestoreRequest {
  const isCopy = archive === 'GLACIER' || archive === 'DEEP_ARCHIVE';
  return { GlacierJobParameters: { Tier: TIER }, ...(isCopy && { Days: RESTORED_DAYS }) };
}
