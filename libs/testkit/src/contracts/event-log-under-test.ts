/** Owns what the parts of EventLog's contract share: the log under test, records made of text, reading a whole partition. */

import { offset, type Partition } from '@tidemark/core';
import type { EventLog, LogRecord, StoredRecord } from '@tidemark/ports';

export interface OpenedEventLog {
  readonly log: EventLog;
  /** Closes the log and opens it again, as after a restart. */
  reopen(): Promise<EventLog>;
  /** Opens the same log as a second process would; undefined where only one may have it. */
  readonly another?: () => Promise<EventLog>;
  cleanup(): Promise<void>;
}

/** What the tests of one suite share. */
export interface LogUnderTest {
  log: EventLog;
  opened: OpenedEventLog;
  /** A partition that no other test uses. */
  fresh(): Partition;
}

export const record = (text: string, type = 'Tested'): LogRecord => ({ value: Buffer.from(text), type });
export const texts = (records: readonly StoredRecord[]): string[] =>
  records.map(({ value }) => Buffer.from(value).toString());
export const offsets = (records: readonly StoredRecord[]): number[] => records.map((stored) => stored.offset);

/** Everything a partition holds from an offset on, in as many reads as it takes. */
export async function readAll(log: EventLog, from: Partition, first: number = 0): Promise<readonly StoredRecord[]> {
  const records: StoredRecord[] = [];
  for (;;) {
    const next = offset(first + records.length);
    const [result] = await log.read([{ partition: from, from: next }]);
    records.push(...result!.records);
    if (first + records.length >= result!.end) return records;
  }
}
