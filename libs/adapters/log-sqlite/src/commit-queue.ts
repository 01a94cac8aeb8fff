/**
 * Owns the appends that wait for their transaction: group commit. Appends of one turn of the event loop are committed together at its end,
 * in the order of the calls (L3), up to the limits of a transaction; the rest in the next turns. Must not know how a transaction runs.
 */

import { InvalidError, LimitError, type Offset, UnavailableError } from '@tidemark/core';
import type { LogRecord } from '@tidemark/ports';
import type { SqliteLogLimits } from './limits.ts';

/** One call of `append`. */
export interface Pending {
  readonly partition: number;
  readonly records: readonly LogRecord[];
  readonly signal: AbortSignal | undefined;
  readonly resolve: (first: Offset) => void;
  readonly reject: (error: unknown) => void;
  /** Offset of the first record: set inside the transaction, reported after its commit. */
  first: number;
}

/** Stores all of the appends and sets their `first`, or throws and stores none. */
export type Commit = (appends: readonly Pending[]) => void;

const bytesOf = ({ records }: Pending): number => records.reduce((sum, { value }) => sum + value.byteLength, 0);

export class CommitQueue {
  readonly #limits: SqliteLogLimits;
  readonly #commit: Commit;
  #waiting: Pending[] = [];
  #waitingBytes = 0;
  #isScheduled = false;
  #isClosed = false;

  constructor(limits: SqliteLogLimits, commit: Commit) {
    this.#limits = limits;
    this.#commit = commit;
  }

  /** Throws `InvalidError`, `LimitError` or `UnavailableError`; then nothing was added. */
  add(append: Pending): void {
    if (this.#isClosed) throw givenUp(append, 'closed');
    this.#check(append);
    if (append.signal?.aborted) throw givenUp(append, 'aborted');
    this.#waiting.push(append);
    this.#waitingBytes += bytesOf(append);
    this.#schedule();
  }

  /** Commits what waits and accepts nothing more. */
  close(): void {
    this.#isClosed = true;
    while (this.#waiting.length > 0) this.#flush();
  }

  #check(append: Pending): void {
    const { recordMaxBytes, appendMaxBytes, pendingMaxBytes } = this.#limits;
    const { partition, records } = append;
    if (records.length === 0)
      throw new InvalidError('append-empty', 'An append needs at least one record.', { partition });
    for (const { value } of records) {
      if (value.byteLength <= recordMaxBytes) continue;
      const message = `A record of ${value.byteLength} bytes is over the limit of ${recordMaxBytes}.`;
      throw new LimitError('record-too-large', message, { partition, valueBytes: value.byteLength, recordMaxBytes });
    }
    const bytes = bytesOf(append);
    if (bytes > appendMaxBytes) {
      const message = `An append of ${bytes} bytes is over the limit of ${appendMaxBytes}.`;
      throw new LimitError('append-too-large', message, { partition, bytes, appendMaxBytes });
    }
    if (this.#waitingBytes + bytes > pendingMaxBytes) {
      const message = `Appends of ${this.#waitingBytes} bytes wait already; nothing was added.`;
      throw new LimitError('append-queue-full', message, { partition, pendingMaxBytes });
    }
  }

  /** Commits at the end of this turn of the event loop, so that all its appends share one commit. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#flush();
      if (this.#waiting.length > 0) this.#schedule();
    });
  }

  #flush(): void {
    const appends = this.#take();
    if (appends.length === 0) return;
    try {
      this.#commit(appends);
    } catch (error) {
      for (const append of appends) append.reject(error);
      return;
    }
    for (const append of appends) append.resolve(append.first as Offset);
  }

  /** Takes the oldest appends until the transaction is full; drops those that were given up. */
  #take(): readonly Pending[] {
    const { transactionMaxBytes, transactionMaxRecords } = this.#limits;
    const appends: Pending[] = [];
    let bytes = 0;
    let records = 0;
    let seen = 0;
    for (const append of this.#waiting) {
      const ownBytes = bytesOf(append);
      const isFull = bytes + ownBytes > transactionMaxBytes || records + append.records.length > transactionMaxRecords;
      if (isFull && appends.length > 0) break;
      seen++;
      this.#waitingBytes -= ownBytes;
      if (append.signal?.aborted) {
        append.reject(givenUp(append, 'aborted'));
        continue;
      }
      appends.push(append);
      bytes += ownBytes;
      records += append.records.length;
    }
    this.#waiting = seen === this.#waiting.length ? [] : this.#waiting.slice(seen);
    return appends;
  }
}

function givenUp({ partition, signal }: Pending, why: 'aborted' | 'closed'): UnavailableError {
  const message = `The append to partition ${partition} was given up (${why}); nothing of it is stored.`;
  return new UnavailableError(`append-${why}`, message, { partition, cause: signal?.reason });
}
