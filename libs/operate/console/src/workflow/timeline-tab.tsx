/** Owns the timeline's tab: the picture, the list, and beside it the selected thing. */

import { useCallback, useState } from 'react';
import { Loading } from '../parts/answers.tsx';
import { useNow } from '../parts/words.tsx';
import { TimelineList } from '../timeline/list.tsx';
import { Overview } from '../timeline/overview.tsx';
import type { WatchedTimeline } from '../timeline/use-timeline.ts';
import { Inspector } from './inspector.tsx';
import type { WorkflowView } from './workflow-view.ts';

/** Up to this many rows, the picture also moves with the clock between events. A larger one is drawn when events come. */
const TICKING_ROWS_MAX = 2_000;

export function TimelineTab(props: {
  readonly view: WorkflowView;
  readonly watched: WatchedTimeline;
  readonly query: URLSearchParams;
}) {
  const { view, watched, query } = props;
  const { timeline, version, state } = watched;
  const asked = Number(query.get('at') ?? Number.NaN);
  const [picked, setPicked] = useState<number | undefined>(undefined);
  const [follows, setFollows] = useState(true);
  const selected = picked ?? (Number.isNaN(asked) ? undefined : timeline.rowOf(asked));
  const pick = useCallback((row: number): void => {
    setFollows(false);
    setPicked(row);
  }, []);
  if (state === 'loading' && timeline.rows.length === 0) return <Loading label="Reading its history" />;
  const row = selected === undefined ? undefined : timeline.rows[selected];
  const ticks = !timeline.isClosed && timeline.rows.length < TICKING_ROWS_MAX;
  return (
    <div className="timeline-tab" data-inspects={row !== undefined}>
      <div className="timeline-side">
        {ticks ? (
          <Ticking {...{ timeline, version, selected, onPick: pick }} />
        ) : (
          <Overview {...{ timeline, version, selected, onPick: pick }} nowMs={undefined} />
        )}
        <div className="line line-head" aria-hidden="true">
          <span>after</span>
          <span />
          <span>event</span>
          <span>took</span>
          <span>tokens</span>
          <span>cost</span>
        </div>
        <TimelineList {...{ timeline, version, selected }} onSelect={pick} follows={follows && !timeline.isClosed} />
      </div>
      {row === undefined ? null : <Inspector view={view} timeline={timeline} row={row} onClose={() => setPicked(-1)} />}
    </div>
  );
}

/** Time advances between events. */
function Ticking(props: Omit<React.ComponentProps<typeof Overview>, 'nowMs'>) {
  const nowMs = useNow();
  return <Overview {...props} nowMs={nowMs} />;
}
