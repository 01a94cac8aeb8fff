/** Owns the fleet at a glance: what runs, waits and is stuck, living and lost workers, the lag of rows, and the cost. */

import { sumOfSpent } from '@tidemark/core';
import '../styles/fleet.css';
import type { Workflow } from '@tidemark/client';
import { Answer } from '../parts/answers.tsx';
import { Card } from '../parts/card.tsx';
import { DeclaredForms } from '../parts/declared-forms.tsx';
import { type Column, DataTable } from '../parts/table.tsx';
import { Ago, Chip, Fact, State, Worker } from '../parts/words.tsx';
import { useAsk } from '../shell/ask.ts';
import { LIST_PERIOD_MS } from '../shell/client.ts';
import { INBOX_COUNTED_MAX, useInboxCount } from '../shell/inbox-count.ts';
import { Link, WorkflowLink } from '../shell/link.tsx';
import { addressOf } from '../shell/router.ts';
import { count, counted, isFree, moneyOf, plain, short, tokensOf, unknownOf } from '../text/format.ts';
import { useFleetChanges } from './fleet-changes.ts';
import { SpentChart } from './spent-chart.tsx';

const ENDING = ['compensating', 'completed', 'failed', 'compensated'] as const;
const RECENT_COUNT = 15;
const WORKERS_SHOWN_COUNT = 12;
const QUEUES_SHOWN_COUNT = 8;
const ERRORS_SHOWN_COUNT = 8;

const useFleet = () => useAsk(['fleet'], 'GET /v1/fleet', {}, { refetchInterval: LIST_PERIOD_MS });

type Fleet = NonNullable<ReturnType<typeof useFleet>['data']>;

export function FleetPage() {
  const fleet = useFleet();
  useFleetChanges();
  return (
    <div className="page">
      <header>
        <h1>Fleet</h1>
        {fleet.data?.rows_ready === false ? <Chip tone="warn">rows are being rebuilt from the log</Chip> : null}
      </header>
      <Answer query={fleet}>{(data) => <Counts fleet={data} />}</Answer>
      <div className="fleet-cards">
        <Recent />
        {fleet.data === undefined ? null : (
          <div className="cards-column">
            <Workers fleet={fleet.data} />
            <Pace fleet={fleet.data} />
            <Queues />
            <Errors />
          </div>
        )}
      </div>
    </div>
  );
}

