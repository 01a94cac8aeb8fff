/** Owns the fleet at a glance: what runs, what waits, what is stuck, who works, and what is going on now. */

import { useQuery } from '@tanstack/react-query';
import '../styles/fleet.css';
import { Answer, Empty } from '../parts/answers.tsx';
import { Ago, Name, State, Worker } from '../parts/words.tsx';
import { api, LIST_PERIOD_MS } from '../shell/client.ts';
import { Link } from '../shell/link.tsx';
import { addressOf, workflowAddress } from '../shell/router.ts';
import { money, plain, short } from '../text/format.ts';

const SAMPLE_COUNT = 500;

export function FleetPage() {
  const all = useQuery({
    queryKey: ['fleet'],
    queryFn: ({ signal }) => api.ask('GET /v1/workflows', { query: { limit: SAMPLE_COUNT } }, { signal }),
    refetchInterval: LIST_PERIOD_MS,
  });
  return (
    <div className="page">
      <header>
        <h1>Fleet</h1>
      </header>
      <Answer query={all}>
        {({ workflows }) =>
          workflows.length === 0 ? (
            <Empty title="No workflow was started yet.">
              Start one with tidemark run, or on the page of workflows.
            </Empty>
          ) : (
            <Overview workflows={workflows} />
          )
        }
      </Answer>
    </div>
  );
}

type Listed = Awaited<ReturnType<typeof api.list>>['workflows'][number];
const ACTIVITIES = ['running', 'ready', 'waiting', 'parked', 'compensating', 'completed', 'failed'] as const;

function Overview({ workflows }: { readonly workflows: readonly Listed[] }) {
  const by = Map.groupBy(workflows, ({ activity }) => activity);
  const holders = Map.groupBy(
    workflows.filter(({ holder }) => holder !== null),
    ({ holder }) => holder!,
  );
  const live = workflows.filter(({ status }) => status === 'open' || status === 'parked' || status === 'compensating');
  return (
    <>
      <ul className="counts">
        {ACTIVITIES.map((activity) => (
          <li key={activity} data-state={activity}>
            <Link to={addressOf(['workflows'], { status: statusOf(activity) })}>
              <strong>{short(by.get(activity)?.length ?? 0)}</strong>
              <State of={activity} />
            </Link>
          </li>
        ))}
      </ul>
      <div className="fleet-cards">
        <section className="card">
          <header>
            <h2>Under way</h2>
            <span className="dim">newest first</span>
          </header>
          {live.length === 0 ? <p className="dim">Nothing is under way.</p> : <UnderWay rows={live.slice(0, 14)} />}
        </section>
        <section className="card">
          <header>
            <h2>Workers</h2>
            <span className="dim">that hold a workflow</span>
          </header>
          {holders.size === 0 ? (
            <p className="dim">Nobody holds one now.</p>
          ) : (
            <table>
              <tbody>
                {[...holders].map(([holder, held]) => (
                  <tr key={holder}>
                    <td>
                      <Worker holder={holder} />
                    </td>
                    <td className="num">{held.length}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </section>
      </div>
    </>
  );
}

const statusOf = (activity: (typeof ACTIVITIES)[number]): string =>
  activity === 'running' || activity === 'ready' || activity === 'waiting' ? 'open' : activity;

const UnderWay = ({ rows }: { readonly rows: readonly Listed[] }) => (
  <table>
    <thead>
      <tr>
        <th>State</th>
        <th>Workflow</th>
        <th>Last action</th>
        <th className="num">Cost</th>
        <th className="num">Changed</th>
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <tr key={row.workflow}>
          <td>
            <State of={row.activity} reason={row.reason} />
          </td>
          <td>
            <Link to={workflowAddress(row.workflow)}>
              <Name of={row.workflow} />
            </Link>
          </td>
          <td className="dim">
            <bdi>{plain(row.last_action)}</bdi>
          </td>
          <td className="num">{row.cost_micros === 0 ? '–' : money(row.cost_micros)}</td>
          <td className="num dim">
            <Ago at={row.updated_at} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);
