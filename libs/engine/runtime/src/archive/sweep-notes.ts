/**
 * Owns the notes that sweeps of blobs write for each other in the archive: one each, numbered from 1 without gaps and never changed, so the
 * last is found by its number, whatever a listing lacks. The sweep whose note was written may do what it says. Notes stay, as a record of
 * what was deleted and when.
 */

import { CorruptError } from '@tidemark/core';
import type { ObjectStore } from '@tidemark/ports';

/** What a sweep found, and what it does next, as lists of digests. */
export interface SweepNote {
  readonly atMs: number;
  /** Unreferenced blobs that stay where they are. */
  readonly unnamed: readonly string[];
  /** Blobs that are aside, or are moved there. */
  readonly aside: readonly string[];
  readonly deleted: readonly string[];
}

export interface NumberedNote {
  readonly number: number;
  readonly note: SweepNote;
}

const PREFIX = 'blob-sweeps/';
const NAME = /^blob-sweeps\/(\d{8})\.json$/;
const DIGITS = 8;
const VERSION = 1;

const nameOf = (number: number): string => `${PREFIX}${String(number).padStart(DIGITS, '0')}.json`;

/** Undefined: there was no sweep. Throws `CorruptError` (`sweep-note-damaged`). */
export async function lastNote(objects: ObjectStore): Promise<NumberedNote | undefined> {
  let listed = 0;
  for await (const name of objects.list(PREFIX)) listed = Math.max(listed, Number(NAME.exec(name)?.[1] ?? 0));
  let last: NumberedNote | undefined;
  for (let number = Math.max(listed, 1); ; number++) {
    const bytes = await objects.read(nameOf(number));
    if (bytes === undefined) return last;
    last = { number, note: decoded(nameOf(number), bytes, objects.place) };
  }
}

/** Whether the note was written: another sweep may have been faster. */
export const writeNote = (objects: ObjectStore, { number, note }: NumberedNote): Promise<boolean> =>
  objects.create(nameOf(number), Buffer.from(`${JSON.stringify({ v: VERSION, ...note })}\n`));

function decoded(name: string, bytes: Uint8Array, place: string): SweepNote {
  try {
    const { v, atMs, unnamed, aside, deleted } = JSON.parse(Buffer.from(bytes).toString()) as SweepNote & { v: number };
    const isWhole = v === VERSION && Number.isFinite(atMs) && [unnamed, aside, deleted].every(Array.isArray);
    if (isWhole) return { atMs, unnamed, aside, deleted };
  } catch {
    // Reported below, like everything else that is wrong with it.
  }
  throw new CorruptError(
    'sweep-note-damaged',
    `${name} in ${place} is not a note of a sweep: it was cut short or changed, or a newer release wrote it. No blob is removed. Restore it from a copy, or remove all of ${PREFIX}: sweeps then start over.`,
    { name, place },
  );
}
