/**
 * Owns one process's view of the shared log, as an adapter behaves: an append is repeated until its answer has come, so a stored append
 * without an answer is stored twice; while that lasts nothing else of this process goes to the partition (L3).
 */

import { LimitError, type Offset, type Partition } from '@tidemark/core';
import type { EventLog, LogRecord, PartitionBounds, ReadRequest, ReadResult } from '@tidemark/ports';
import { type Network, never } from './network.ts';
import type { SimulatedProcess } from './process.ts';
import type { Scheduler } from './scheduler.ts';
import type { Witness } from './witness.ts';

/** A request without an answer is sent again after so many milliseconds. */
const AGAIN_MS = { min: 50, max: 400 };
/** Share of the reads that get few records, however many there are. */
const SHORT_READ = 0.05;

interface Waiting {
  readonly records: readonly LogRecord[];
  readonly resolve: (base: Offset) => void;
}

export interface LogViewOptions {
  readonly witness: Witness;
  readonly network: Network;
  readonly scheduler: Scheduler;
  readonly process: SimulatedProcess;
  /** Share of the appends that are stored although their answer is lost. */
  readonly ambiguous: () => number;
}

export class LogView implements EventLog {
  readonly durability = 'process';
  readonly recordMaxBytes: number;
  readonly #options: LogViewOptions;
  readonly #lanes = new Map<Partition, Waiting[]>();

  constructor(options: LogViewOptions) {
    this.#options = options;
    this.recordMaxBytes = options.witness.log.recordMaxBytes;
  }

  #call<T>(operation: string, effect: () => T | Promise<T>): Promise<T> {
    const { network, process } = this.#options;
    return network.call(process, 'log', operation, effect);
  }

  partitionCount(): Promise<number> {
    return this.#call('partitionCount', () => this.#options.witness.log.partitionCount());
  }

  growTo(count: number): Promise<number> {
    return this.#call('growTo', () => this.#options.witness.log.growTo(count));
  }

  append(partition: Partition, records: readonly LogRecord[]): Promise<Offset> {
    const { network, process } = this.#options;
    const large = records.find((record) => record.value.length > this.recordMaxBytes);
    if (large !== undefined) {
      return Promise.reject(new LimitError('record-too-large', `A record has ${large.value.length} bytes.`));
    }
    if (!network.trap(process, 'log', typesOf(records), 'sent')) return never();
    return new Promise((resolve) => {
      const lane = this.#lanes.get(partition) ?? [];
      this.#lanes.set(partition, lane);
      lane.push({ records, resolve });
      if (lane.length === 1) this.#send(partition, lane);
    });
  }

  /** Sends the first of the lane, again and again until it is answered. */
  #send(partition: Partition, lane: Waiting[]): void {
    const { network, scheduler, process, witness, ambiguous } = this.#options;
    const { records, resolve } = lane[0]!;
    const again = (): void => {
      const delayMs = process.random.between(AGAIN_MS.min, AGAIN_MS.max);
      scheduler.after(delayMs, () => process.deliver(() => this.#send(partition, lane)));
    };
    scheduler.after(network.tripMs('log'), () => {
      if (network.isLost(process)) return 'quiet';
      if (network.isCut(process, 'log')) {
        again();
        return 'quiet';
      }
      const base = witness.store(partition, records, process.name);
      network.trap(process, 'log', typesOf(records), 'done');
      if (process.random.chance(ambiguous()) || network.isCut(process, 'log')) again();
      else {
        scheduler.after(network.tripMs('log'), () =>
          process.deliver(() => {
            lane.shift();
            witness.acknowledge(process.name, partition, base, records);
            resolve(base);
            if (lane.length > 0) this.#send(partition, lane);
          }),
        );
      }
      return 'quiet';
    });
  }

  read(requests: readonly ReadRequest[]): Promise<readonly ReadResult[]> {
    const { process, witness } = this.#options;
    const recordsMax = process.random.chance(SHORT_READ) ? process.random.count(1, 3) : undefined;
    return this.#call('read', () => witness.log.poll(requests, recordsMax));
  }

  bounds(partitions?: readonly Partition[]): Promise<ReadonlyMap<Partition, PartitionBounds>> {
    return this.#call('bounds', () => this.#options.witness.log.bounds(partitions));
  }

  trim(partition: Partition, before: Offset): Promise<void> {
    const { witness, process } = this.#options;
    return this.#call('trim', () => witness.trim(partition, before, process.name));
  }

  sizeBytes(): Promise<number> {
    return this.#call('sizeBytes', () => this.#options.witness.log.sizeBytes());
  }

  async close(): Promise<void> {}
}

const typesOf = (records: readonly LogRecord[]): string => records.map((record) => record.type).join(' ');
