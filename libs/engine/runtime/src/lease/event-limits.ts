/**
 * Owns how large events may be in a log, and which of them go into one append. If the log keeps large payloads elsewhere, an event may be
 * as large as they may, and only its header must fit into the log itself. Pure.
 */

import { HEADER_MAX_BYTES } from '@tidemark/codec';
import { LimitError } from '@tidemark/core';
import { BLOB_REFERENCE_MAX_BYTES, type EventLog, type LogRecord } from '@tidemark/ports';
import { EVENT_MAX_BYTES } from '../views/index.ts';

export interface EventLimits {
  /** Largest event, and largest total of a group. */
  readonly maxBytes: number;
  /** Largest header of an event. */
  readonly headMaxBytes: number;
  /** Most bytes in one append, except that a larger group goes into an append of its own. */
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
  /** True for the first event of each group. A group goes into one append, so that all of its events or none are in the log. */
  beginsGroup: boolean;
}

/** How many bytes of a record the log itself must hold: all, or those of the header and a reference if the payload is stored elsewhere. */
const leastBytes = ({ value }: LogRecord): number =>
  Math.min(value.length, value.indexOf(LINE_FEED) + LINE_END_BYTES + BLOB_REFERENCE_MAX_BYTES);

const sum = (staged: readonly Staged[], bytesOf: (record: LogRecord) => number): number =>
  staged.reduce((bytes, { record }) => bytes + bytesOf(record), 0);

/**
 * Makes one group of the events. Throws `LimitError` (`value-too-large`) if they don't fit into one append: a crash between two appends
 * would leave a part of the group.
 */
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

/** Divides the events, in their order, into the batches of one append each; it never splits a group. */
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
