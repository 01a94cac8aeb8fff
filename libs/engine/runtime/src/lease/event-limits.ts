/**
 * Owns how large events may be in a log, and which of them go in one append. Where the log keeps large payloads elsewhere, an event may be
 * as large as those may, and what must be in the log itself is its header. Pure.
 */

import { HEADER_MAX_BYTES } from '@tidemark/codec';
import { LimitError } from '@tidemark/core';
import { BLOB_REFERENCE_MAX_BYTES, type EventLog, type LogRecord } from '@tidemark/ports';
import { EVENT_MAX_BYTES } from '../views/index.ts';

export interface EventLimits {
  /** Of one event, and of events that stand or fall together. */
  readonly maxBytes: number;
  /** Of their headers. */
  readonly headMaxBytes: number;
  /** Of what goes in one append, unless less can't be told apart. */
  readonly appendMaxBytes: number;
}

export function eventLimits(log: Pick<EventLog, 'recordMaxBytes' | 'inlineMaxBytes'>): EventLimits {
  const { recordMaxBytes, inlineMaxBytes } = log;
  if (inlineMaxBytes === undefined) {
    const maxBytes = Math.min(EVENT_MAX_BYTES, recordMaxBytes);
    return { maxBytes, headMaxBytes: HEADER_MAX_BYTES, appendMaxBytes: maxBytes };
  }
  const headMaxBytes = Math.min(HEADER_MAX_BYTES, inlineMaxBytes - LINE_END_BYTES - BLOB_REFERENCE_MAX_BYTES);
  return { maxBytes: recordMaxBytes, headMaxBytes, appendMaxBytes: inlineMaxBytes };
}

const LINE_FEED = 0x0a;
const LINE_END_BYTES = 1;

interface Staged {
  readonly record: LogRecord;
  /** Events staged together stand or fall together: one of them begins each such group. */
  beginsGroup: boolean;
}

/** What of a record must be in the log itself, wherever its payload is. */
const leastBytes = ({ value }: LogRecord): number =>
  Math.min(value.length, value.indexOf(LINE_FEED) + LINE_END_BYTES + BLOB_REFERENCE_MAX_BYTES);

const sum = (staged: readonly Staged[], bytesOf: (record: LogRecord) => number): number =>
  staged.reduce((bytes, { record }) => bytes + bytesOf(record), 0);

/** Makes one group of them. Throws `LimitError` (`value-too-large`): a crash between two appends would leave a part of it. */
export function groupTogether(
  staged: readonly Staged[],
  { maxBytes, appendMaxBytes }: EventLimits,
  workflow: string,
): void {
  for (const entry of staged) entry.beginsGroup = entry === staged[0];
  const bytes = sum(staged, ({ value }) => value.length);
  if (bytes <= maxBytes && sum(staged, leastBytes) <= appendMaxBytes) return;
  const types = staged.map(({ record }) => record.type).join(' and ');
  throw new LimitError(
    'value-too-large',
    `${types} of workflow ${workflow}: together ${bytes} bytes, at most ${maxBytes} fit in one append, and ${appendMaxBytes} of control. Store large values elsewhere and keep a reference.`,
    { sizeBytes: bytes, maxBytes },
  );
}

/** Parts that the log takes in one append; a group is never split. */
export function appendable<T extends Staged>(entries: readonly T[], appendMaxBytes: number): readonly (readonly T[])[] {
  const batches: T[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (let at = 0; at < entries.length; ) {
    let end = at + 1;
    while (entries[end]?.beginsGroup === false) end++;
    const group = entries.slice(at, end);
    const groupBytes = sum(group, ({ value }) => value.length);
    if (bytes + groupBytes > appendMaxBytes) {
      batches.push([]);
      bytes = 0;
    }
    bytes += groupBytes;
    batches.at(-1)!.push(...group);
    at = end;
  }
  return batches;
}
