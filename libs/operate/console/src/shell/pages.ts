/** Owns reading lists page by page: the first page is polled while it is shown; a reader who has moved on sees a stable list. */

import { useInfiniteQuery } from '@tanstack/react-query';

/** Where a page begins; undefined: at the head of the list. */
export type PageAt = string | undefined;

interface Page {
  readonly next_cursor: string | null;
}

/** `key`: the list's own. `periodMs` sets the poll interval of the first page, by its content. */
export function usePages<P extends Page>(
  key: readonly unknown[],
  ask: (signal: AbortSignal, at: PageAt) => Promise<P>,
  periodMs: (first: P | undefined) => number,
) {
  const found = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => ask(signal, pageParam === '' ? undefined : pageParam),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor: cursor }) => cursor ?? undefined,
    refetchInterval: ({ state: { data } }) => ((data?.pages.length ?? 0) > 1 ? false : periodMs(data?.pages[0])),
    placeholderData: (before) => before,
  });
  const params = (found.data?.pageParams ?? []) as readonly string[];
  const starts: readonly PageAt[] = params.map((at) => (at === '' ? undefined : at));
  return { found, pages: found.data?.pages ?? [], starts };
}
