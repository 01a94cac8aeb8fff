/**
 * Owns the judgement of archiving, from outside: everything trimmed is in segments whose manifests lie end to end from offset 0, byte for
 * byte (I7); and at the end log and segments together hold every record that was ever stored, once, under its offset. The product's own
 * code decodes segments, and the result is compared with what was stored.
 */

import { hash } from 'node:crypto';
import type { Offset, Partition } from '@tidemark/core';
import { decodeManifest, decodeSegment, manifestName } from '@tidemark/segments';
import type { MemoryObjects } from '../memory-objects.ts';
import type { SimulatedLog } from '../simulated-log.ts';
import type { History } from './witness.ts';

/**
 * Content of a partition's segments, from offset 0 on; a violation where it differs from what was stored. Bytes that were found right once
 * are known by their digest, and are not decoded again at the next trim.
 */
export function checkSegments(
  objects: MemoryObjects,
  { partition, values, rightSegments }: Pick<History, 'partition' | 'values' | 'rightSegments'>,
): { readonly end: number; readonly violations: readonly string[] } {
  let end = 0;
  for (;;) {
    const name = manifestName(partition, end as Offset);
    const found = objects.poll(name);
    if (found === undefined) return { end, violations: [] };
    const manifest = decodeManifest(name, found);
    const bytes = objects.poll(manifest.object);
    if (bytes === undefined || hash('sha256', bytes) !== manifest.digest) {
      return { end, violations: [`I7: ${manifest.object} is missing or has other bytes than ${name} says`] };
    }
    const right = `${end} ${manifest.to} ${manifest.digest}`;
    if (rightSegments.has(right)) {
      end = manifest.to;
      continue;
    }
    const { records, from } = decodeSegment(bytes);
    for (const [at, { offset, value }] of records.entries()) {
      const isRight = offset === end + at && Buffer.compare(value, values[offset] ?? NOTHING) === 0;
      if (!isRight) return { end, violations: [`I7: ${manifest.object} holds something else at offset ${offset}`] };
    }
    if (from !== end || manifest.to !== end + records.length) {
      return { end, violations: [`I7: ${manifest.object} holds another stretch than ${name} says`] };
    }
    rightSegments.add(right);
    end = manifest.to;
  }
}

const NOTHING = new Uint8Array();

/** Every record that was stored is in the log or in a segment, under its offset. */
export async function checkArchive(
  log: SimulatedLog,
  objects: MemoryObjects,
  histories: ReadonlyMap<Partition, History>,
): Promise<string[]> {
  const violations: string[] = [];
  for (const [partition, history] of histories) {
    const checked = checkSegments(objects, history);
    violations.push(...checked.violations);
    const { start, end } = (await log.bounds([partition])).get(partition)!;
    if (checked.end < start)
      violations.push(`I7: partition ${partition} begins at ${start}, segments end at ${checked.end}`);
    if (end !== history.values.length) violations.push(`I1: partition ${partition} ends at ${end}`);
    const [inLog] = log.poll([{ partition, from: start }]);
    for (const { offset, value } of inLog?.records ?? []) {
      if (Buffer.compare(value, history.values[offset] ?? NOTHING) === 0) continue;
      violations.push(`I1: partition ${partition} holds something else at offset ${offset}`);
    }
  }
  return violations;
}
