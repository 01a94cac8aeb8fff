/**
 * Owns a workflow's timeline as it is watched: its past, then its events by server-sent events. Events that come close together are drawn
 * together. A lost connection loses nothing: the client resumes after the last event.
 */

import { useQueryClient } from '@tanstack/react-query';
import type { Moment } from '@tidemark/core/timeline';
import { useEffect, useMemo, useRef, useState } from 'react';
import { api, noteRefusal } from '../shell/client.ts';
import { Timeline } from './rows.ts';

/** Pause between two drawings while events come, in milliseconds. */
const DRAW_PERIOD_MS = 120;
/** Pause between two reads of the workflow's own state while events come, in milliseconds. */
const STATE_PERIOD_MS = 400;

export interface WatchedTimeline {
  readonly timeline: Timeline;
  /** Changes whenever there is something new to draw. */
  readonly version: number;
  readonly state: 'loading' | 'live' | 'lost' | 'ended' | 'failed';
  readonly error: unknown;
}

export function useTimeline(workflow: string): WatchedTimeline {
  const timeline = useMemo(() => {
    void workflow;
    return new Timeline();
  }, [workflow]);
  const [version, setVersion] = useState(0);
  const [state, setState] = useState<WatchedTimeline['state']>('loading');
  const [error, setError] = useState<unknown>(null);
  const queries = useQueryClient();
  const timers = useRef<{ draw?: number | undefined; state?: number | undefined }>({});
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const draw = (): void => {
      timers.current.draw ??= window.setTimeout(() => {
        timers.current.draw = undefined;
        setVersion(timeline.version);
      }, DRAW_PERIOD_MS);
      timers.current.state ??= window.setTimeout(() => {
        timers.current.state = undefined;
        void queries.invalidateQueries({ queryKey: ['workflow', workflow], exact: true });
      }, STATE_PERIOD_MS);
    };
    const watch = async (): Promise<void> => {
      await readHistory(timeline, workflow, signal);
      setVersion(timeline.version);
      setState(timeline.isClosed ? 'ended' : 'live');
      const events = api.run(workflow).events({
        from: timeline.position + 1,
        signal,
        onLost: () => setState('lost'),
      });
      for await (const { name, data } of events) {
        if (name !== 'event') continue;
        setState('live');
        if (timeline.add(data as Moment)) draw();
      }
      if (signal.aborted) return;
      setState('ended');
      draw();
    };
    watch().catch((failed: unknown) => {
      if (signal.aborted) return;
      noteRefusal(failed);
      setError(failed);
      setState('failed');
    });
    return () => {
      leaving.abort();
      window.clearTimeout(timers.current.draw);
      window.clearTimeout(timers.current.state);
      timers.current = {};
    };
  }, [timeline, workflow, queries]);
  return { timeline, version, state, error };
}

async function readHistory(timeline: Timeline, workflow: string, signal: AbortSignal): Promise<void> {
  for (let from: number | null = timeline.position + 1; from !== null; ) {
    const page: { readonly moments: readonly Moment[]; readonly next_from: number | null } = await api.ask(
      'GET /v1/workflows/{workflow}/timeline',
      { params: { workflow }, query: { from } },
      { signal },
    );
    for (const moment of page.moments) timeline.add(moment);
    from = page.next_from;
  }
}
