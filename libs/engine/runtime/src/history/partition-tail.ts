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
  const states = await partitionsInRows(ports, [...wanted.keys()]);
  for (let emptyCount = 0; ; ) {
    const behind = [...states.values()].filter(({ partition, next }) => next <= wanted.get(partition)!);
    if (behind.length === 0) return states;
    if (await readOn(ports, states, behind, onAccepted)) {
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

/** Folds one read of the log. False when it had no records. */
async function readOn(
  { log }: Pick<TailPorts, 'log'>,
  states: Map<Partition, PartitionState>,
  behind: readonly PartitionState[],
  onAccepted: (entry: EventEntry) => void,
): Promise<boolean> {
  const reads = behind.map(({ partition, next }) => ({ partition, from: next }));
  let hasMoved = false;
  for (const { partition, records } of await log.read(reads, { maxBytes: TAIL_READ_MAX_BYTES })) {
    let state = states.get(partition)!;
    for (const record of records) {
      const entry = entryOf(record);
      const step = foldEntry(state, entry);
      state = step.state;
      if (entry.kind === 'event' && step.verdict.kind === 'accepted') onAccepted(entry);
    }
    states.set(partition, state);
    hasMoved ||= records.length > 0;
  }
  return hasMoved;
}
