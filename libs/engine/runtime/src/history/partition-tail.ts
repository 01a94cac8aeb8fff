/**
 * Owns partitions as they are now, while rows may be behind: rows are the snapshot, and the log is the tail. Whoever must know what rows may
 * not show yet folds from there. It writes nothing.
 */

import { entryOf } from '@tidemark/codec';
import {
  type EventEntry,
  foldEntry,
  type Offset,
  type Partition,
  type PartitionState,
  partitionFrom,
  streamFromJson,
  UnavailableError,
} from '@tidemark/core';
import type { ReadResult } from '@tidemark/ports';
import { BACKOFF_FIRST_MS, BACKOFF_MAX_MS, backoffMs, type Ports } from '../kernel/index.ts';
import { GAP_EMPTY_READS_MAX, TAIL_READ_MAX_BYTES } from '../lease/index.ts';

type TailPorts = Pick<Ports, 'log' | 'store' | 'clock'>;

/** The partitions by their rows. */
export async function partitionsInRows(
  { store }: Pick<TailPorts, 'store'>,
  partitions: readonly Partition[],
): Promise<Map<Partition, PartitionState>> {
  const states = new Map<Partition, PartitionState>();
  for (const { partition, next, generation, streams } of await store.loadPartitions(partitions)) {
    const folded = streams.map((stream) => streamFromJson(stream.state, stream.tasks));
    states.set(partition, partitionFrom(partition, next, generation, folded));
  }
  return states;
}

/** Where a record is to be found. */
interface Place {
  readonly partition: Partition;
  readonly offset: Offset;
}

/** Receives each accepted event that rows didn't have, in order. */
type OnAccepted = (entry: EventEntry) => void;

/**
 * The partitions of these records, folded to what a read or two show; those without rows are missing. A state may be behind its record: what
 * isn't there may come later, or never.
 */
export async function foldNear(
  ports: TailPorts,
  places: readonly Place[],
  onAccepted: OnAccepted,
): Promise<ReadonlyMap<Partition, PartitionState>> {
  const wanted = lastOf(places);
  const states = await foldLikely(ports, wanted, onAccepted);
  await readOn(ports, states, wanted, onAccepted);
  return states;
}

/** The same, folded through these records. Throws `UnavailableError` (`log-gap`) while the log shows less than it acknowledged. */
export async function foldThrough(
  ports: TailPorts,
  places: readonly Place[],
): Promise<ReadonlyMap<Partition, PartitionState>> {
  const wanted = lastOf(places);
  const states = await foldLikely(ports, wanted);
  for (let emptyCount = 0; ; ) {
    const read = await readOn(ports, states, wanted);
    if (read === 'nothing wanted') return states;
    if (read === 'records') {
      emptyCount = 0;
      continue;
    }
    // The log acknowledged these records, but a replica that lags may not show them yet.
    if (++emptyCount === GAP_EMPTY_READS_MAX) {
      const partitions = behind(states, wanted).map(({ partition }) => partition);
      throw new UnavailableError('log-gap', "The log doesn't show the records that it acknowledged.", { partitions });
    }
    await ports.clock.sleep(backoffMs(emptyCount, BACKOFF_FIRST_MS, BACKOFF_MAX_MS));
  }
}

/** The last record of each partition. */
function lastOf(places: readonly Place[]): ReadonlyMap<Partition, Offset> {
  const last = new Map<Partition, Offset>();
  for (const { partition, offset } of places) {
    if ((last.get(partition) ?? -1) < offset) last.set(partition, offset);
  }
  return last;
}

/** Mostly rows end where the wanted records begin, and both are read at once. */
async function foldLikely(
  ports: TailPorts,
  wanted: ReadonlyMap<Partition, Offset>,
  onAccepted?: OnAccepted,
): Promise<Map<Partition, PartitionState>> {
  const [states, likely] = await Promise.all([
    partitionsInRows(ports, [...wanted.keys()]),
    readFrom(ports, wanted).catch(() => []),
  ]);
  const follows = ({ partition }: ReadResult): boolean => states.get(partition)?.next === wanted.get(partition);
  fold(states, likely.filter(follows), onAccepted);
  return states;
}

const behind = (
  states: ReadonlyMap<Partition, PartitionState>,
  wanted: ReadonlyMap<Partition, Offset>,
): readonly PartitionState[] => [...states.values()].filter(({ partition, next }) => next <= wanted.get(partition)!);

/** Reads the log once for the partitions that are behind, and folds what it shows. */
async function readOn(
  ports: TailPorts,
  states: Map<Partition, PartitionState>,
  wanted: ReadonlyMap<Partition, Offset>,
  onAccepted?: OnAccepted,
): Promise<'nothing wanted' | 'nothing' | 'records'> {
  const late = behind(states, wanted);
  if (late.length === 0) return 'nothing wanted';
  const results = await readFrom(ports, new Map(late.map(({ partition, next }) => [partition, next])));
  return fold(states, results, onAccepted) ? 'records' : 'nothing';
}

const readFrom = (
  { log }: Pick<TailPorts, 'log'>,
  from: ReadonlyMap<Partition, Offset>,
): Promise<readonly ReadResult[]> =>
  log.read(
    Array.from(from, ([partition, offset]) => ({ partition, from: offset })),
    { maxBytes: TAIL_READ_MAX_BYTES },
  );

/** False: there were no records. */
function fold(
  states: Map<Partition, PartitionState>,
  results: readonly ReadResult[],
  onAccepted?: OnAccepted,
): boolean {
  for (const { partition, records } of results) {
    let state = states.get(partition)!;
    for (const record of records) {
      const entry = entryOf(record);
      const step = foldEntry(state, entry);
      state = step.state;
      if (entry.kind === 'event' && step.verdict.kind === 'accepted') onAccepted?.(entry);
    }
    states.set(partition, state);
  }
  return results.some(({ records }) => records.length > 0);
}
