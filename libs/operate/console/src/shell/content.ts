/**
 * Owns reading content: once, and again when the thing beside it has changed. The audit records each such read, so polled queries leave
 * content out (`content=false`).
 */

import { useQuery } from '@tanstack/react-query';

/**
 * The last answer; undefined: none yet. `mark` changes with the thing that is shown; undefined: content isn't wanted. No polled query uses
 * `name`, so refreshing those never reads content again.
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
