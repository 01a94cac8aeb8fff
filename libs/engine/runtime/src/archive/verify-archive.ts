/**
 * Owns the audit of the archive. It reads every manifest and segment of a partition and checks it against its digest, its neighbours, the
 * chain over all events, and the fold of its events, up to where the log continues; and every large payload that they reference. It finds
 * everything that was changed, removed or reordered. It reports, and repairs nothing.
 */

import { recordBlob } from '@tidemark/codec';
import {
  CorruptError,
  emptyPartition,
  type Offset,
  type Partition,
  type PartitionState,
  type Sha256,
  type TenantId,
  TidemarkError,
} from '@tidemark/core';
import type { EventLog } from '@tidemark/ports';
import { CHAIN_START, type SegmentRecord } from '@tidemark/segments';
import type { Blobs } from '../views/index.ts';
import type { Archive, KnownManifest } from './archive.ts';
import { stateAfter } from './archived-state.ts';
import { type RecordedDeletions, tenantOf, unproved } from './deletions.ts';
import { differingField } from './manifest-facts.ts';
import { SegmentBuilder } from './segment-builder.ts';

export interface ArchiveProblem {
  readonly partition: Partition;
  /** Where the wrong segment begins. */
  readonly from: Offset;
  readonly code: string;
  readonly message: string;
}

export interface ChainEnd {
  readonly partition: Partition;
  readonly to: Offset;
  /** The chain over all events before `to`. */
  readonly chain: Sha256;
  /**
   * The chain over manifests: the digest of the last one, which the next will name as `previous`. It covers what events do not determine.
   */
  readonly manifest: Sha256;
}

export interface DeletionsEnd {
  readonly tenant: TenantId;
  readonly count: number;
  readonly chain: Sha256;
}

export interface ArchiveVerdict {
  readonly partitionCount: number;
  readonly segmentCount: number;
  readonly eventCount: number;
  readonly bytes: number;
  readonly rawBytes: number;
  /** The last links of the chains of each partition that has segments, to be kept elsewhere and compared later. */
  readonly chains: readonly ChainEnd[];
  /** Segments that were not read because their objects must be recalled first. */
  readonly coldCount: number;
  /** Segments that a policy deleted, by their tombstones and the log; only their manifests were read. */
  readonly deletedCount: number;
  /** The end of the chain over deletions of each tenant with a deleted segment, to be kept like the others. */
  readonly deletions: readonly DeletionsEnd[];
  readonly problems: readonly ArchiveProblem[];
}

export interface VerifyOptions {
  /** A tenant's deletions by the log. */
  readonly deletions: (tenant: TenantId) => Promise<RecordedDeletions>;
  /** Reads large payloads that events reference; absent: there are none. */
  readonly blobs?: Blobs | undefined;
  /** Absent: all. */
  readonly partitions?: readonly Partition[] | undefined;
  readonly onSegment?: ((done: number) => void) | undefined;
}

type Growing = { -readonly [K in keyof ArchiveVerdict]: ArchiveVerdict[K] } & {
  chains: ChainEnd[];
  deletions: DeletionsEnd[];
  problems: ArchiveProblem[];
};

/** `log`: the log itself, whose start the segments must reach. */
export async function verifyArchive(
  log: EventLog,
  archive: Archive,
  { partitions, deletions, ...options }: VerifyOptions,
): Promise<ArchiveVerdict> {
  const verdict: Growing = {
    partitionCount: 0,
    segmentCount: 0,
    eventCount: 0,
    bytes: 0,
    rawBytes: 0,
    chains: [],
    coldCount: 0,
    deletedCount: 0,
    deletions: [],
    problems: [],
  };
  archive.forget();
  const reported = new Map<TenantId, Promise<RecordedDeletions>>();
  const reportedOf = async (tenant: TenantId): Promise<RecordedDeletions> => {
    const known = reported.get(tenant) ?? deletions(tenant);
    if (reported.has(tenant)) return known;
    reported.set(tenant, known);
    const { count, chain } = await known;
    verdict.deletions.push({ tenant, count, chain });
    return known;
  };
  for (const [partition, { start, end }] of await log.bounds(partitions)) {
    verdict.partitionCount++;
    await verifyPartition({ archive, verdict, reportedOf, ...options }, partition, { start, end });
  }
  return verdict;
}

interface Audit extends Pick<VerifyOptions, 'blobs' | 'onSegment'> {
  readonly archive: Archive;
  readonly verdict: Growing;
  readonly reportedOf: VerifyOptions['deletions'];
}

