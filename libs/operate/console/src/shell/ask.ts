/** Owns asking an operation for what a part of a page shows: its answer, and when it is asked again. */

import { type UseQueryOptions, type UseQueryResult, useQuery } from '@tanstack/react-query';
import type { Answer, Endpoint, Input } from '@tidemark/client';
import { api } from './client.ts';

type How<E extends Endpoint> = Omit<UseQueryOptions<Answer<E>>, 'queryKey' | 'queryFn'>;

/** `queryKey`: under which it is kept, and made anew. An operation that is no GET must be repeatable. */
export const useAsk = <E extends Endpoint>(
  queryKey: readonly unknown[],
  endpoint: E,
  input: Input<E>,
  how?: How<E>,
): UseQueryResult<Answer<E>> =>
  useQuery({
    ...how,
    queryKey,
    queryFn: ({ signal }) => api.ask(endpoint, input, { signal, isRepeatable: true }),
  });
