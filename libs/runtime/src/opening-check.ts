/**
 * Owns knowing that openings were accepted: rows are the snapshot, the log is the tail, as at a claim. Being in the log is not
 * enough to say that a workflow is started: the store, and with it the placement, may have been lost before the append landed,
 * and then nobody would ever place it anew (I6). Checks that come together share one read of rows and one of the log.
 */

import { decodeRecord } from '@tidemark/codec';
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
import { batched } from './batcher.ts';
import {
  BACKOFF_FIRST_MS,
  BACKOFF_MAX_MS,
  GAP_EMPTY_READS_MAX,
  PLACE_BATCH_MAX,
  TAIL_READ_MAX_BYTES,
} from './limits.ts';
import type { Ports } from './ports.ts';
import { backoffMs } from './retry.ts';

/** An opening whose record stands at this offset. */
export interface AppendedOpening {
  readonly placement: Placement;
  readonly offset: Offset;
}

export class OpeningCheck {
  readonly #ports: Pick<Ports, 'log' | 'store' | 'clock'>;
  /** Whether the workflow is open, or has been. Rejects with `UnavailableError` (`log-gap`) while the log shows too little to say. */
  readonly isAccepted: (opening: AppendedOpening) => Promise<boolean>;

  constructor(ports: Pick<Ports, 'log' | 'store' | 'clock'>) {
    this.#ports = ports;
    this.isAccepted = batched(PLACE_BATCH_MAX, (openings) => this.#checkAll(openings));
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
    const states = new Map<Partition, PartitionState>();
    for (const { partition, next, generation, streams } of await this.#ports.store.loadPartitions([...wanted.keys()])) {
      const folded = streams.map((stream) => streamFromJson(stream.state, stream.tasks));
      states.set(partition, partitionFrom(partition, next, generation, folded));
    }
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

  /** Folds one read of the log; false when it held nothing. */
  async #readOn(states: Map<Partition, PartitionState>, behind: readonly PartitionState[]): Promise<boolean> {
    const reads = behind.map(({ partition, next }) => ({ partition, from: next }));
    let hasMoved = false;
    for (const { partition, records } of await this.#ports.log.read(reads, { maxBytes: TAIL_READ_MAX_BYTES })) {
      let state = states.get(partition)!;
      for (const { value } of records) state = foldEntry(state, decodeRecord(value)).state;
      states.set(partition, state);
      hasMoved ||= records.length > 0;
    }
    return hasMoved;
  }
}
