/** Owns updating lists while they are shown: the server reports that something changed, and they are read again. */

import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { api, noteRefusal } from '../shell/client.ts';

/** Pause between two reads while changes come, in milliseconds. */
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

/** Pause between two connections, in milliseconds. */
const AGAIN_MS = 2_000;

/** Follows changes of any workflow, over as many connections as it takes. Ends with the signal. */
async function followFleet(changed: () => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const _ of api.changes({ signal, onLost: changed })) changed();
    } catch (error) {
      noteRefusal(error);
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    if (!signal.aborted) changed();
  }
}
