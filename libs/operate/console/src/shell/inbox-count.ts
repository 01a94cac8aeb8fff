/** Owns how many wait for a person: parked workflows, and approvals of tasks. */

import { useQuery } from '@tanstack/react-query';
import { api, LIST_PERIOD_MS } from './client.ts';

/** Highest exact count of each; beyond, it says that there are more. */
export const INBOX_COUNTED_MAX = 100;

/** Undefined until it is known. */
export const useInboxCount = () =>
  useQuery({
    queryKey: ['inbox-count'],
    queryFn: async ({ signal }) => {
      const limit = INBOX_COUNTED_MAX;
      const [parked, asked] = await Promise.all([
        api.ask('GET /v1/workflows', { query: { status: 'parked', limit } }, { signal }),
        api.ask('GET /v1/approvals', { query: { limit, content: 'false' } }, { signal }),
      ]);
      return { parked: parked.workflows.length, approvals: asked.approvals.length };
    },
    refetchInterval: LIST_PERIOD_MS * 2,
  }).data;
