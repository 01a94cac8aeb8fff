/** Owns one workflow's page: its identity and state, and below it its timeline, state, calls, holders and relatives. */

import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import '../styles/workflow.css';
import { Answer, Failure, Loading } from '../parts/answers.tsx';
import { Ago, Chip, Fact, Name, State, useNow, Words, Worker } from '../parts/words.tsx';
import { api } from '../shell/client.ts';
import { useContent } from '../shell/content.ts';
import { Link } from '../shell/link.tsx';
import { addressOf, go, workflowAddress } from '../shell/router.ts';
import { useShortcuts } from '../shell/shortcuts.ts';
import { count, duration, moneyOf, plain, tokensOf, unknownOf } from '../text/format.ts';
import { useTimeline, type WatchedTimeline } from '../timeline/use-timeline.ts';
import { Actions } from './actions.tsx';
import { QuestionCard } from './question.tsx';
import { TimelineTab } from './timeline-tab.tsx';
import type { WorkflowView } from './workflow-view.ts';

const StateTab = lazy(() => import('./state-tab.tsx').then((loaded) => ({ default: loaded.StateTab })));
const CallsTab = lazy(() => import('./calls-tab.tsx').then((loaded) => ({ default: loaded.CallsTab })));
const ChildrenTab = lazy(() => import('./children-tab.tsx').then((loaded) => ({ default: loaded.ChildrenTab })));
const HoldersTab = lazy(() => import('./holders-tab.tsx').then((loaded) => ({ default: loaded.HoldersTab })));
const ForksTab = lazy(() => import('./forks-tab.tsx').then((loaded) => ({ default: loaded.ForksTab })));

const TABS = [
  ['timeline', 'Timeline', '1'],
  ['state', 'State', '2'],
  ['calls', 'Calls', '3'],
  ['children', 'Children', '4'],
  ['holders', 'Hand-overs', '5'],
  ['forks', 'Fork and compare', '6'],
] as const;
type Tab = (typeof TABS)[number][0];

export function WorkflowPage({ workflow, query }: { readonly workflow: string; readonly query: URLSearchParams }) {
  const watched = useTimeline(workflow);
  const view = useQuery({
    queryKey: ['workflow', workflow],
    queryFn: ({ signal }) => api.run(workflow).get({ content: false, signal }),
    placeholderData: (before) => before,
  });
  const tab = TABS.find(([name]) => name === query.get('tab'))?.[0] ?? 'timeline';
  const held = useHeld(view.data, tab === 'state');
  const show = (next: Tab): void =>
    go(workflowAddress(workflow, { tab: next === 'timeline' ? undefined : next }), { replaces: true });
  useShortcuts('Workflow', [
    ...TABS.map(([name, title, key]) => ({ keys: key, what: title, run: () => show(name) })),
    { keys: 'u', what: 'Back to the list', run: () => go('/workflows') },
  ]);
  return (
    <div className="page whole workflow">
      <Answer query={view}>
        {(polled) => {
          const data = withHeld(polled, held.data);
          return (
            <>
              <Head view={data} watched={watched} />
              <nav className="tabs" aria-label="Parts of the workflow">
                {TABS.map(([name, title]) => (
                  <button key={name} type="button" aria-pressed={name === tab} onClick={() => show(name)}>
                    {title}
                  </button>
                ))}
                <Watching of={watched} />
              </nav>
              <div className="tab">
                <Suspense fallback={<Loading />}>
                  {tab === 'state' && held.isPending ? (
                    <Loading />
                  ) : (
                    <Content tab={tab} view={data} watched={watched} query={query} />
                  )}
                </Suspense>
              </div>
            </>
          );
        }}
      </Answer>
    </div>
  );
}

/** Its content, where that is shown: beside its state, its failure and its question. */
function useHeld(view: WorkflowView | undefined, isWanted: boolean) {
  const isShown = view !== undefined && (isWanted || view.error !== undefined || view.question !== null);
  const mark = isShown
    ? [view.workflow, view.sequence_number, view.status, view.question?.question_id ?? null]
    : undefined;
  return useContent('workflow', mark, (signal) => api.run(view!.workflow).get({ signal }));
}

function withHeld(view: WorkflowView, held: WorkflowView | undefined): WorkflowView {
  if (held?.workflow !== view.workflow) return view;
  const { input, belief, output, working_memory } = held;
  const isSame = held.question?.question_id === view.question?.question_id;
  return {
    ...{ ...view, input, belief, output, working_memory },
    error: view.error && (held.error ?? view.error),
    question: isSame ? held.question : view.question,
  };
}

function Content(props: {
  readonly tab: Tab;
  readonly view: WorkflowView;
  readonly watched: WatchedTimeline;
  readonly query: URLSearchParams;
}) {
  const { tab, view, watched, query } = props;
  if (watched.state === 'failed' && tab !== 'state' && tab !== 'children') return <Failure error={watched.error} />;
  switch (tab) {
    case 'timeline':
      return <TimelineTab view={view} watched={watched} query={query} />;
    case 'state':
      return <StateTab view={view} />;
    case 'calls':
      return <CallsTab view={view} watched={watched} query={query} />;
    case 'children':
      return <ChildrenTab view={view} />;
    case 'holders':
      return <HoldersTab watched={watched} />;
    case 'forks':
      return <ForksTab view={view} query={query} />;
  }
}

