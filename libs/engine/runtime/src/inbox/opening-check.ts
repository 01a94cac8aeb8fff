/**
 * Owns knowing that openings were accepted: rows are the snapshot, the log is the tail, as at a claim. Being in the log is not
 * enough to say that a workflow is started: the store, and with it the placement, may have been lost before the append landed,
 * and then nobody would ever place it anew (I6). Checks that come together share one read of rows and one of the log.
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

/** An opening whose record stands at this offset. */
export interface AppendedOpening {
  readonly placement: Placement;
  readonly offset: Offset;
}

/** An opening that this process has appended itself. */
export interface OwnOpening extends AppendedOpening {
  /** The record as it was given to the log. */
  readonly value: Uint8Array;
  /** What rows said while it was on its way; undefined where they couldn't be read. */
  readonly before: PartitionState | undefined;
}

export class OpeningCheck {
  readonly #ports: Pick<Ports, 'log' | 'store' | 'clock'>;
  /** What rows say of a partition; undefined where it is unknown or they can't be read. Never rejects. */
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
   * Whether the workflow is open, or has been. Where nothing lies between rows and the opening, the fold of the one on the other says it,
   * whatever became of the rows since; else the log is read. Throws `UnavailableError` (`log-gap`) while that shows too little to say.
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
        // Rows that are further may have forgotten it already, since it ended and another began here.
        return (state?.next ?? 0) > offset && (await this.#ports.store.workflow(workflow)) !== undefined;
      }),
    );
  }

  /** The partitions as folded through these offsets, or further where rows are. */
  async #foldThrough(wanted: ReadonlyMap<Partition, Offset>): Promise<ReadonlyMap<Partition, PartitionState>> {
    const states = await this.#load([...wanted.keys()]);
    for (let emptyCount = 0; ; ) {
      const behind = [...states.values()].filter(({ partition, next }) => next <= wanted.get(partition)!);
      if (behind.length === 0) return states;
      if (await this.#readOn(states, behind)) {
        emptyCount = 0;
        continue;
      }
      // What was acknowledged must be there; a replica that lags may not show it yet.
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

  /** Folds one read of the log; false when it held nothing. */
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
