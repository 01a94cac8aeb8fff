/** Owns the panel beside the timeline for the selected thing: a checkpoint, an effect, or another event. */

import { type SpendJson, spendJson } from '@tidemark/core';
import type { EffectEntry, Entry, NoteEntry } from '@tidemark/core/timeline';
import { lazy, Suspense } from 'react';
import type { Json } from '../belief/changes.ts';
import { Answer, Loading } from '../parts/answers.tsx';
import { Fact, Worker } from '../parts/words.tsx';
import { useAsk } from '../shell/ask.ts';
import { Link } from '../shell/link.tsx';
import { workflowAddress } from '../shell/router.ts';
import { useShortcuts } from '../shell/shortcuts.ts';
import { count, duration, isFree, moment, moneyOf, plain, tokensOf, unknownOf } from '../text/format.ts';
import type { Timeline } from '../timeline/rows.ts';
import { CheckpointPanel } from './checkpoint-panel.tsx';
import { Part } from './part.tsx';
import type { WorkflowView } from './workflow-view.ts';

const CallPanel = lazy(() => import('./call-panel.tsx').then((loaded) => ({ default: loaded.CallPanel })));

export function Inspector(props: {
  readonly view: WorkflowView;
  readonly timeline: Timeline;
  readonly row: Entry;
  readonly onClose: () => void;
}) {
  const { view, timeline, row, onClose } = props;
  useShortcuts('Selected', [{ keys: 'Escape', what: 'Close it', run: onClose }]);
  return (
    <aside className="inspector" aria-label="Selected">
      <header>
        <h2>{titleOf(row)}</h2>
        <button type="button" className="quiet" onClick={onClose} aria-label="Close">
          ✕
        </button>
      </header>
      <Where row={row} timeline={timeline} />
      {row.kind === 'checkpoint' ? (
        <CheckpointPanel key={row.sequence} view={view} row={row} />
      ) : row.kind === 'effect' ? (
        <EffectPanel
          key={row.key}
          workflow={view.workflow}
          row={row}
          sequence={timeline.sequenceOf(row.task) ?? view.sequence_number + 1}
        />
      ) : (
        <NotePanel key={row.position} workflow={view.workflow} row={row} />
      )}
    </aside>
  );
}

function titleOf(row: Entry): string {
  if (row.kind === 'checkpoint') return `Checkpoint ${row.sequence} · ${plain(row.step)}`;
  if (row.kind === 'effect') return row.isModel ? 'Model call' : `Effect · ${plain(row.operation)}`;
  return row.description.title;
}

function SpentFacts({ spent }: { readonly spent: SpendJson }) {
  return (
    <>
      {spent.tokens === 0 ? null : <Fact name="Tokens">{tokensOf(spent)}</Fact>}
      {isFree(spent) ? null : <Fact name="Cost">{moneyOf(spent)}</Fact>}
      {spent.unknown === undefined ? null : <Fact name="Perhaps spent">{unknownOf(spent)}</Fact>}
    </>
  );
}

function Where({ row, timeline }: { readonly row: Entry; readonly timeline: Timeline }) {
  const holder = timeline.holders[row.lane];
  return (
    <dl className="facts">
      <Fact name="At">{moment(row.atMs, Date.now())}</Fact>
      <Fact name="After opening">{duration(row.atMs - timeline.openedAtMs)}</Fact>
      {holder === undefined ? null : (
        <Fact name="Worker">
          <Worker holder={holder} lane={row.lane} />
        </Fact>
      )}
      {row.epoch === 0 ? null : <Fact name="Epoch">{row.epoch}</Fact>}
      <Fact name="Position">{count(row.position)}</Fact>
      {row.kind === 'note' ? null : <SpentFacts spent={spendJson(row.spent)} />}
    </dl>
  );
}

function EffectPanel(props: { readonly workflow: string; readonly row: EffectEntry; readonly sequence: number }) {
  const { workflow, row, sequence } = props;
  const effect = useAsk(
    ['workflow', workflow, 'effects', row.key, row.status],
    'GET /v1/workflows/{workflow}/effects',
    { params: { workflow }, query: { key: row.key, limit: 1 } },
  );
  return (
    <>
      <dl className="facts">
        <Fact name="Outcome" tone={row.status === 'failed' || row.status === 'lost' ? 'bad' : undefined}>
          {STATUS_WORDS[row.status]}
        </Fact>
        <Fact name="Kind">{row.effectKind}</Fact>
        <Fact name="Task">{row.task}</Fact>
        {row.endedAtMs === undefined ? null : <Fact name="Took">{duration(row.endedAtMs - row.atMs)}</Fact>}
      </dl>
      <section>
        <h3>Key</h3>
        <code className="wrap">{plain(row.key)}</code>
      </section>
      {row.isModel ? (
        <Suspense fallback={<Loading />}>
          <CallPanel key={sequence} workflow={workflow} effectKey={row.key} sequence={sequence} />
        </Suspense>
      ) : null}
      <Answer query={effect}>
        {({ effects: [found] }) => {
          if (found === undefined) return null;
          const { request, response, error } = found as { request?: Json; response?: Json; error?: Json };
          return (
            <>
              {request === undefined || row.isModel ? null : <Part name="Request" value={request} />}
              {response === undefined || row.isModel ? null : <Part name="Response" value={response} />}
              {error === undefined ? null : <Part name="Error" value={error} />}
            </>
          );
        }}
      </Answer>
    </>
  );
}

const STATUS_WORDS: Readonly<Record<EffectEntry['status'], string>> = {
  running: 'under way',
  pending: 'accepted, not confirmed yet',
  done: 'done',
  failed: 'failed',
  lost: 'unknown: its worker left it',
};

function NotePanel({ workflow, row }: { readonly workflow: string; readonly row: NoteEntry }) {
  const { detail, about } = row.description;
  const notes = useAsk(['workflow', workflow, 'notes', row.position], 'GET /v1/workflows/{workflow}/notes', {
    params: { workflow },
    query: { position: row.position, limit: 1 },
  });
  return (
    <>
      {detail === '' && about === undefined ? null : (
        <p>
          {plain(detail)}{' '}
          {about === undefined ? null : (
            <Link to={workflowAddress(about)} className="body-link">
              {plain(about)}
            </Link>
          )}
        </p>
      )}
      <Answer query={notes}>
        {({ events: [found] }) => {
          if (found === undefined) return null;
          const { control, payload } = found as { control: Json; payload?: Json };
          return (
            <>
              {payload === undefined || isEmpty(payload) ? null : <Part name="Payload" value={payload} />}
              {isEmpty(control) ? null : <Part name="Event fields" value={control} />}
            </>
          );
        }}
      </Answer>
    </>
  );
}

const isEmpty = (value: Json): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;
