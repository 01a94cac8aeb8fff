/**
 * Owns what sweeps of blobs write down for each other, in the archive: one note each, numbered from 1 without gaps and never changed, so
 * that the last is found by its number, whatever a listing lacks. Whose note is there may do what it says. They stay: they say what was
 * deleted, and when.
 */

import { CorruptError } from '@tidemark/core';
import type { ObjectStore } from '@tidemark/ports';

/** What a sweep found, and does from then on. Lists of digests. */
export interface SweepNote {
  readonly atMs: number;
  /** Nothing names them; they stay where they are. */
  readonly unnamed: readonly string[];
  /** They are aside, or are put there. */
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

/** Returns whether it was written: another sweep may have been faster. */
export const writeNote = (objects: ObjectStore, { number, note }: NumberedNote): Promise<boolean> =>
  objects.create(nameOf(number), Buffer.from(`${JSON.stringify({ v: VERSION, ...note })}\n`));

function decoded(name: string, bytes: Uint8Array, place: string): SweepNote {
  try {
    const { v, atMs, unnamed, aside, deleted } = JSON.parse(Buffer.from(bytes).toString()) as SweepNote & { v: number };
    const isWhole = v === VERSION && Number.isFinite(atMs) && [unnamed, aside, deleted].every(Array.isArray);
    if (isWhole) return { atMs, unnamed, aside, deleted };
  } catch {
    // Told below, like everything else that is wrong with it.
  }
  throw new CorruptError(
    'sweep-note-damaged',
    `${name} in ${place} is no note of a sweep: it was cut short or changed, or a newer release wrote it. No blob is taken away. Restore it from a copy, or remove all of ${PREFIX}: sweeps begin anew then.`,
    { name, place },
  );
}