async function verifyPartition(
  audit: Audit,
  partition: Partition,
  { start, end }: { readonly start: Offset; readonly end: Offset },
): Promise<void> {
  const { archive, verdict } = audit;
  let before: KnownManifest | undefined;
  let state: PartitionState | undefined = emptyPartition(partition, 0 as Offset);
  const problem = (code: string, message: string): void => {
    verdict.problems.push({ partition, from: before?.to ?? (0 as Offset), code, message });
  };
  try {
    for (;;) {
      const manifest = await archive.manifestFrom(partition, before?.to ?? (0 as Offset));
      if (manifest === undefined) break;
      checkNeighbours(before, manifest, problem);
      state = await verifySegment(audit, manifest, state, problem);
      before = manifest;
      verdict.segmentCount++;
      audit.onSegment?.(verdict.segmentCount);
    }
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    problem(error.code, error.message);
  }
  const to = before?.to ?? 0;
  if (to < start) {
    problem('archive-gap', `The log begins at ${start}, and segments end at ${to}: what is between is in neither.`);
  }
  if (to > end)
    problem('archive-ahead', `Segments end at ${to}, and the log at ${end}: it was replaced, or lost its end.`);
  if (before === undefined) return;
  verdict.chains.push({ partition, to: before.to, chain: before.chainAfter, manifest: before.ownDigest });
}

type Report = (code: string, message: string) => void;

function checkNeighbours(before: KnownManifest | undefined, manifest: KnownManifest, problem: Report): void {
  const expected = before?.chainAfter ?? CHAIN_START;
  if (manifest.chainBefore !== expected || manifest.previous !== (before?.ownDigest ?? null)) {
    problem(
      'chain-broken',
      `The manifest at ${manifest.from} does not follow the one before it: one of the two was changed or replaced.`,
    );
  }
}

/** Returns the state after the segment; undefined: unknown. */
async function verifySegment(
  audit: Audit,
  manifest: KnownManifest,
  state: PartitionState | undefined,
  problem: Report,
): Promise<PartitionState | undefined> {
  const { archive, blobs, verdict } = audit;
  verdict.eventCount += manifest.to - manifest.from;
  verdict.bytes += manifest.bytes;
  verdict.rawBytes += manifest.rawBytes;
  let records: readonly SegmentRecord[];
  try {
    records = await archive.records(manifest);
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    if (error.code === 'object-archived') verdict.coldCount++;
    else if (error.code === 'segment-deleted') await verifyDeletion(audit, manifest, problem);
    else problem(error.code, error.message);
    return stateAfter(archive, manifest).catch(() => undefined);
  }
  if (blobs !== undefined) await verifyBlobs(blobs, records, problem);
  if (state === undefined) return undefined;
  const builder = new SegmentBuilder(state);
  for (const record of records) if (!builder.add(record)) break;
  checkFacts(manifest, records, builder, problem);
  return builder.state.next === manifest.to ? builder.state : undefined;
}

/** Anyone with access to the object store can write a tombstone: an event of the log must record the deletion of this very segment. */
async function verifyDeletion({ verdict, reportedOf }: Audit, manifest: KnownManifest, problem: Report): Promise<void> {
  const tenant = tenantOf(manifest);
  try {
    if (tenant === undefined || !(await reportedOf(tenant)).covers(manifest)) throw unproved(manifest);
    verdict.deletedCount++;
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    if (error.code === 'object-archived') verdict.coldCount++;
    else problem(error.code, error.message);
  }
}

/** Checks what the manifest says of its events, and what the segment says of each of them. */
function checkFacts(
  manifest: KnownManifest,
  records: readonly SegmentRecord[],
  builder: SegmentBuilder,
  problem: Report,
): void {
  const field = differingField(manifest, builder);
  if (field === 'generation' || field === 'streams') {
    problem(
      'state-differs',
      `What the events up to ${manifest.to} fold to is not what the manifest at ${manifest.from} says.`,
    );
  } else if (field !== undefined) {
    problem(
      'manifest-differs',
      `What the manifest at ${manifest.from} says of its segment (${field}) is not what the events come to: it was changed. Restore it from a copy.`,
    );
  }
  const wrong = builder.records.find(({ position, rejected }, at) => {
    const reported = records[at];
    return reported?.position !== position || reported.rejected !== rejected;
  });
  if (wrong === undefined) return;
  problem(
    'verdict-differs',
    `The segment at ${manifest.from} says of the record at ${wrong.offset} another position or reason of refusal than the events come to: it was changed. Restore it from a copy.`,
  );
}

/**
 * Checks that the large payload of every accepted record exists and has its digest. A rejected one stands in the log for as long as others
 * do, and may have lost its own with its workflow.
 */
async function verifyBlobs(blobs: Blobs, records: readonly SegmentRecord[], problem: Report): Promise<void> {
  for (const { offset, value, rejected } of records) {
    const blob = recordBlob(value);
    if (blob === undefined || rejected !== null) continue;
    try {
      await blobs.get(blob.workflow, blob);
    } catch (error) {
      if (!(error instanceof CorruptError)) throw error;
      problem(error.code, `The payload of the record at ${offset}: ${error.message}. Restore it from a copy.`);
    }
  }
}
