/**
 * Owns asking for content: once, and again when what it is shown with has changed. Each such read is written to the audit, so what is polled
 * is asked for without (`content=false`).
 */

import { useQuery } from '@tanstack/react-query';

/**
 * What was asked for last; undefined: nothing yet. `mark` changes with what is shown; undefined: it isn't wanted. `name` is none of what
 * is polled, so that nothing which is told to ask anew takes it along.
 */
export function useContent<T>(
  name: string,
  mark: unknown,
  ask: (signal: AbortSignal) => Promise<T>,
): { readonly data: T | undefined; readonly isPending: boolean } {
  const { data, isPending } = useQuery<T>({
    queryKey: ['content', name, mark],
    queryFn: ({ signal }) => ask(signal),
    enabled: mark !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: (before: T | undefined) => before,
  } as Parameters<typeof useQuery<T>>[0]);
  return { data, isPending };
}
