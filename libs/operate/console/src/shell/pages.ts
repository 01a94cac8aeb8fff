/** Owns asking for lists page by page: the first is asked again while it is looked at; whoever has gone on reads what is there. */

import { useInfiniteQuery } from '@tanstack/react-query';

/** Where a page begins; undefined: at the head of the list. */
export type PageAt = string | undefined;

interface Page {
  readonly next_cursor: string | null;
}

/** `periodMs` says how soon the first page is asked again, by what it holds. */
export function usePages<P extends Page>(
  name: string,
  ask: (signal: AbortSignal, at: PageAt) => Promise<P>,
  periodMs: (first: P | undefined) => number,
) {
  const found = useInfiniteQuery({
    queryKey: [name],
    queryFn: ({ pageParam, signal }) => ask(signal, pageParam === '' ? undefined : pageParam),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor: cursor }) => cursor ?? undefined,
    refetchInterval: ({ state: { data } }) => ((data?.pages.length ?? 0) > 1 ? false : periodMs(data?.pages[0])),
  });
  const params = (found.data?.pageParams ?? []) as readonly string[];
  const starts: readonly PageAt[] = params.map((at) => (at === '' ? undefined : at));
  return { found, pages: found.data?.pages ?? [], starts };
}
