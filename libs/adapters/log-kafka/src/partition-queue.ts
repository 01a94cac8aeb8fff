/**
 * Owns the appends that wait for one partition, in the order of their calls, and the one batch that is being sent. While a batch's outcome
 * is unknown nothing else of the partition is sent (L3). Must not know of leaders, requests or time-outs.
 */

import type { Offset } from '@tidemark/core';
import type { LogRecord } from '@tidemark/ports';
import type { PartitionBatch } from './append-client.ts';

/** One call of `append`. */
export interface Pending {
  readonly records: readonly LogRecord[];
  /** Upper bound of its bytes in a batch. */
  readonly bytes: number;
  readonly resolve: (first: Offset) => void;
  readonly reject: (error: unknown) => void;
  /** Stops listening to the caller's signal. */
  release: (() => void) | undefined;
  /** Answered, given up or refused; later outcomes are not reported. */
  isSettled: boolean;
}

export interface Batch extends PartitionBatch {
  readonly appends: readonly Pending[];
  readonly bytes: number;
  /** Why the last request that held it ended without a clear answer. */
  doubt: string | undefined;
}

export interface BatchLimits {
  readonly maxBytes: number;
  readonly maxRecords: number;
}

export class PartitionQueue {
  readonly partition: number;
  /** The batch whose outcome is not known yet. */
  batch: Batch | undefined;
  /** In a lane's list, in a request, or waiting to be sent again. */
  isBusy = false;
  /** How often in a row the batch could not be sent, or got no clear answer. */
  doubtCount = 0;
  #waiting: Pending[] = [];
  /** How many of the next appends are sent one at a time: together they were refused as too large. */
  #singles = 0;

  constructor(partition: number) {
    this.partition = partition;
  }

  get isEmpty(): boolean {
    return this.batch === undefined && this.#waiting.length === 0;
  }

  add(append: Pending): void {
    this.#waiting.push(append);
  }

  /** Returns the batch to send now: the one sent before, or a new one. Undefined when nothing waits. */
  take(limits: BatchLimits, nowMs: number): Batch | undefined {
    if (this.batch !== undefined) return this.batch;
    const appends: Pending[] = [];
    let bytes = 0;
    let count = 0;
    let seen = 0;
    for (const append of this.#waiting) {
      const fits = bytes + append.bytes <= limits.maxBytes && count + append.records.length <= limits.maxRecords;
      if (appends.length > 0 && (!fits || this.#singles > 0)) break;
      seen++;
      if (append.isSettled) continue;
      appends.push(append);
      bytes += append.bytes;
      count += append.records.length;
    }
    if (seen === this.#waiting.length) this.#waiting = [];
    else this.#waiting.splice(0, seen);
    if (appends.length === 0) return undefined;
    this.#singles = Math.max(0, this.#singles - 1);
    this.batch = newBatch(this.partition, appends, bytes, nowMs);
    return this.batch;
  }

  /** Splits the batch, to send its appends one by one, in order. */
  split(batch: Batch): void {
    this.batch = undefined;
    this.#waiting = [...batch.appends, ...this.#waiting];
    this.#singles += batch.appends.length;
  }

  /** Empties the queue. Returns every unanswered append, so that the caller can reject them. */
  drain(): readonly Pending[] {
    const all = [...(this.batch?.appends ?? []), ...this.#waiting];
    this.batch = undefined;
    this.#waiting = [];
    return all;
  }
}

function newBatch(partition: number, appends: readonly Pending[], bytes: number, timestampMs: number): Batch {
  const records = appends.length === 1 ? appends[0]!.records : appends.flatMap((append) => append.records);
  return { partition, records, timestampMs, encoded: undefined, appends, bytes, doubt: undefined };
}
