/** Owns what commands do with archived history, as flat calls with plain data, so that they cross a socket unchanged. */

import { ConfigError, partition, type WorkflowId } from '@tidemark/core';
import type { Host, Tiers } from '@tidemark/host';
import type { SegmentRow, StorageUse } from '@tidemark/ports';
import {
  type ArchiveVerdict,
  type PassReport,
  type RestoreState,
  type SweepReport,
  toldDeletions,
  verifyArchive,
} from '@tidemark/runtime';

export interface CompactRequest {
  readonly hotMs: number;
  readonly paceBytesPerSecond: number | null;
}

export interface CompactAnswer extends PassReport {
  /** What became of large payloads that nothing names. */
  readonly sweep: SweepReport;
  /** What went wrong in single partitions. */
  readonly failures: readonly { readonly where: string; readonly code: string; readonly message: string }[];
}

export interface Usage {
  readonly logBytes: number;
  /** Large payloads, each counted once however many events name it; null: there is no archive. */
  readonly blobCount: number | null;
  readonly storage: readonly StorageUse[];
}

export interface CommandArchive {
  /** Null: all partitions. Throws `ConfigError` (`archive-missing`), as all of these do. */
  verify(partitions: readonly number[] | null): Promise<ArchiveVerdict>;
  /** One pass, now. */
  compact(request: CompactRequest): Promise<CompactAnswer>;
  /** Puts a workflow's rows back, or asks for its segments to be recalled. */
  restore(workflow: WorkflowId): Promise<RestoreState>;
  /** Its segments, in order; empty: its history is in the log and in rows. */
  segmentsOf(workflow: WorkflowId): Promise<readonly SegmentRow[]>;
  usage(by: 'tenant' | 'workflow', limit: number): Promise<Usage>;
}

/** Names of the calls, as a socket passes them on. */
export const ARCHIVE_CALLS = [
  'verify',
  'compact',
  'restore',
  'segmentsOf',
  'usage',
] as const satisfies readonly (keyof CommandArchive)[];

const SEGMENTS_MAX = 100_000;

export function hostArchive(host: Host): CommandArchive {
  const { store, log } = host.ports;
  return {
    verify(partitions) {
      const { hot, archive, blobs } = tiersOf(host);
      return verifyArchive(hot, archive, {
        blobs,
        partitions: partitions?.map((number) => partition(number)),
        deletions: (tenant) => toldDeletions(host.ports, tenant),
      });
    },
    async compact({ hotMs, paceBytesPerSecond }) {
      const failures: { where: string; code: string; message: string }[] = [];
      const compactor = host.compactor({
        policy: { hotMs, segmentMinBytes: 1 },
        paceBytesPerSecond: paceBytesPerSecond ?? Number.POSITIVE_INFINITY,
        onError: (where, error) => {
          const { code = 'internal', message = String(error) } = error as { code?: string; message?: string };
          failures.push({ where, code, message });
        },
      });
      try {
        const passed = await compactor.pass();
        return { ...passed, sweep: await compactor.sweepBlobs(), failures };
      } finally {
        await compactor.stop();
      }
    },
    restore: (workflow) => tiersOf(host).restorer.restore(workflow),
    segmentsOf: (workflow) => store.segments({ workflow, limit: SEGMENTS_MAX }),
    async usage(by, limit) {
      const blobs = host.tiers?.blobs?.stores.live;
      const blobCount = blobs === undefined ? null : await countOf(blobs.list());
      return { logBytes: await log.sizeBytes(), blobCount, storage: await store.storage(by, limit) };
    },
  };
}

function tiersOf({ tiers }: Host): Tiers {
  if (tiers !== undefined) return tiers;
  throw new ConfigError('archive-missing', 'There is no archive: set TIDEMARK_ARCHIVE_URL, as the services have it.');
}

async function countOf(digests: AsyncIterable<string>): Promise<number> {
  let count = 0;
  for await (const _ of digests) count++;
  return count;
}
