/**
 * Owns the names of records of the log, as rows have them in place of what a record says: `@PARTITION:OFFSET:BYTES`, with the size of what it
 * says. No JSON begins so. A record never moves (L1), so a name is good for ever.
 */

import type { Offset, Partition } from '@tidemark/core';

export interface RecordPlace {
  readonly partition: Partition;
  readonly offset: Offset;
  /** Of its payload. */
  readonly bytes: number;
}

const PLACE = /^@(\d{1,10}):(\d{1,16}):(\d{1,9})$/;

export const placeText = ({ partition, offset, bytes }: RecordPlace): string => `@${partition}:${offset}:${bytes}`;

/** Undefined: it is no such name. */
export function placeOf(text: string): RecordPlace | undefined {
  const [, partition, offset, bytes] = PLACE.exec(text) ?? [];
  if (bytes === undefined) return undefined;
  return { partition: Number(partition) as Partition, offset: Number(offset) as Offset, bytes: Number(bytes) };
}
