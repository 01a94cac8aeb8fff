/**
 * Owns the names of records of the log. Rows have such a name in place of a payload: `@PARTITION:OFFSET:BYTES`, with the size of the
 * payload. No JSON begins so. A record never moves (L1), so a name is valid for ever.
 */

import { CorruptError, type Offset, type Partition } from '@tidemark/core';

export interface RecordPlace {
  readonly partition: Partition;
  readonly offset: Offset;
  /** Size of its payload. */
  readonly bytes: number;
}

const PLACE = /^@(\d{1,10}):(\d{1,16}):(\d{1,9})$/;

export const placeText = ({ partition, offset, bytes }: RecordPlace): string => `@${partition}:${offset}:${bytes}`;

/** Throws `CorruptError` (`rows-wrong`) when the text is no such name. */
export function placeOf(text: string): RecordPlace {
  const [, partition, offset, bytes] = PLACE.exec(text) ?? [];
  if (bytes === undefined) throw rowsWrong(text);
  return { partition: Number(partition) as Partition, offset: Number(offset) as Offset, bytes: Number(bytes) };
}

export const rowsWrong = (place: string): CorruptError =>
  new CorruptError(
    'rows-wrong',
    `A row names ${place.slice(0, 40)} as its record, which it isn't: the row was changed, or another log was put below it. Nothing was taken from it. Rebuild the rows from the log: tidemark admin rebuild.`,
    { place: place.slice(0, 40) },
  );
