/**
 * Owns the check that an opening was accepted. As at a claim, rows are the snapshot and the log is the tail. That the opening is in the log
 * is not enough: the store, with the placement, may have been lost before the append, and then nobody would ever place the workflow again
 * (I6). Concurrent checks share one read of rows and one of the log.
 */

import { decodeRecord } from '@tidemark/codec';
import { foldEntry, type Offset, type Partition, type PartitionState, type StreamState } from '@tidemark/core';
import type { Placement } from '@tidemark/ports';
import { batched, batchedByKey } from '@tidemark/ports/batched';
import { foldThrough, partitionsInRows } from '../history/index.ts';
import type { Ports } from '../kernel/index.ts';
import { PLACE_BATCH_MAX } from './limits.ts';

/** An opening whose record is at this offset. */
interface AppendedOpening {
  readonly placement: Placement;
  readonly offset: Offset;
}

/** An opening that this process has appended itself. */
interface OwnOpening extends AppendedOpening {
  /** The record as it was given to the log. */
  readonly value: Uint8Array;
  /** The partition's rows from before the append; undefined where they couldn't be read. */
  readonly before: PartitionState | undefined;
}

/** What the check found: the workflow as it is, `gone` of one that was open and has ended, undefined of one that was never accepted. */
type Found = StreamState | 'gone' | undefined;

export class OpeningCheck {
  readonly #ports: Pick<Ports, 'log' | 'store' | 'clock'>;
  /** The partition by its rows; undefined where it is unknown or its rows can't be read. Never rejects. */
  readonly rowsOf: (partition: Partition) => Promise<PartitionState | undefined>;
  readonly #findInLog: (opening: AppendedOpening) => Promise<Found>;

  constructor(ports: Pick<Ports, 'log' | 'store' | 'clock'>) {
    this.#ports = ports;
    this.#findInLog = batched(PLACE_BATCH_MAX, (openings) => this.#findAll(openings));
    this.rowsOf = batchedByKey(PLACE_BATCH_MAX, (partitions) =>
      partitionsInRows(ports, partitions).catch(() => new Map()),
    );
  }

  /**
   * The workflow, if it is or was open. If the opening directly follows the rows from before, folding it onto them gives the answer,
   * whatever has happened to the rows since; otherwise the log is read. Throws `UnavailableError` (`log-gap`) while the log shows too
   * little to decide.
   */
  async find({ placement, offset, value, before }: OwnOpening): Promise<Found> {
    const state = before?.next === offset ? foldEntry(before, decodeRecord(value)).state : undefined;
    return state?.streams.get(placement.workflow) ?? this.#findInLog({ placement, offset });
  }

  async #findAll(openings: readonly AppendedOpening[]): Promise<readonly Found[]> {
    const states = await foldThrough(
      this.#ports,
      openings.map(({ placement: { partition }, offset }) => ({ partition, offset })),
    );
    return Promise.all(
      openings.map(async ({ placement: { workflow, partition }, offset }) => {
        const state = states.get(partition);
        const stream = state?.streams.get(workflow);
        if (stream !== undefined) return stream;
        // Later rows may no longer have the stream, because it ended and another workflow began in the partition.
        const isFolded = (state?.next ?? 0) > offset;
        return isFolded && (await this.#ports.store.workflow(workflow)) !== undefined ? 'gone' : undefined;
      }),
    );
  }
}
