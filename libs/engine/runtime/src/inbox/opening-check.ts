/**
 * Owns the check that an opening was accepted. As at a claim, rows are the snapshot and the log is the tail. That the opening is in the log
 * is not enough: the store, with the placement, may have been lost before the append, and then nobody would ever place the workflow again
 * (I6). Concurrent checks share one read of rows and one of the log.
 */

import { decodeRecord, entryOf } from '@tidemark/codec';
import {
  foldEntry,
  type Offset,
  type Partition,
  type PartitionState,
  partitionFrom,
  streamFromJson,
  UnavailableError,
} from '@tidemark/core';
import type { Placement } from '@tidemark/ports';
import { BACKOFF_FIRST_MS, BACKOFF_MAX_MS, backoffMs, batched, type Ports } from '../kernel/index.ts';
import { GAP_EMPTY_READS_MAX, TAIL_READ_MAX_BYTES } from '../lease/index.ts';
import { PLACE_BATCH_MAX } from './limits.ts';

/** An opening whose record is at this offset. */
export interface AppendedOpening {
  readonly placement: Placement;
  readonly offset: Offset;
}

/** An opening that this process has appended itself. */
export interface OwnOpening extends AppendedOpening {
  /** The record as it was given to the log. */
  readonly value: Uint8Array;
  /** The partition's rows from before the append; undefined where they couldn't be read. */
  readonly before: PartitionState | undefined;
}

export class OpeningCheck {
  readonly #ports: Pick<Ports, 'log' | 'store' | 'clock'>;
  /** The partition by its rows; undefined where it is unknown or its rows can't be read. Never rejects. */
  readonly rowsOf: (partition: Partition) => Promise<PartitionState | undefined>;
  readonly #isAcceptedByLog: (opening: AppendedOpening) => Promise<boolean>;

  constructor(ports: Pick<Ports, 'log' | 'store' | 'clock'>) {
    this.#ports = ports;
    this.#isAcceptedByLog = batched(PLACE_BATCH_MAX, (openings) => this.#checkAll(openings));
    this.rowsOf = batched(PLACE_BATCH_MAX, async (partitions) => {
      const states = await this.#load(partitions).catch(() => undefined);
      return partitions.map((partition) => states?.get(partition));
    });
  }

  /**
   * Whether the workflow is or was open. If the opening directly follows the rows from before, folding it onto them gives the answer,
   * whatever has happened to the rows since; otherwise the log is read. Throws `UnavailableError` (`log-gap`) while the log shows too
   * little to decide.
   */
  async isAccepted({ placement, offset, value, before }: OwnOpening): Promise<boolean> {
    const state = before?.next === offset ? foldEntry(before, decodeRecord(value)).state : undefined;
    return state?.streams.has(placement.workflow) === true || this.#isAcceptedByLog({ placement, offset });
  }

  async #checkAll(openings: readonly AppendedOpening[]): Promise<readonly boolean[]> {
    const wanted = new Map<Partition, Offset>();
    for (const { placement, offset } of openings) {
      const { partition } = placement;
      if ((wanted.get(partition) ?? -1) < offset) wanted.set(partition, offset);
    }
    const states = await this.#foldThrough(wanted);
    return Promise.all(
      openings.map(async ({ placement: { workflow, partition }, offset }) => {
        const state = states.get(partition);
        if (state?.streams.has(workflow) === true) return true;
        // Later rows may no longer have the stream, because it ended and another workflow began in the partition.
        return (state?.next ?? 0) > offset && (await this.#ports.store.workflow(workflow)) !== undefined;
      }),
    );
  }

  /** The partitions folded through these offsets, or further where rows are ahead. */
  async #foldThrough(wanted: ReadonlyMap<Partition, Offset>): Promise<ReadonlyMap<Partition, PartitionState>> {
    const states = await this.#load([...wanted.keys()]);
    for (let emptyCount = 0; ; ) {
      const behind = [...states.values()].filter(({ partition, next }) => next <= wanted.get(partition)!);
      if (behind.length === 0) return states;
      if (await this.#readOn(states, behind)) {
        emptyCount = 0;
        continue;
      }
      // The log acknowledged the openings, but a replica that lags may not show them yet.
      if (++emptyCount === GAP_EMPTY_READS_MAX) {
        throw new UnavailableError('log-gap', "The log doesn't show the openings that it acknowledged.", {
          partitions: behind.map(({ partition }) => partition),
        });
      }
      await this.#ports.clock.sleep(backoffMs(emptyCount, BACKOFF_FIRST_MS, BACKOFF_MAX_MS));
    }
  }

  async #load(partitions: readonly Partition[]): Promise<Map<Partition, PartitionState>> {
    const states = new Map<Partition, PartitionState>();
    for (const { partition, next, generation, streams } of await this.#ports.store.loadPartitions(partitions)) {
      const folded = streams.map((stream) => streamFromJson(stream.state, stream.tasks));
      states.set(partition, partitionFrom(partition, next, generation, folded));
    }
    return states;
  }

  /** Folds one read of the log. False when it had no records. */
  async #readOn(states: Map<Partition, PartitionState>, behind: readonly PartitionState[]): Promise<boolean> {
    const reads = behind.map(({ partition, next }) => ({ partition, from: next }));
    let hasMoved = false;
    for (const { partition, records } of await this.#ports.log.read(reads, { maxBytes: TAIL_READ_MAX_BYTES })) {
      let state = states.get(partition)!;
      for (const record of records) state = foldEntry(state, entryOf(record)).state;
      states.set(partition, state);
      hasMoved ||= records.length > 0;
    }
    return hasMoved;
  }
}
