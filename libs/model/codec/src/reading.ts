/**
 * Owns how content that is read for somebody is counted: the places where it comes into memory report it to the reading under way, before it
 * is parsed, and the reading refuses what there is no memory for. Work of the system itself has no reading, and counts nothing. Must not know
 * who reads, nor how much there is.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { COUNTED_BOUNDS, type Json, JsonScanner, PARSED_VALUE_BYTES } from '@tidemark/core';

/** Both throw before anything is taken. */
export interface Reading {
  /** Whether content is shown to whoever reads; otherwise what is loaded of it isn't parsed. */
  readonly showsContent: boolean;
  /** Bytes that stay until the answer is sent. */
  keep(bytes: number): void;
  /** Bytes that are folded into something else: of many one after the other, only some are in memory at once. */
  pass(bytes: number): void;
  /** What was folded until now is in memory no more, but for what is kept of it. */
  passed(): void;
}

const readings = new AsyncLocalStorage<Reading>();

export const readFor = <T>(reading: Reading, work: () => T): T => readings.run(reading, work);

/** Undefined: the work is the system's own. */
export const readingNow = (): Reading | undefined => readings.getStore();

/** What JSON takes once it is parsed: the text, its copy in the values, and the values. */
export function parsedBytes(json: Uint8Array | string): number {
  const scanner = new JsonScanner('What is read', COUNTED_BOUNDS);
  scanner.push(json);
  return 2 * json.length + scanner.values * PARSED_VALUE_BYTES;
}

/** What the work reads is folded into its result, one after the other; the caller keeps the result. */
export function foldFor<T>(work: () => T): T {
  const outer = readings.getStore();
  if (outer === undefined) return work();
  const pass = (bytes: number): void => outer.pass(bytes);
  return readings.run({ showsContent: outer.showsContent, keep: pass, pass, passed: () => {} }, work);
}

/** Call it with what stays of JSON that was folded. */
export function keepValue<T extends Json | undefined>(value: T): T {
  const reading = readings.getStore();
  reading?.passed();
  if (value !== undefined) reading?.keep(valueBytes(value));
  return value;
}

function valueBytes(value: Json): number {
  if (typeof value === 'string') return 2 * value.length + PARSED_VALUE_BYTES;
  let bytes = PARSED_VALUE_BYTES;
  if (typeof value !== 'object' || value === null) return bytes;
  for (const [name, member] of Object.entries(value)) bytes += 2 * name.length + valueBytes(member);
  return bytes;
}

/** Call it with JSON that is read for an answer, before it is parsed. */
export function keepJson(json: Uint8Array | string): void {
  const reading = readings.getStore();
  reading?.keep(reading.showsContent ? parsedBytes(json) : json.length);
}
