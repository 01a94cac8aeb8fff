/** Owns reading a list page by page, up to a number, or to its end. */

import { PAGE_COUNT } from '../limits.ts';

/** The query of one page. */
export interface PageQuery {
  readonly limit: number;
  readonly cursor?: string;
}

export interface Page {
  readonly next_cursor: string | null;
}

export interface Listed<T> {
  /** At most the requested number. */
  readonly items: readonly T[];
  /** Where the next page begins; null: there is none. */
  readonly next_cursor: string | null;
}

/** `pageMax`: of one request. */
export async function firstOf<P extends Page, T>(
  limit: number,
  ask: (query: PageQuery) => Promise<P>,
  itemsOf: (page: P) => readonly T[],
  pageMax = PAGE_COUNT,
): Promise<Listed<T>> {
  const items: T[] = [];
  let cursor: string | null = null;
  do {
    const wanted = Math.min(pageMax, limit - items.length);
    const page: P = await ask({ limit: wanted, ...(cursor !== null && { cursor }) });
    items.push(...itemsOf(page));
    cursor = page.next_cursor;
  } while (cursor !== null && items.length < limit);
  return { items, next_cursor: cursor };
}

/** All of a list whose pages say in their own way where the next one begins. */
export async function allOf<P, T, At>(
  ask: (at: At | undefined) => Promise<P>,
  itemsOf: (page: P) => readonly T[],
  nextOf: (page: P) => At | null,
): Promise<readonly T[]> {
  const items: T[] = [];
  for (let at: At | undefined; ; ) {
    const page = await ask(at);
    items.push(...itemsOf(page));
    const next = nextOf(page);
    if (next === null) return items;
    at = next;
  }
}
