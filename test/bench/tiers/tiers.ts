/**
 * `npm run bench -- tiers`: how small history becomes in segments, how quickly it gets there and comes back, and what that costs those who
 * commit meanwhile. On Kafka, Postgres and SeaweedFS of its own, data in memory; archiving also embedded.
 */

import type { Report } from '../report.ts';
import { load } from '../system.ts';
import { measureArchive, measureEmbeddedArchive, measureRebuild, measureRestore } from './archive.ts';
import { measureCommits } from './commits.ts';
import { measureCompression } from './compression.ts';
import { measureEncryption } from './encryption.ts';
import { startTierServers } from './servers.ts';

export const tierParts = ['compression', 'archive', 'rebuild', 'restore', 'commits', 'encryption'] as const;

/** `parts`: of `tierParts`; `rebuild` archives first. */
export async function measureTiers(report: Report, parts: readonly string[]): Promise<void> {
  const wants = (...some: readonly (typeof tierParts)[number][]): boolean => some.some((part) => parts.includes(part));
  report.note(`tiers: load ${load()}`);
  if (wants('compression')) await measureCompression(report);
  const embedded = wants('archive') ? await measureEmbeddedArchive(report) : undefined;
  if (!wants('archive', 'rebuild', 'restore', 'commits', 'encryption')) return;
  const servers = await startTierServers(report);
  if (servers === undefined) {
    if (embedded !== undefined) report.add('tiers.archive.events_per_s', embedded, 'events/s');
    return;
  }
  try {
    if (wants('archive', 'rebuild')) {
      const env = await measureArchive(servers, report);
      if (wants('rebuild')) await measureRebuild(env, report);
    }
    if (wants('restore')) await measureRestore(servers, report);
    if (wants('commits')) await measureCommits(servers, report);
    if (wants('encryption')) await measureEncryption(servers, report);
    report.note(`tiers: load at the end ${load()}`);
  } finally {
    await servers.stop();
  }
}