function Head({ view, watched }: { readonly view: WorkflowView; readonly watched: WatchedTimeline }) {
  const { workflow, definition, definition_version: version, fork, parent } = view;
  const { continues, continued_as: continuedAs } = view;
  const isReset = fork !== undefined && fork.workflow === continues;
  return (
    <div className="head">
      <header>
        <h1>
          <Name of={workflow} mono={false} />
        </h1>
        <State of={view.activity} reason={view.reason} />
        <span className="dim">
          <Link to={addressOf(['workflows'], { definition })} className="body-link">
            {plain(definition)}
          </Link>{' '}
          v{version}
          {view.pinned ? ', pinned' : ''}
          {fork === undefined ? null : (
            <>
              {isReset ? ' · supersedes ' : ' · fork of '}
              <Link to={workflowAddress(fork.workflow)} className="body-link">
                {plain(fork.workflow)}
              </Link>{' '}
              {isReset ? `from ${fork.sequence_number} on` : `at ${fork.sequence_number}`}
            </>
          )}
          {parent === null ? null : (
            <>
              {' · child of '}
              <Link to={workflowAddress(parent.workflow, { tab: 'children' })} className="body-link">
                {plain(parent.workflow)}
              </Link>
              , task {plain(parent.task)}
            </>
          )}
          <Chained said="continues" id={isReset ? undefined : continues} />
          <Chained said={view.reason === 'continued' ? 'continued as' : 'superseded by'} id={continuedAs} />
        </span>
        <Actions view={view} />
      </header>
      <Waits view={view} />
      <Facts view={view} watched={watched} />
      {view.error === undefined ? null : (
        <div className="failure">
          <strong>{plain(view.error.message ?? '')}</strong>
          <code>{plain(view.error.code)}</code>
        </div>
      )}
      {view.question === null ? null : <QuestionCard workflow={workflow} question={view.question} />}
    </div>
  );
}

/** What it waits for, since when, what would end that, and whether it is there. */
function Waits({ view }: { readonly view: WorkflowView }) {
  const { workflow, frontier, waits_for: wait } = view;
  if (wait == null) return null;
  const asking = frontier.find((task) => task.blocked_on.some(({ on }) => on === 'approval'));
  return (
    <p className="note-line">
      <Words of={wait.text} />
      {wait.since === null ? null : (
        <>
          , since <Ago at={wait.since} />
        </>
      )}
      . <span className="dim">Ends by {plain(wait.ends_by)}.</span>{' '}
      {wait.is_there === false ? <Chip tone="bad">none is there</Chip> : null}
      {asking !== undefined && view.status === 'open' ? (
        <Link to={addressOf(['inbox'], { workflow, task: asking.task })} className="body-link">
          Answer it
        </Link>
      ) : null}
    </p>
  );
}

/** The run that continues it, or that it continues. */
const Chained = ({ said, id }: { readonly said: string; readonly id: string | undefined }) =>
  id === undefined ? null : (
    <>
      {` · ${said} `}
      <Link to={workflowAddress(id)} className="body-link">
        {plain(id)}
      </Link>
    </>
  );

function Facts({ view, watched: { timeline } }: { readonly view: WorkflowView; readonly watched: WatchedTimeline }) {
  const nowMs = useNow();
  const openedMs = Date.parse(view.opened_at);
  const isOver = ['completed', 'failed', 'compensated'].includes(view.status);
  const tookMs = (isOver ? Date.parse(view.updated_at) : nowMs) - openedMs;
  return (
    <dl className="facts">
      <Fact name="Checkpoints">{count(view.sequence_number)}</Fact>
      <Fact name={isOver ? 'Took' : 'Open for'}>{duration(tookMs)}</Fact>
      <Fact name="Tokens">{tokensOf(view)}</Fact>
      <Fact name="Cost">{moneyOf(view)}</Fact>
      {view.unknown === undefined ? null : <Fact name="Perhaps spent">{unknownOf(view)}</Fact>}
      <Fact name="Worker">
        <Worker holder={view.holder} lane={laneOf(timeline.holders, view.holder)} />
      </Fact>
      <Fact name="Workers so far" tone={timeline.crashCount > 0 ? 'bad' : undefined}>
        {timeline.holders.length}
        {timeline.crashCount > 0 ? `, ${count(timeline.crashCount)} lost` : ''}
      </Fact>
      <Fact name="Pending tasks">{count(view.pending_task_count)}</Fact>
      <Fact name="Changed">
        <Ago at={view.updated_at} />
      </Fact>
      {view.last_action === '' ? null : (
        <Fact name="Last action">
          <bdi className="last-action">{plain(view.last_action)}</bdi>
        </Fact>
      )}
    </dl>
  );
}

const laneOf = (holders: readonly string[], holder: string | null): number | undefined => {
  const lane = holder === null ? -1 : holders.indexOf(holder);
  return lane === -1 ? undefined : lane;
};

const WATCHING: Readonly<Record<WatchedTimeline['state'], string>> = {
  loading: 'Reading its history',
  live: 'Live',
  lost: 'Connection lost, trying again',
  ended: 'Ended',
  failed: 'Not followed',
};

const Watching = ({ of: { state } }: { readonly of: WatchedTimeline }) => (
  <span className="watching" data-state={state} role="status">
    <i aria-hidden="true" />
    {WATCHING[state]}
  </span>
);
