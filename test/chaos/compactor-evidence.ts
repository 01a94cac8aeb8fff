/**
 * Owns reading, once a run is over, what each tier holds and what a reader of all tiers is given. Segments are found and decoded here by
 * their manifests alone, without the product's reader; what that one gives is evidence of its own.
 */

import { hash } from 'node:crypto';
import { decodeRecord } from '@tidemark/codec';
import { type LogEntry, messageOf, type Offset, type Partition, TidemarkError } from '@tidemark/core';
import type { Host } from '@tidemark/host';
import type { ObjectStore } from '@tidemark/ports';
import { Archive, TieredLog } from '@tidemark/runtime';
import { CHAIN_START, decodeManifest, decodeSegment, manifestDigest, manifestName } from '@tidemark/segments';
import type { Evidence, ServedRecord, Stretch } from './compactor-checks.ts';
import { TIERS_READ_MAX_BYTES } from './compactor-limits.ts';
import { Witness } from './compactor-witness.ts';

export interface Collected {
  readonly evidence: Evidence;
  /** What was read through all tiers, by partition, for whoever folds it. */
  readonly entries: readonly (readonly LogEntry[])[];
  /** What is wrong with a tier, in words. */
  readonly problems: readonly string[];
}

export interface Places {
  readonly host: Host;
  readonly broker: string;
  readonly topic: string;
}

/** `witness` has seen everything. */
export async function collect({ host, broker, topic }: Places, witness: Witness): Promise<Collected> {
  const { hot, archive } = host.tiers!;
  const problems: string[] = [];
  const left = await leftIn(new Witness(broker, topic, witness.seen.length), problems);
  const tiered = new TieredLog(hot, new Archive({ warm: archive.warm }));
  const [segments, served, entries]: [Stretch[], (readonly ServedRecord[])[], (readonly LogEntry[])[]] = [[], [], []];
  for (const index of witness.seen.keys()) {
    const partition = index as Partition;
    segments.push(await archived(archive.warm, partition, problems));
    const given = await givenBy(tiered, partition, problems);
    served.push(given.served);
    entries.push(given.entries);
  }
  return { evidence: { witnessed: witness.seen, log: left, segments, served }, entries, problems };
}

/** What Kafka still has, as an outsider reads it. */
async function leftIn(reader: Witness, problems: string[]): Promise<readonly Stretch[]> {
  await reader.start();
  try {
    await reader.caughtUp();
  } finally {
    await reader.stop();
  }
  problems.push(...reader.gaps.map((gap) => `log: ${gap}`));
  return reader.seen;
}

/** Manifest by manifest from offset 0; it ends where one is missing, or wrong in any way. */
async function archived(objects: ObjectStore, partition: Partition, problems: string[]): Promise<Stretch> {
  const digests: string[] = [];
  let [chain, previous]: [string, string | null] = [CHAIN_START, null];
  for (;;) {
    const name = manifestName(partition, digests.length as Offset);
    try {
      const written = await objects.read(name);
      if (written === undefined) return { start: 0, digests };
      const manifest = decodeManifest(name, written);
      const bytes = await objects.read(manifest.object);
      if (bytes === undefined) throw new Error(`${manifest.object} is missing`);
      if (hash('sha256', bytes) !== manifest.digest) throw new Error(`${manifest.object} has other bytes`);
      const segment = decodeSegment(bytes);
      const isLinked =
        segment.chainBefore === chain && manifest.chainBefore === chain && manifest.previous === previous;
      if (!isLinked) throw new Error('it does not follow the one before');
      if (segment.partition !== partition || segment.from !== digests.length || segment.to !== manifest.to) {
        throw new Error('it holds another stretch than its place says');
      }
      for (const { value } of segment.records) digests.push(hash('sha256', value));
      [chain, previous] = [segment.chainAfter, manifestDigest(written)];
    } catch (error) {
      problems.push(`${name}: ${messageOf(error)}`);
      return { start: 0, digests };
    }
  }
}

interface Given {
  readonly served: readonly ServedRecord[];
  readonly entries: readonly LogEntry[];
}

/** Goes on from the last offset that it was given, as any reader does. */
async function givenBy(log: TieredLog, partition: Partition, problems: string[]): Promise<Given> {
  const served: ServedRecord[] = [];
  const entries: LogEntry[] = [];
  for (let from = 0; ; ) {
    try {
      const [result] = await log.read([{ partition, from: from as Offset }], { maxBytes: TIERS_READ_MAX_BYTES });
      for (const { offset, value } of result!.records) {
        served.push({ offset, digest: hash('sha256', value) });
        entries.push(decodeRecord(value));
      }
      if (result!.records.length === 0) return { served, entries };
      from = result!.records.at(-1)!.offset + 1;
    } catch (error) {
      if (!(error instanceof TidemarkError)) throw error;
      problems.push(`reading ${partition}/${from}: ${error.message}`);
      return { served, entries };
    }
  }
}
