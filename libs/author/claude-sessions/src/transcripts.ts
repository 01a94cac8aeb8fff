/**
 * Owns the transcripts of one session in its stream: the main one, and one for each subagent. An entry has lines of one transcript, and is
 * named after it, so each is read without the others. Belief has only where each begins, and what listings show.
 */

import type { Json, Sequence } from '@tidemark/core';
import { type RecordedStream, type StreamEntry, sha256Digest, type WriterEntry } from '@tidemark/runtime';
import type { SessionStoreEntry } from './interface.ts';

/** The main transcript, among the subagents' paths. */
export const MAIN = '';
/** A path that stands in an entry's name as it is. The others do as a digest. */
const PLAIN = /^[\x20-\x7e]{1,400}$/;

/** Of each transcript that there is, its path and its first entry. */
type Begins = readonly (readonly [subpath: string, at: number])[];

const beginsIn = (belief: Json | undefined): Begins =>
  (belief as { readonly begins?: Begins } | undefined)?.begins ?? [];

const beginOf = (begins: Begins, subpath: string): number | undefined => begins.find(([path]) => path === subpath)?.[1];

const stepOf = (subpath: string): string =>
  subpath === MAIN ? 'main' : `at:${PLAIN.test(subpath) ? subpath : `#${sha256Digest.sha256(subpath)}`}`;

export const hasMain = (belief: Json): boolean => beginOf(beginsIn(belief), MAIN) !== undefined;

export const subpathsIn = (stream: RecordedStream | undefined): string[] =>
  beginsIn(stream?.belief).flatMap(([subpath]) => (subpath === MAIN ? [] : subpath));

/** The framework's data of the session's listing; undefined: none is kept. */
export const summaryIn = (belief: Json | undefined): Json | undefined =>
  (belief as { readonly summary?: Json } | undefined)?.summary;

/** `summaryAfter`: of the one before. */
export function linesAdded(
  stream: RecordedStream | undefined,
  subpath: string,
  lines: readonly Json[],
  summaryAfter?: (before: Json | undefined) => Json,
): WriterEntry[] {
  const begins = beginsIn(stream?.belief);
  const what = `${subpath === MAIN ? '' : `${subpath.slice(0, 100)}: `}adds ${lines.length} lines`;
  const entry = { step: stepOf(subpath), what, output: { lines } };
  const isNew = beginOf(begins, subpath) === undefined;
  const before = summaryIn(stream?.belief);
  // One that misses lines, which were added without a fold, would stay wrong: there is none then, nor any later.
  const hasAll = isNew || before !== undefined;
  const summary = subpath !== MAIN ? before : hasAll ? summaryAfter?.(before) : undefined;
  if (!isNew && summary === before) return [entry];
  const all: Begins = isNew ? [...begins, [subpath, (stream?.sequence ?? 0) + 1]] : begins;
  return [{ ...entry, belief: { begins: all, ...(summary !== undefined && { summary }) } as unknown as Json }];
}

export function transcriptDropped(stream: RecordedStream | undefined, subpath: string): WriterEntry[] {
  const begins = beginsIn(stream?.belief);
  if (beginOf(begins, subpath) === undefined) return [];
  const belief = { ...(stream?.belief as object), begins: begins.filter(([path]) => path !== subpath) };
  return [{ step: 'dropped', what: `drops ${subpath.slice(0, 100)}`, output: { lines: [] }, belief }];
}

/** All lines in the order of the log; null: there is no such transcript. Of lines with the same `uuid`, which a repeated batch leaves, the first. */
export async function linesOf(
  stream: RecordedStream | undefined,
  subpath: string,
): Promise<SessionStoreEntry[] | null> {
  const begin = beginOf(beginsIn(stream?.belief), subpath);
  if (stream === undefined || begin === undefined) return null;
  const entries = await stream.named(stepOf(subpath), begin as Sequence);
  const seen = new Set<string>();
  return entries.flatMap(linesIn).filter(({ uuid }) => {
    if (typeof uuid !== 'string') return true;
    const isNew = !seen.has(uuid);
    seen.add(uuid);
    return isNew;
  });
}

/** Titles, tags and modes, which others may add at any time: the conversation does not go on from them. */
export const areBeside = (lines: readonly SessionStoreEntry[]): boolean =>
  lines.every(({ uuid }) => typeof uuid !== 'string');

export const linesIn = ({ output }: Pick<StreamEntry, 'output'>): readonly SessionStoreEntry[] =>
  (output as unknown as { readonly lines: readonly SessionStoreEntry[] }).lines;
