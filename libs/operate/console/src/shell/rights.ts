/** Owns what the reader may do, as the server reports it: refused actions are not offered. */

import { useQuery } from '@tanstack/react-query';
import { api } from './client.ts';

export type Right = 'read' | 'content' | 'operate' | 'decide' | 'administer';

const useMe = () =>
  useQuery({
    queryKey: ['me'],
    queryFn: ({ signal }) => api.ask('GET /v1/me', {}, { signal }),
    // Roles of keys may change.
    staleTime: 60_000,
  });

/** No rights, until they are known. */
export function useMay(): (right: Right) => boolean {
  const rights: readonly string[] = useMe().data?.rights ?? [];
  return (right) => rights.includes(right);
}
