/** Owns the list of workflows: searched by the server, read page by page on scrolling, and drawn only where it is visible. */

import { useVirtualizer } from '@tanstack/react-virtual';
import type { Answer } from '@tidemark/client';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import '../styles/list.css';
import { Empty, Failure, Loading } from '../parts/answers.tsx';
import { Ago, Name, State, Words, Worker } from '../parts/words.tsx';
import { api, LIST_PERIOD_MS } from '../shell/client.ts';
import { Link, WorkflowLink } from '../shell/link.tsx';
import { usePages } from '../shell/pages.ts';
import { useMay } from '../shell/rights.ts';
import { addressOf, go, workflowAddress } from '../shell/router.ts';
import { useShortcuts } from '../shell/shortcuts.ts';
import { isFree, moneyOf, plain, short } from '../text/format.ts';
import { useFleetChanges } from './fleet-changes.ts';
import { filterOf, searchOf } from './search-text.ts';
import { Filters } from './workflow-filters.tsx';

const StartDialog = lazy(() => import('./start-dialog.tsx').then((loaded) => ({ default: loaded.StartDialog })));

const BulkDialog = lazy(() => import('./bulk-dialog.tsx').then((loaded) => ({ default: loaded.BulkDialog })));

const PAGE_COUNT = 100;
const ROW_PX = 34;
/** Rows before the end at which the next page is fetched. */
const AHEAD_COUNT = 30;

type Listed = Answer<'GET /v1/workflows'>['workflows'][number];

export function WorkflowsPage({ query }: { readonly query: URLSearchParams }) {
  const filter = filterOf(query);
  const [isStarting, setStarting] = useState(false);
  const [isBulk, setBulk] = useState(false);
  const may = useMay();
  useFleetChanges();
  const { found, pages } = usePages(
    ['workflows', filter],
    (signal, cursor) =>
      api.ask('GET /v1/workflows', { query: { ...searchOf(filter), limit: PAGE_COUNT, cursor } }, { signal }),
    () => LIST_PERIOD_MS,
  );
  const rows = pages.flatMap(({ workflows }) => workflows);
  return (
    <div className="page whole">
      <header>
        <h1>Workflows</h1>
        {may('operate') ? (
          <span className="end">
            <button type="button" disabled={rows.length === 0} onClick={() => setBulk(true)}>
              All of these …
            </button>
            <button type="button" className="primary" onClick={() => setStarting(true)}>
              Start a workflow
            </button>
          </span>
        ) : null}
      </header>
      <Filters query={query} />
      {found.error !== null && rows.length === 0 ? (
        <Failure error={found.error} again={() => void found.refetch()} />
      ) : found.isPending ? (
        <Loading />
      ) : rows.length === 0 ? (
        <NoneFound query={query} isParked={filter.status === 'parked'} />
      ) : (
        <Rows
          rows={rows}
          onEnd={found.hasNextPage && !found.isFetchingNextPage ? () => void found.fetchNextPage() : null}
        />
      )}
      {isStarting ? (
        <Suspense>
          <StartDialog onClose={() => setStarting(false)} />
        </Suspense>
      ) : null}
      {isBulk ? (
        <Suspense>
          <BulkDialog filter={filter} onClose={() => setBulk(false)} />
        </Suspense>
      ) : null}
    </div>
  );
}

/** `isParked`: those that need a person were searched for, among which tasks that wait for an approval do not count. */
function NoneFound({ query, isParked }: { readonly query: URLSearchParams; readonly isParked: boolean }) {
  return (
    <Empty title="No workflow matches.">
      {isParked ? (
        <>
          Workflows with an open question are listed here. Approvals that tasks wait for are in the{' '}
          <Link to="/inbox" className="body-link">
            inbox
          </Link>
          .{' '}
        </>
      ) : null}
      {query.size > 0 ? 'Remove a filter, or search for something else.' : 'Start one here, or with tidemark run.'}
    </Empty>
  );
}

function Rows({ rows, onEnd }: { readonly rows: readonly Listed[]; readonly onEnd: (() => void) | null }) {
  const box = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(-1);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= rows.length - AHEAD_COUNT) onEnd?.();
  }, [last, rows.length, onEnd]);
  const move = (by: number): void => {
    const next = Math.max(0, Math.min(rows.length - 1, at + by));
    setAt(next);
    virtual.scrollToIndex(next);
  };
  useShortcuts('Workflows', [
    { keys: 'j', what: 'Next', run: () => move(1) },
    { keys: 'k', what: 'Before', run: () => move(-1) },
    { keys: 'Enter', what: 'Open', run: () => rows[at] && go(workflowAddress(rows[at].workflow)) },
  ]);
  return (
    <div className="list" role="table" aria-label="Workflows" aria-rowcount={rows.length + 1}>
      <div className="list-head" role="row">
        {['State', 'Workflow', 'Definition', 'Waits for, or did', 'Worker', 'Steps', 'Tokens', 'Cost', 'Changed'].map(
          (name) => (
            <span key={name} role="columnheader">
              {name}
            </span>
          ),
        )}
      </div>
      <div className="list-body" ref={box}>
        <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: 'relative' }}>
          {items.map(({ index, start }) => (
            <Row key={rows[index]!.workflow} row={rows[index]!} top={start} isAt={index === at} place={index + 2} />
          ))}
        </div>
      </div>
    </div>
  );
}

function Row({
  row,
  top,
  isAt,
  place,
}: {
  readonly row: Listed;
  readonly top: number;
  readonly isAt: boolean;
  readonly place: number;
}) {
  const { workflow, definition, definition_version, activity, reason, fork } = row;
  return (
    <div
      role="row"
      className="list-row"
      aria-rowindex={place}
      aria-selected={isAt}
      style={{ transform: `translateY(${top}px)` }}
    >
      <span role="cell">
        <State of={activity} reason={reason} />
      </span>
      <span role="cell">
        <WorkflowLink of={workflow} />
        {fork === undefined ? null : <small className="chip">fork</small>}
      </span>
      <span role="cell">
        <Link to={addressOf(['workflows'], { definition })}>
          <Name of={definition} mono={false} /> <span className="dim">v{definition_version}</span>
        </Link>
      </span>
      <span role="cell" className="soft">
        <bdi>
          {row.waits_for == null || activity === 'running' ? plain(row.last_action) : <Words of={row.waits_for.text} />}
        </bdi>
      </span>
      <span role="cell">
        <Worker holder={row.holder} />
      </span>
      <span role="cell" className="num">
        {short(row.sequence_number)}
      </span>
      <span role="cell" className="num">
        {row.tokens === 0 ? <span className="dim">–</span> : short(row.tokens)}
      </span>
      <span role="cell" className="num">
        {isFree(row) ? <span className="dim">–</span> : moneyOf(row)}
      </span>
      <span role="cell" className="num dim">
        <Ago at={row.updated_at} />
      </span>
    </div>
  );
}
