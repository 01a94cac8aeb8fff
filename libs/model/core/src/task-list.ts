/**
 * Owns a persistent (immutable, structure-sharing) list of items keyed by task, in order of creation. A frontier of ten thousand tasks must
 * cost about the same per event as one of ten, and the fold must stay a pure function, so an update copies one chunk and the spine. Must
 * know nothing of the items.
 * Invariants: chunks are never empty and hold at most `CHUNK_ITEMS`; ranks rise strictly through the list.
 */

import { invariant } from './errors.ts';
import { type TaskId, taskOrder } from './ids.ts';

const CHUNK_ITEMS = 64;

/** Largest number of tasks that one checkpoint may add; keeps a task's rank an exact integer. */
export const TASKS_PER_CHECKPOINT_MAX = 2 ** 20;

export interface Keyed {
  readonly id: TaskId;
}

interface Chunk<T> {
  readonly ranks: readonly number[];
  readonly items: readonly T[];
}

/** A number that orders tasks by creation. */
export function taskRank(task: TaskId): number {
  const [sequence, index] = taskOrder(task);
  return sequence * TASKS_PER_CHECKPOINT_MAX + index;
}

/** First index whose rank is not below `rank`. */
function lowerBound(ranks: readonly number[], rank: number): number {
  let low = 0;
  let high = ranks.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ranks[middle]! < rank) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class TaskList<T extends Keyed> implements Iterable<T> {
  static readonly #none = new TaskList<never>([], 0);
  readonly #chunks: readonly Chunk<T>[];
  readonly size: number;

  private constructor(chunks: readonly Chunk<T>[], size: number) {
    this.#chunks = chunks;
    this.size = size;
  }

  static empty<T extends Keyed>(): TaskList<T> {
    return TaskList.#none;
  }

  /** Takes items in any order. */
  static from<T extends Keyed>(items: Iterable<T>): TaskList<T> {
    const sorted = [...items].map((item) => ({ item, rank: taskRank(item.id) })).sort((a, b) => a.rank - b.rank);
    const chunks: Chunk<T>[] = [];
    for (let at = 0; at < sorted.length; at += CHUNK_ITEMS) {
      const part = sorted.slice(at, at + CHUNK_ITEMS);
      chunks.push({ ranks: part.map((entry) => entry.rank), items: part.map((entry) => entry.item) });
    }
    return new TaskList(chunks, sorted.length);
  }

  get(id: TaskId): T | undefined {
    const rank = taskRank(id);
    const chunk = this.#chunks[this.#chunkOf(rank)];
    if (chunk === undefined) return undefined;
    const at = lowerBound(chunk.ranks, rank);
    return chunk.ranks[at] === rank ? chunk.items[at] : undefined;
  }

  /** Adds the item, or replaces the one of the same task. */
  set(item: T): TaskList<T> {
    const rank = taskRank(item.id);
    const where = Math.min(this.#chunkOf(rank), Math.max(this.#chunks.length - 1, 0));
    const chunk = this.#chunks[where] ?? { ranks: [], items: [] };
    const at = lowerBound(chunk.ranks, rank);
    if (chunk.ranks[at] === rank) {
      return new TaskList(
        this.#chunks.with(where, { ranks: chunk.ranks, items: chunk.items.with(at, item) }),
        this.size,
      );
    }
    const ranks = chunk.ranks.toSpliced(at, 0, rank);
    const items = chunk.items.toSpliced(at, 0, item);
    // When the last chunk is full, appending starts a new one, so that chunks stay full.
    const cut = at === CHUNK_ITEMS ? CHUNK_ITEMS : CHUNK_ITEMS >>> 1;
    const parts =
      ranks.length <= CHUNK_ITEMS
        ? [{ ranks, items }]
        : [
            { ranks: ranks.slice(0, cut), items: items.slice(0, cut) },
            { ranks: ranks.slice(cut), items: items.slice(cut) },
          ];
    return new TaskList(this.#chunks.toSpliced(where, 1, ...parts), this.size + 1);
  }

  /** Adds items that were all created after every item of the list. */
  append(added: readonly T[]): TaskList<T> {
    if (added.length === 0) return this;
    const last = this.#chunks.at(-1);
    invariant(
      last === undefined || last.ranks.at(-1)! < taskRank(added[0]!.id),
      'tasks are appended in order of creation',
    );
    if (added.length === 1 && this.#chunks.length <= 1) return this.set(added[0]!);
    const tail = last !== undefined && last.items.length < CHUNK_ITEMS ? last : { ranks: [], items: [] };
    const ranks = [...tail.ranks, ...added.map((item) => taskRank(item.id))];
    const items = [...tail.items, ...added];
    invariant(
      ranks.every((rank, at) => at === 0 || ranks[at - 1]! < rank),
      'tasks are appended in order of creation',
    );
    const chunks = tail === last ? this.#chunks.slice(0, -1) : [...this.#chunks];
    for (let at = 0; at < items.length; at += CHUNK_ITEMS) {
      chunks.push({ ranks: ranks.slice(at, at + CHUNK_ITEMS), items: items.slice(at, at + CHUNK_ITEMS) });
    }
    return new TaskList(chunks, this.size + added.length);
  }

  delete(id: TaskId): TaskList<T> {
    const rank = taskRank(id);
    const where = this.#chunkOf(rank);
    const chunk = this.#chunks[where];
    if (chunk === undefined) return this;
    const at = lowerBound(chunk.ranks, rank);
    if (chunk.ranks[at] !== rank) return this;
    if (chunk.items.length === 1) return new TaskList(this.#chunks.toSpliced(where, 1), this.size - 1);
    const rest = { ranks: chunk.ranks.toSpliced(at, 1), items: chunk.items.toSpliced(at, 1) };
    return new TaskList(this.#chunks.with(where, rest), this.size - 1);
  }

  /** The first item, in order of creation, for which `wanted` is true. Far cheaper than iterating: it allocates nothing. */
  find(wanted: (item: T) => boolean): T | undefined {
    for (const chunk of this.#chunks) {
      const item = chunk.items.find(wanted);
      if (item !== undefined) return item;
    }
    return undefined;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const chunk of this.#chunks) yield* chunk.items;
  }

  /** What changed from `before` to this list. Costs as much as the difference, since shared chunks are skipped. */
  changesSince(before: TaskList<T>): { readonly put: readonly T[]; readonly gone: readonly TaskId[] } {
    const mine = new Set(this.#chunks);
    const theirs = new Set(before.#chunks);
    const old = new Map<TaskId, T>();
    for (const chunk of before.#chunks) {
      if (!mine.has(chunk)) for (const item of chunk.items) old.set(item.id, item);
    }
    const put: T[] = [];
    for (const chunk of this.#chunks) {
      if (theirs.has(chunk)) continue;
      for (const item of chunk.items) {
        if (old.get(item.id) !== item) put.push(item);
        old.delete(item.id);
      }
    }
    return { put, gone: [...old.keys()] };
  }

  /** Index of the first chunk whose last rank is not below `rank`; the number of chunks when there is none. */
  #chunkOf(rank: number): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#chunks[middle]!.ranks.at(-1)! < rank) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
