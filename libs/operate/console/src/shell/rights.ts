/** Owns what the reader may do, as the server says it: what would be refused is not offered. */

import { useQuery } from '@tanstack/react-query';
import { api } from './client.ts';

export type Right = 'read' | 'content' | 'operate' | 'decide' | 'administer';

export const useMe = () =>
  useQuery({
    queryKey: ['me'],
    queryFn: ({ signal }) => api.ask('GET /v1/me', {}, { signal }),
    // Keys are given other roles now and then.
    staleTime: 60_000,
  });

/** Nothing, until it is known. */
export function useMay(): (right: Right) => boolean {
  const rights: readonly string[] = useMe().data?.rights ?? [];
  return (right) => rights.includes(right);
}
