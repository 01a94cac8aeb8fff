/**
 * Owns the log's record of segments that a policy deleted. A deletion is an event in the stream of the tenant's policies and holds, written
 * before anything is deleted; no policy deletes that stream. The tombstone in the object store, which stands for a deleted segment, is only
 * a hint, because anyone with access to the store can write one. It deletes nothing itself (see retention.ts).
 *
 * D1 Nobody acts on a tombstone unless the log records the deletion of that very segment and its manifest.
 * D2 A proof reads the deletion's events, not rows (see verify-archive.ts).
 */

import { hash } from 'node:crypto';
import { canonicalJson, decodePayload, type MemoryWrite } from '@tidemark/codec';
import { CorruptError, type Json, type Offset, type Sha256, type TenantId, UnavailableError } from '@tidemark/core';
import type { Digest, EventLog, ProjectionStore } from '@tidemark/ports';
import { anyWrite, memoryWorkflow } from '../agent/index.ts';
import { eventsThrough, openingOffset } from '../history/index.ts';
import type { Archive, KnownManifest } from './archive.ts';
import { retentionSubject } from './retention-policy.ts';

/** Identifies a segment and its manifest. */
export interface Deletion extends Pick<KnownManifest, 'partition' | 'from' | 'to' | 'object' | 'digest'> {
  /** SHA-256 of the manifest, by which the next one names it. */
  readonly manifest: Sha256;
}

const DELETED = 'deleted:';

const keyOf = ({ partition, from }: Pick<Deletion, 'partition' | 'from'>): string => `${DELETED}${partition}/${from}`;

export const deletionOf = (manifest: KnownManifest): Deletion => {
  const { partition, from, to, object, digest, ownDigest } = manifest;
  return { partition, from, to, object, digest, manifest: ownDigest as Sha256 };
};

/** The write that records the deletion. */
export const deletionWrite = (tenant: TenantId, deletion: Deletion): MemoryWrite =>
  anyWrite(
    {
      subject: retentionSubject(tenant),
      kind: 'record',
      key: keyOf(deletion),
      value: deletion as unknown as Json,
      source: 'retention',
    },
    'deletion',
  );

/** The segment's tenant: a segment has workflows of one tenant. Undefined: it has none. */
export const tenantOf = ({ workflows }: Pick<KnownManifest, 'workflows'>): TenantId | undefined => workflows[0]?.tenant;

/** Whether rows, which follow from the log, record the deletion of this very segment. */
export async function isReported(store: Pick<ProjectionStore, 'memories'>, manifest: KnownManifest): Promise<boolean> {
  const tenant = tenantOf(manifest);
  if (tenant === undefined) return false;
  const query = { tenant, subject: retentionSubject(tenant), kind: 'record' as const, key: keyOf(manifest), limit: 1 };
  const [row] = await store.memories(query);
  return row !== undefined && canonicalJson(JSON.parse(row.value) as Json) === deletionText(manifest);
}

/** Whether a policy deleted the segment: its tombstone and the log both say so (D1). */
export const isProvedDeleted = async (
  archive: Archive,
  store: Pick<ProjectionStore, 'memories'>,
  manifest: KnownManifest,
): Promise<boolean> => (await archive.isDeleted(manifest)) && isReported(store, manifest);

const deletionText = (manifest: KnownManifest): string => canonicalJson(deletionOf(manifest) as unknown as Json);

export const unproved = ({ partition, from, to }: Pick<Deletion, 'partition' | 'from' | 'to'>): CorruptError =>
  new CorruptError(
    'deletion-unproved',
    `Events ${from} to ${to} of partition ${partition} are gone, and a tombstone says that a policy deleted them; no event of the log does. Somebody removed them. Restore the segment from a copy.`,
    { partition, from, to },
  );

/** A tenant's recorded deletions, in the log's order. */
export interface RecordedDeletions {
  readonly count: number;
  /** One digest over all of them in their order, like the chain over events: each further one changes it. */
  readonly chain: Sha256;
  covers(manifest: KnownManifest): boolean;
}

const rebuilding = (): UnavailableError =>
  new UnavailableError(
    'store-rebuilding',
    'Rows are being rebuilt, and do not show yet where deletions are recorded. Try again once they are.',
  );

const CHAIN_START = '0'.repeat(64);

export interface DeletionReads {
  /** A view of all tiers, opened. */
  readonly log: EventLog;
  readonly store: Pick<ProjectionStore, 'ready' | 'workflow' | 'checkpoints'>;
  readonly digest: Digest;
}

/** Reads the tenant's stream from its opening (D2). Throws `UnavailableError` (`store-rebuilding`), and what reading throws. */
export async function recordedDeletions(
  { log, store, digest }: DeletionReads,
  tenant: TenantId,
): Promise<RecordedDeletions> {
  const subject = retentionSubject(tenant);
  const values: Json[] = [];
  if (!(await store.ready())) throw rebuilding();
  const place = await store.workflow(memoryWorkflow(digest, tenant, subject));
  if (place === undefined) return deletionsOf(values);
  const first = await openingOffset(store, place.workflow);
  const { end } = (await log.bounds([place.partition])).get(place.partition)!;
  for await (const { envelope, payload } of eventsThrough(log, place, [first, (end - 1) as Offset])) {
    if (envelope.type !== 'MemoryWritten') continue;
    for (const write of decodePayload('MemoryWritten', payload).memories ?? []) {
      const isDeletion = write.subject === subject && write.key.startsWith(DELETED) && write.value !== undefined;
      if (isDeletion) values.push(write.value);
    }
  }
  return deletionsOf(values);
}

/** From the values of all deletions, in their order. */
export function deletionsOf(values: readonly Json[]): RecordedDeletions {
  const reported = new Set(values.map((value) => canonicalJson(value)));
  const chain = values.reduce<string>(
    (before, value) => hash('sha256', `${before}${canonicalJson(value)}`),
    CHAIN_START,
  );
  return { count: values.length, chain: chain as Sha256, covers: (manifest) => reported.has(deletionText(manifest)) };
}
