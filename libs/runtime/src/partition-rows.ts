/**
 * Owns giving rows to partitions of the log. Their log is fenced first: an opening that was placed by rows which are lost, and
 * is still under way, is either in the log by then and found there, or rejected. Else its workflow, which the new rows don't
 * know, could be placed anew and run in two partitions (I1).
 */

import { encodePayload, encodeRecord } from '@tidemark/codec';
import {
  DEFAULT_TENANT,
  type Envelope,
  eventId,
  generation,
  NO_HOLDER,
  type Offset,
  type Partition,
  UnavailableError,
  uuidv7,
  workflowId,
  ZERO,
} from '@tidemark/core';
import type { NewPartition } from '@tidemark/ports';
import { FENCES_AT_ONCE } from './limits.ts';
import type { LamportClock, Ports } from './ports.ts';

/** Stands where other events name their workflow. */
const NO_WORKFLOW = workflowId('~partition');

export interface RowsOptions {
  readonly ports: Pick<Ports, 'log' | 'store' | 'clock' | 'prng'>;
  readonly lamport: LamportClock;
}

/** Gives rows to those of the log's first `count` partitions that have none. */
export async function addPartitions({ ports, lamport }: RowsOptions, count: number): Promise<void> {
  const { log, store } = ports;
  const known = await store.positions();
  const all = Array.from({ length: count }, (_, index) => index as Partition);
  const missing = all.filter((partition) => !known.has(partition));
  const fences = new Map<Partition, Offset>();
  for (let at = 0; at < missing.length; at += FENCES_AT_ONCE) {
    const some = missing.slice(at, at + FENCES_AT_ONCE);
    await Promise.all(some.map(async (partition) => fences.set(partition, await fence({ ports, lamport }, partition))));
  }
  const bounds = await log.bounds(missing);
  if (bounds.size < missing.length) throw new UnavailableError('log-growing', 'New partitions are not there yet.');
  // A store that was lost meanwhile must not be taken for rebuilt without the rows of the others.
  await store.addPartitions(
    [...bounds].map(([partition, { start, end }]) => rowOf(partition, start, end, fences.get(partition)!)),
    known.size,
  );
}

/** Where the fence is all that there is, there is nothing to fold: a pool that grows keeps the store ready. */
function rowOf(partition: Partition, start: Offset, end: Offset, fencedAt: Offset): NewPartition {
  if (fencedAt > start) return { partition, start, rebuildTo: end };
  const next = (fencedAt + 1) as Offset;
  return { partition, start: next, generation: generation(1), rebuildTo: end };
}

/** The offset of the fence. */
async function fence({ ports, lamport }: RowsOptions, partition: Partition): Promise<Offset> {
  const { log, clock, prng } = ports;
  const atMs = clock.nowMs();
  const envelope: Envelope<'PartitionFenced'> = {
    v: 1,
    id: eventId(`fence:${uuidv7(atMs, prng.bytes(10))}`),
    tenant: DEFAULT_TENANT,
    workflow: NO_WORKFLOW,
    generation: generation(1),
    lamport: lamport.stamp(),
    epoch: ZERO.epoch,
    holder: NO_HOLDER,
    ordinal: ZERO.ordinal,
    atMs,
    type: 'PartitionFenced',
    control: { partition },
  };
  const value = encodeRecord({ envelope, payload: encodePayload('PartitionFenced', null) }, log.recordMaxBytes);
  return log.append(partition, [{ value, type: 'PartitionFenced' }]);
}
