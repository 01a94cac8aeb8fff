/**
 * Owns a list of items in a recorded stream. An entry has the items that a change added, and says on what of earlier entries they stand; belief
 * has only where the newest item is, so a change writes what it changed, and reading the newest items costs as much as they do. It does not
 * know what items mean.
 */

import type { Json, Sequence } from '@tidemark/core';
import type { RecordedStream } from './recorded-stream.ts';
import { type WriterEntry, withinEntry } from './recorded-writer.ts';

/** Entries that the first page of a reading has, and the largest. */
const PAGE_FIRST_COUNT = 16;
const PAGE_MAX_COUNT = 256;

/** The list ends with the so-manieth item of this entry; null: it is empty. */
type Place = readonly [at: number, count: number] | null;

/** Belief of the stream. */
interface Head {
  readonly head: Place;
  /** The entry that cleared the list last; 0: none did. Operations up to it are forgotten. */
  readonly clearedAt: number;
}

interface Entry {
  readonly items: readonly Json[];
  readonly below: Place;
}

export interface ListChange {
  /** Items that go from the end before the new ones come. */
  readonly drop: number | 'all';
  readonly items: readonly Json[];
  /** Also forgets operations. */
  readonly isClear?: boolean;
  /** The name of its entry, and what that keeps beside the items. */
  readonly operation?: { readonly step: string; readonly digest: string };
}

const headIn = (stream: RecordedStream | undefined): Head => ({
  ...{ head: null, clearedAt: 0 },
  ...(stream?.belief as Partial<Head> | undefined),
});

/** The newest `count` items, oldest first, and on what they stand. */
async function newest(stream: RecordedStream | undefined, count: number) {
  const runs: (readonly Json[])[] = [];
  let page = new Map<number, Entry>();
  let [place, left, pageCount] = [headIn(stream).head, count, PAGE_FIRST_COUNT];
  while (stream !== undefined && place !== null && left > 0) {
    const [at, end] = place as readonly [number, number];
    if (!page.has(at)) {
      const entries = await stream.outputs(Math.max(1, at - pageCount + 1) as Sequence, at as Sequence);
      page = new Map(entries.map(({ sequence, output }) => [sequence as number, output as unknown as Entry]));
      pageCount = Math.min(2 * pageCount, PAGE_MAX_COUNT);
    }
    const { items, below } = page.get(at)!;
    const begin = Math.max(0, end - left);
    runs.push(items.slice(begin, end));
    left -= end - begin;
    place = begin > 0 ? [at, begin] : below;
  }
  return { items: runs.reverse().flat(), below: place };
}

export const newestItems = async (stream: RecordedStream | undefined, count = Number.POSITIVE_INFINITY) =>
  (await newest(stream, count)).items;

/** What an operation kept, if it was applied since the list was cleared. */
export async function operationIn(stream: RecordedStream | undefined, step: string): Promise<string | undefined> {
  const [found] = (await stream?.named(step, (headIn(stream).clearedAt + 1) as Sequence)) ?? [];
  return found && (found.output as { readonly digest?: string }).digest;
}

/** The entries of a change. Belief changes with the last one, so what a death leaves of them is no part of the list. */
export async function listEntries(stream: RecordedStream | undefined, change: ListChange): Promise<WriterEntry[]> {
  const { drop, items, isClear = false, operation } = change;
  const { head, clearedAt } = headIn(stream);
  let below = drop === 'all' ? null : drop === 0 ? head : (await newest(stream, drop)).below;
  const first = (stream?.sequence ?? 0) + 1;
  const entries: WriterEntry[] = [];
  for (const part of items.length === 0 ? [items] : withinEntry(items)) {
    entries.push({ step: 'items', what: wordsOf(change), output: { items: part, below: below as Json } });
    if (part.length > 0) below = [first + entries.length - 1, part.length];
  }
  const belief = { head: below, clearedAt: isClear ? first : clearedAt } as unknown as Json;
  const last = entries.pop()!;
  const named = operation && { step: operation.step, output: { ...last.output, digest: operation.digest } };
  return [...entries, { ...last, ...named, belief }];
}

function wordsOf({ drop, items, isClear = false }: ListChange): string {
  if (isClear) return 'clears it';
  const dropped = drop === 'all' ? 'replaces all, ' : drop === 0 ? '' : `drops ${drop}, `;
  return `${dropped}adds ${items.length}`;
}
