/** Owns the model calls of a workflow: what each cost, how long it took, and what it saw. */

import { useState } from 'react';
import { Empty } from '../parts/answers.tsx';
import { Worker } from '../parts/words.tsx';
import { count, duration, money, short } from '../text/format.ts';
import type { EffectRow } from '../timeline/rows.ts';
import type { WatchedTimeline } from '../timeline/use-timeline.ts';
import { CallPanel } from './call-panel.tsx';
import type { WorkflowView } from './workflow-view.ts';

/** Calls in one list; more on request. */
const SHOWN_COUNT = 200;

export function CallsTab({
  view,
  watched: { timeline },
  query,
}: {
  readonly view: WorkflowView;
  readonly watched: WatchedTimeline;
  readonly query: URLSearchParams;
}) {
  const calls = timeline.rows.filter((row): row is EffectRow => row.kind === 'effect' && row.isModel);
  const [shown, setShown] = useState(SHOWN_COUNT);
  const [clicked, setPicked] = useState<EffectRow | null>(null);
  const asked = Number(query.get('call') ?? Number.NaN);
  const picked = clicked ?? calls.find(({ task }) => timeline.sequenceOf(task) === asked) ?? null;
  if (calls.length === 0) return <Empty title="It has called no model." />;
  const most = Math.max(...calls.map(({ tokens }) => tokens), 1);
  const total = calls.reduce((sum, { tokens }) => sum + tokens, 0);
  const cost = calls.reduce((sum, { costMicros }) => sum + costMicros, 0);
  return (
    <div className="split">
      <section className="card">
        <header>
          <h2>Model calls</h2>
          <span className="dim">
            {count(calls.length)} calls, {count(total)} tokens, {money(cost)}
          </span>
        </header>
        <table>
          <thead>
            <tr>
              <th>After</th>
              <th>Task</th>
              <th>Worker</th>
              <th className="num">Took</th>
              <th className="num">Tokens</th>
              <th />
              <th className="num">Cost</th>
            </tr>
          </thead>
          <tbody>
            {calls.slice(0, shown).map((call) => (
              <CallRow
                key={`${call.key} ${call.attempt}`}
                {...{ call, timeline, most }}
                isPicked={call === picked}
                onPick={() => setPicked(call)}
              />
            ))}
          </tbody>
        </table>
        {calls.length > shown ? (
          <button type="button" className="more" onClick={() => setShown(shown + SHOWN_COUNT)}>
            {calls.length - shown} more
          </button>
        ) : null}
      </section>
      {picked === null ? null : (
        <section className="card">
          <CallPanel
            key={picked.key}
            workflow={view.workflow}
            effectKey={picked.key}
            sequence={timeline.sequenceOf(picked.task) ?? view.sequence_number + 1}
          />
        </section>
      )}
    </div>
  );
}

function CallRow(props: {
  readonly call: EffectRow;
  readonly timeline: WatchedTimeline['timeline'];
  readonly most: number;
  readonly isPicked: boolean;
  readonly onPick: () => void;
}) {
  const { call, timeline, most, isPicked, onPick } = props;
  return (
    <tr aria-selected={isPicked} onClick={onPick}>
      <td>
        <button type="button" className="more" onClick={onPick}>
          {duration(call.atMs - timeline.openedAtMs)}
        </button>
      </td>
      <td className="mono">{call.task}</td>
      <td>
        <Worker holder={timeline.holders[call.lane] ?? null} lane={call.lane} />
      </td>
      <td className="num">{call.endedAtMs === undefined ? call.status : duration(call.endedAtMs - call.atMs)}</td>
      <td className="num">{short(call.tokens)}</td>
      <td className="bar-cell">
        <svg className="meter" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
          <rect className="fill-model" width={(100 * call.tokens) / most} height={6} />
        </svg>
      </td>
      <td className="num">{money(call.costMicros)}</td>
    </tr>
  );
}
