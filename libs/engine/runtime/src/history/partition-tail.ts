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

/**
 * The partitions folded through these offsets, or further where rows are ahead; those without rows are missing. `onAccepted` receives each
 * accepted event that rows didn't have, in order. Throws `UnavailableError` (`log-gap`) while the log shows less than it acknowledged.
 */
export async function foldThrough(
  ports: TailPorts,
  wanted: ReadonlyMap<Partition, Offset>,
  onAccepted: (entry: EventEntry) => void = () => {},
): Promise<ReadonlyMap<Partition, PartitionState>> {
  // Mostly rows end where the wanted records begin, and both are read at once.
  const [states, likely] = await Promise.all([
    partitionsInRows(ports, [...wanted.keys()]),
    readFrom(ports, wanted).catch(() => []),
  ]);
  fold(
    states,
    likely.filter(({ partition }) => states.get(partition)?.next === wanted.get(partition)),
    onAccepted,
  );
  for (let emptyCount = 0; ; ) {
    const behind = [...states.values()].filter(({ partition, next }) => next <= wanted.get(partition)!);
    if (behind.length === 0) return states;
    const results = await readFrom(ports, new Map(behind.map(({ partition, next }) => [partition, next])));
    if (fold(states, results, onAccepted)) {
      emptyCount = 0;
      continue;
    }
    // The log acknowledged these records, but a replica that lags may not show them yet.
    if (++emptyCount === GAP_EMPTY_READS_MAX) {
      const partitions = behind.map(({ partition }) => partition);
      throw new UnavailableError('log-gap', "The log doesn't show the records that it acknowledged.", { partitions });
    }
    await ports.clock.sleep(backoffMs(emptyCount, BACKOFF_FIRST_MS, BACKOFF_MAX_MS));
  }
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
  onAccepted: (entry: EventEntry) => void,
): boolean {
  for (const { partition, records } of results) {
    let state = states.get(partition)!;
    for (const record of records) {
      const entry = entryOf(record);
      const step = foldEntry(state, entry);
      state = step.state;
      if (entry.kind === 'event' && step.verdict.kind === 'accepted') onAccepted(entry);
    }
    states.set(partition, state);
  }
  return results.some(({ records }) => records.length > 0);
}
