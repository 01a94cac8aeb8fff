/** Owns reading a workflow's state after a checkpoint. It never changes, so it is read once. */

import { useQuery } from '@tanstack/react-query';
import { api } from '../shell/client.ts';

export const usePast = (workflow: string, sequence: number) =>
  useQuery({
    queryKey: ['past', workflow, sequence],
    queryFn: ({ signal }) =>
      api.ask('GET /v1/workflows/{workflow}/at/{sequence}', { params: { workflow, sequence } }, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
