/** Owns that lists show what changes while they are looked at: the server tells that something did, and they are read anew. */

import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { followFleet } from '../shell/follow-fleet.ts';

/** Between two readings while changes come, in milliseconds. */
const READ_PERIOD_MS = 700;

export function useFleetChanges(): void {
  const queries = useQueryClient();
  useEffect(() => {
    const leaving = new AbortController();
    let timer: number | undefined;
    const changed = (): void => {
      timer ??= window.setTimeout(() => {
        timer = undefined;
        for (const name of ['fleet', 'workflows', 'inbox', 'inbox-count'])
          void queries.invalidateQueries({ queryKey: [name] });
      }, READ_PERIOD_MS);
    };
    void followFleet(changed, leaving.signal);
    return () => {
      leaving.abort();
      window.clearTimeout(timer);
    };
  }, [queries]);
}
