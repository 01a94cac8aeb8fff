/**
 * Owns the creation of rows for partitions of the log. It fences each partition first: an opening that was placed by lost rows, and that is
 * still on its way, is then either already in the log and found there, or rejected. Otherwise its workflow, which the new rows do not know,
 * could be placed again and run in two partitions (I1).
 */

import { decodeRecord } from '@tidemark/codec';
import {
  CorruptError,
  DEFAULT_TENANT,
  emptyPartition,
  eventId,
  foldEntries,
  generation,
  type LogEntry,
  type Partition,
  UnavailableError,
  uuidv7,
  workflowId,
} from '@tidemark/core';
import type { NewPartition, PartitionBounds, ReadRequest, ReadResult } from '@tidemark/ports';
import type { LamportClock, Ports } from '../kernel/index.ts';
import { inboxRecord, TAIL_READ_MAX_BYTES } from '../lease/index.ts';

/** Partitions that are fenced at once before they get rows. */
const FENCES_AT_ONCE = 256;
/** Most records that are read to find out whether a partition has nothing but fences. */
const FENCES_FOLDED_MAX = 16;

/** Takes the place of a workflow's id in events that concern none. */
const NO_WORKFLOW = workflowId('~partition');

export interface RowsOptions {
  readonly ports: Pick<Ports, 'log' | 'store' | 'hints' | 'clock' | 'prng'>;
  readonly lamport: LamportClock;
}

/** Creates rows for those of the log's first `count` partitions that have none. */
export async function addPartitions(options: RowsOptions, count: number): Promise<void> {
  const { log, store, hints } = options.ports;
  // Read first, so that rows are only added to the store that was seen to lack them.
  const storeId = await store.storeId();
  const known = await store.positions();
  const all = Array.from({ length: count }, (_, index) => index as Partition);
  const missing = all.filter((partition) => !known.has(partition));
  const rows: NewPartition[] = [];
  for (let at = 0; at < missing.length; at += FENCES_AT_ONCE) {
    const some = missing.slice(at, at + FENCES_AT_ONCE);
    await refuseTrimmed(log, some);
    await Promise.all(some.map((partition) => fence(options, partition)));
    rows.push(...(await rowsOf(log, some)));
  }
  await store.addPartitions(rows, storeId);
  for (const { partition, start, rebuildTo } of rows) if (start < rebuildTo) hints.publish('appended', partition);
}

/** Rows that begin with the whole history of the partitions, for tables beside those in use, whose placements remain known. */
export async function wholePartitions(
  log: Pick<Ports['log'], 'bounds'>,
  partitions: readonly Partition[],
): Promise<readonly NewPartition[]> {
  await refuseTrimmed(log, partitions);
  return [...(await boundsOf(log, partitions))].map(([partition, { start, end }]) => ({
    partition,
    start,
    rebuildTo: end,
  }));
}

async function boundsOf(log: Pick<Ports['log'], 'bounds'>, partitions: readonly Partition[]) {
  const bounds = await log.bounds(partitions);
  if (bounds.size < partitions.length) throw new UnavailableError('log-growing', 'New partitions are not there yet.');
  return bounds;
}

/** The trimmed records may include openings: rows without them would let their ids run again. */
async function refuseTrimmed(log: Pick<Ports['log'], 'bounds'>, partitions: readonly Partition[]): Promise<void> {
  for (const [partition, { start }] of await boundsOf(log, partitions)) {
    if (start === 0) continue;
    throw new CorruptError(
      'archive-missing',
      `The rows of partition ${partition} are to be rebuilt, and its log begins at ${start}: what was before is in an archive that this process was not given. Set it (TIDEMARK_ARCHIVE_URL) and start again; nothing was changed.`,
      { partition, start },
    );
  }
}

/** The rows of fenced partitions. A partition with nothing but fences needs no fold, so the store stays ready while the pool grows. */
async function rowsOf(log: Ports['log'], partitions: readonly Partition[]): Promise<readonly NewPartition[]> {
  const bounds = await boundsOf(log, partitions);
  const short = partitions.filter((partition) => bounds.get(partition)!.end <= FENCES_FOLDED_MAX);
  const reads = short.map((partition) => ({ partition, from: bounds.get(partition)!.start }));
  const found = reads.length === 0 ? [] : await readSound(log, reads);
  const values = new Map(found.map(({ partition, records }) => [partition, records.map(({ value }) => value)]));
  return partitions.map((partition) => rowOf(partition, bounds.get(partition)!, values.get(partition) ?? []));
}

/** Empty when a partition is unreadable: the projector finds out which one, and continues with the others. */
async function readSound(log: Ports['log'], reads: readonly ReadRequest[]): Promise<readonly ReadResult[]> {
  try {
    return await log.read(reads, { maxBytes: TAIL_READ_MAX_BYTES });
  } catch (error) {
    if (error instanceof CorruptError) return [];
    throw error;
  }
}

function rowOf(partition: Partition, { start, end }: PartitionBounds, values: readonly Uint8Array[]): NewPartition {
  const entries = values.slice(0, end - start).map(decodeRecord);
  const isWhole = entries.length === end;
  if (!isWhole || !entries.every(isFence)) return { partition, start, rebuildTo: end };
  const { generation } = foldEntries(emptyPartition(partition, start), entries).state;
  return { partition, start: end, generation, rebuildTo: end };
}

const isFence = (entry: LogEntry): boolean => entry.kind === 'event' && entry.envelope.type === 'PartitionFenced';

async function fence({ ports, lamport }: RowsOptions, partition: Partition): Promise<void> {
  const { log, clock, prng } = ports;
  const atMs = clock.nowMs();
  const event = {
    id: eventId(`fence:${uuidv7(atMs, prng.bytes(10))}`),
    tenant: DEFAULT_TENANT,
    workflow: NO_WORKFLOW,
    generation: generation(1),
    lamport: lamport.stamp(),
    atMs,
    type: 'PartitionFenced',
    control: { partition },
  } as const;
  await log.append(partition, [inboxRecord(log, event, null)]);
}