/** Errors that are alike; the list of their workflows tries all of them again. */
function Errors() {
  const errors = useAsk(
    ['errors'],
    'GET /v1/errors',
    { query: { content: 'false', limit: ERRORS_SHOWN_COUNT } },
    { refetchInterval: LIST_PERIOD_MS },
  );
  if (errors.data === undefined || errors.data.errors.length === 0) return null;
  return (
    <Card title="Errors">
      <table>
        <tbody>
          {errors.data.errors.map(({ fingerprint, definition, step, code, count: of }) => (
            <tr key={fingerprint}>
              <td className="num">{count(of)}</td>
              <td>
                <Link to={addressOf(['workflows'], { error: fingerprint, children: 'true' })} className="body-link">
                  {plain(`${definition} ${step}`)}
                </Link>
              </td>
              <td className="mono">{plain(code)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function Counts({ fleet }: { readonly fleet: Fleet }) {
  const of = (status: string): number => fleet.workflows.find((each) => each.status === status)?.count ?? 0;
  const { running_count: running, ready_count: ready } = fleet;
  // As the inbox counts: a workflow whose task waits for an approval is waiting, not parked.
  const { approvals = 0 } = useInboxCount() ?? {};
  const asks = `${short(of('parked') + approvals)}${approvals < INBOX_COUNTED_MAX ? '' : '+'}`;
  const said = approvals < INBOX_COUNTED_MAX ? counted(approvals, 'approval') : `${INBOX_COUNTED_MAX}+ approvals`;
  return (
    <ul className="counts">
      <li>
        <Link to={addressOf(['workflows'], { status: 'open' })}>
          <strong>{short(running)}</strong>
          <State of="running" />
        </Link>
      </li>
      <li>
        <Link to={addressOf(['workflows'], { status: 'open' })}>
          <strong>{short(Math.max(0, of('open') - running))}</strong>
          <span className="state">
            <State of="waiting" reason={ready === null || ready === 0 ? null : `${short(ready)} ready`} />
          </span>
        </Link>
      </li>
      <li>
        <Link to="/inbox">
          <strong>{asks}</strong>
          <State of="parked" reason={approvals === 0 ? null : said} />
        </Link>
      </li>
      {ENDING.map((status) => (
        <li key={status}>
          <Link to={addressOf(['workflows'], { status })}>
            <strong>{short(of(status))}</strong>
            <State of={status} />
          </Link>
        </li>
      ))}
    </ul>
  );
}

function Workers({ fleet: { workers } }: { readonly fleet: Fleet }) {
  const goneCount = workers.reduce((sum, { alive, held_count: held }) => (alive ? sum : sum + held), 0);
  const sorted = workers.toSorted((a, b) => Number(a.alive) - Number(b.alive) || b.held_count - a.held_count);
  const most = Math.max(...workers.map(({ held_count: held }) => held), 1);
  return (
    <Card
      title="Workers"
      note={`${count(workers.filter(({ alive }) => alive).length)} alive`}
      end={
        goneCount === 0 ? null : (
          <span className="chip end" data-tone="bad">
            recovering {counted(goneCount, 'workflow')}
          </span>
        )
      }
    >
      {workers.length === 0 ? (
        <p className="dim">No worker is running: nothing proceeds until one starts.</p>
      ) : (
        <table>
          <tbody>
            {sorted.slice(0, WORKERS_SHOWN_COUNT).map(({ holder, alive, held_count: held }) => (
              <tr key={holder}>
                <td>
                  <Worker holder={holder} />
                </td>
                <td>
                  <Chip tone={alive ? 'good' : 'bad'}>{alive ? 'alive' : 'lost'}</Chip>
                </td>
                <td className="bar-cell">
                  <svg className="meter" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
                    <rect className="fill" width={(100 * held) / most} height={6} />
                  </svg>
                </td>
                <td className="num">{counted(held, 'workflow')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}

function Pace({ fleet }: { readonly fleet: Fleet }) {
  const { last_minute: minute = null, last_five_minutes: five = null } = fleet.events_per_second ?? {};
  const day = sumOfSpent(fleet.spent);
  const rate = (value: number | null): string => (value === null ? '–' : `${short(Math.round(value * 10) / 10)}/s`);
  return (
    <Card title="Throughput and cost" note="models, last day">
      <dl className="facts">
        <Fact name="Events, last minute">{rate(minute)}</Fact>
        <Fact name="Last five minutes">{rate(five)}</Fact>
        {fleet.lag === null ? null : (
          <Fact name="Rows behind the log" tone={fleet.lag.events > 10_000 ? 'bad' : undefined}>
            {counted(fleet.lag.events, 'event')}
          </Fact>
        )}
        <Fact name="Spent">{moneyOf(day)}</Fact>
        <Fact name="Tokens">{tokensOf(day)}</Fact>
        {day.unknown === undefined ? null : <Fact name="Perhaps spent">{unknownOf(day)}</Fact>}
        {fleet.rejected_count === null ? null : (
          <Fact name="Rejected events">
            <Link to="/rejected">{count(fleet.rejected_count)}</Link>
          </Fact>
        )}
      </dl>
      <SpentChart hours={fleet.spent} />
    </Card>
  );
}

function Queues() {
  const queues = useAsk(
    ['queues'],
    'GET /v1/queues',
    { query: { content: 'false' } },
    { refetchInterval: LIST_PERIOD_MS },
  );
  const found = queues.data?.queues ?? [];
  if (found.length === 0) return null;
  return (
    <Card title="Queues" note="by definition: ready, running">
      <table>
        <tbody>
          {found.slice(0, QUEUES_SHOWN_COUNT).map((each) => (
            <tr key={`${each.queue} ${each.tenant}`}>
              <td>
                <bdi>{plain(each.queue)}</bdi> {each.tenant === null ? null : <Chip>{plain(each.tenant)}</Chip>}
              </td>
              <td className="num">{count(each.ready_count)}</td>
              <td className="num">{count(each.running_count)}</td>
              <td>{each.held.length === 0 ? null : <Chip tone="warn">paused</Chip>}</td>
              <td className="num">
                <DeclaredForms
                  on="queue"
                  view={{ ...each, is_paused: each.held.some(({ tenant }) => tenant === each.tenant) }}
                  given={{ queue: each.queue, tenant: each.tenant ?? undefined }}
                  onDone={() => void queues.refetch()}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

const COLUMNS: readonly Column<Workflow>[] = [
  { name: 'State', of: ({ activity, reason }) => <State of={activity} reason={reason} /> },
  {
    name: 'Workflow',
    of: ({ workflow }) => <WorkflowLink of={workflow} />,
  },
  { name: 'Last action', of: (row) => <bdi>{plain(row.last_action)}</bdi>, className: 'dim cut', isMinor: true },
  {
    name: 'Cost',
    of: (row) => (isFree(row) ? <span className="dim">–</span> : moneyOf(row)),
    isNumber: true,
    isMinor: true,
  },
  { name: 'Changed', of: (row) => <Ago at={row.updated_at} />, isNumber: true, className: 'dim' },
];

function Recent() {
  const recent = useAsk(
    ['workflows', 'recent'],
    'GET /v1/workflows',
    { query: { limit: RECENT_COUNT } },
    { refetchInterval: LIST_PERIOD_MS * 3 },
  );
  return (
    <Card
      title="Newest workflows"
      end={
        <Link to="/workflows" className="body-link end">
          All
        </Link>
      }
    >
      <Answer query={recent}>
        {({ workflows }) =>
          workflows.length === 0 ? (
            <p className="dim">
              No workflow was started yet. Start one with tidemark run, or on the page of workflows.
            </p>
          ) : (
            <DataTable label="Newest workflows" columns={COLUMNS} rows={workflows} keyOf={({ workflow }) => workflow} />
          )
        }
      </Answer>
    </Card>
  );
}
