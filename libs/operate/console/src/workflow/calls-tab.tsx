/** Owns the model calls of a workflow: what each cost, how long it took, and what it saw. */

import { spendJson, sumOfSpent } from '@tidemark/core';
import type { EffectEntry } from '@tidemark/core/timeline';
import { useState } from 'react';
import { Empty } from '../parts/answers.tsx';
import { Card } from '../parts/card.tsx';
import { type Column, DataTable } from '../parts/table.tsx';
import { Worker } from '../parts/words.tsx';
import { useMay } from '../shell/rights.ts';
import { count, duration, moneyOf, tokensOf } from '../text/format.ts';
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
  const calls = timeline.rows.filter((row): row is EffectEntry => row.kind === 'effect' && row.isModel);
  const may = useMay();
  const [shown, setShown] = useState(SHOWN_COUNT);
  const [clicked, setPicked] = useState<EffectEntry | null>(null);
  const asked = Number(query.get('call') ?? Number.NaN);
  const picked = clicked ?? calls.find(({ task }) => timeline.sequenceOf(task) === asked) ?? null;
  if (calls.length === 0) return <Empty title="It has called no model." />;
  const most = Math.max(...calls.map(({ spent }) => spent.tokens), 1);
  const total = sumOfSpent(calls.map(({ spent }) => spendJson(spent)));
  return (
    <div className="split">
      <Card title="Model calls" note={`${count(calls.length)} calls, ${tokensOf(total)} tokens, ${moneyOf(total)}`}>
        <DataTable
          label="Model calls"
          columns={columnsOf(timeline, most, setPicked)}
          rows={calls.slice(0, shown)}
          keyOf={({ key, attempt }) => `${key} ${attempt}`}
          isSelected={(call) => call === picked}
          onPick={setPicked}
        />
        {calls.length > shown ? (
          <button type="button" className="more" onClick={() => setShown(shown + SHOWN_COUNT)}>
            {calls.length - shown} more
          </button>
        ) : null}
      </Card>
      {picked === null || !may('content') ? null : (
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

const columnsOf = (
  { openedAtMs, holders }: WatchedTimeline['timeline'],
  most: number,
  onPick: (call: EffectEntry) => void,
): readonly Column<EffectEntry>[] => [
  {
    name: 'After',
    of: (call) => (
      <button type="button" className="more" onClick={() => onPick(call)}>
        {duration(call.atMs - openedAtMs)}
      </button>
    ),
  },
  { name: 'Task', of: ({ task }) => task, className: 'mono' },
  { name: 'Worker', of: ({ lane }) => <Worker holder={holders[lane] ?? null} lane={lane} /> },
  {
    name: 'Took',
    of: ({ endedAtMs, atMs, status }) => (endedAtMs === undefined ? status : duration(endedAtMs - atMs)),
    isNumber: true,
  },
  { name: 'Tokens', of: ({ spent }) => tokensOf(spendJson(spent)), isNumber: true },
  {
    name: '',
    of: ({ spent }) => (
      <svg className="meter" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        <rect className="fill-model" width={(100 * spent.tokens) / most} height={6} />
      </svg>
    ),
    className: 'bar-cell',
  },
  { name: 'Cost', of: ({ spent }) => moneyOf(spendJson(spent)), isNumber: true },
];
