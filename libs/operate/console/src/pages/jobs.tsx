/** Owns bulk jobs: the action, its author and reason, the progress, and which workflows refused. */

import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Answer, Empty } from '../parts/answers.tsx';
import { Ask } from '../parts/dialog.tsx';
import { type Column, DataTable, More, useWalk } from '../parts/table.tsx';
import { Ago, Chip, Fact, Name, State } from '../parts/words.tsx';
import { useAsk } from '../shell/ask.ts';
import { api, LIST_PERIOD_MS } from '../shell/client.ts';
import { useContent } from '../shell/content.ts';
import { Link, WorkflowLink } from '../shell/link.tsx';
import { type PageAt, usePages } from '../shell/pages.ts';
import { useMay } from '../shell/rights.ts';
import { addressOf, go } from '../shell/router.ts';
import { count, plain, words } from '../text/format.ts';

const SHOWN_COUNT = 100;
/** Poll interval of a running job, in milliseconds. */
const WORKING_PERIOD_MS = 1_000;

const askJobs = (signal: AbortSignal, cursor: PageAt) =>
  api.ask('GET /v1/jobs', { query: { limit: SHOWN_COUNT, content: 'false', cursor } }, { signal });
type Job = Awaited<ReturnType<typeof askJobs>>['jobs'][number];

const isWorking = ({ status }: Pick<Job, 'status'>): boolean => status === 'open' || status === 'parked';

const ACTS: Readonly<Record<string, string>> = {
  cancel: 'Cancel',
  terminate: 'Terminate',
  pause: 'Pause',
  resume: 'Resume',
  retry: 'Try again',
  signal: 'Signal',
};

/** Several tenants may have jobs of one id. */
const addressOfJob = ({ job, tenant }: Pick<Job, 'job' | 'tenant'>): string =>
  addressOf(['jobs', job], { tenant: tenant ?? undefined });

const COLUMNS: readonly Column<Job>[] = [
  {
    name: 'Job',
    of: ({ job, tenant, act }) => (
      <Link to={addressOfJob({ job, tenant })}>
        <b>{ACTS[act] ?? plain(act)}</b> <Name of={job} />
      </Link>
    ),
  },
  { name: 'State', of: (job) => <Standing of={job} /> },
  { name: 'Done', of: ({ done_count: done }) => count(done), isNumber: true },
  { name: 'Refused', of: ({ refused_count: refused }) => <Refusals count={refused} />, isNumber: true },
  { name: 'Why', of: ({ why }) => <bdi>{plain(why ?? '')}</bdi>, isMinor: true, className: 'cut' },
  { name: 'By', of: ({ by }) => plain(by), isMinor: true, className: 'cut' },
  { name: 'Started', of: ({ begun_at: at }) => <Ago at={at} />, isNumber: true, isMinor: true },
];

const Refusals = ({ count: refused }: { readonly count: number }) =>
  refused === 0 ? <>0</> : <span className="trimmed">{count(refused)}</span>;

function Standing({ of: { status, reason } }: { readonly of: Job }) {
  if (status === 'open') return <State of="running" says="Running" reason={reason} />;
  return status === 'completed' ? <State of="completed" says="Done" /> : <State of={status} reason={reason} />;
}

interface Picked {
  readonly job: string | undefined;
  readonly tenant: string | undefined;
}

export function JobsPage({ job, tenant }: Picked) {
  const { found, pages } = usePages(['jobs'], askJobs, (first) =>
    first?.jobs.some(isWorking) === true ? WORKING_PERIOD_MS : LIST_PERIOD_MS,
  );
  const rows = pages.flatMap(({ jobs }) => jobs);
  const isPicked = (one: Job): boolean => one.job === job && (tenant === undefined || one.tenant === tenant);
  const at = rows.findIndex(isPicked);
  useWalk('Jobs', rows.length, at, (index) => go(addressOfJob(rows[index]!), { replaces: true }));
  return (
    <div className="page">
      <header>
        <h1>Jobs</h1>
        <span className="dim">
          one action on many workflows; started from a search in{' '}
          <Link to="/workflows" className="body-link">
            Workflows
          </Link>
        </span>
      </header>
      <Answer query={found}>
        {() =>
          rows.length === 0 && job === undefined ? (
            <Empty title="No job was started yet.">
              Search for workflows, and choose “All of these” to pause, resume, cancel or signal them.
            </Empty>
          ) : (
            <div className="split" data-picked={job !== undefined}>
              <section className="card">
                <DataTable
                  label="Jobs"
                  columns={job === undefined ? COLUMNS : COLUMNS.slice(0, 4)}
                  rows={rows}
                  keyOf={addressOfJob}
                  isSelected={isPicked}
                />
                <More of={found} what="jobs" />
              </section>
              {job === undefined ? null : <One key={`${job} ${tenant}`} job={job} tenant={tenant} />}
            </div>
          )
        }
      </Answer>
    </div>
  );
}

function One({ job: id, tenant }: Picked & { readonly job: string }) {
  const params = { job: id };
  const found = useAsk(
    ['job', id, tenant],
    'GET /v1/jobs/{job}',
    { params, query: { tenant, content: 'false' } },
    {
      refetchInterval: ({ state }) =>
        state.data === undefined || isWorking(state.data) ? WORKING_PERIOD_MS : LIST_PERIOD_MS * 3,
    },
  );
  const why = useContent('job', `${id} ${tenant}`, (signal) =>
    api.ask('GET /v1/jobs/{job}', { params, query: { tenant } }, { signal }),
  ).data?.why;
  return (
    <section className="card" aria-label="Job">
      <Answer query={found}>
        {(job) => (
          <>
            <header className="wraps">
              <h2>
                {ACTS[job.act] ?? plain(job.act)} <Name of={job.job} />
              </h2>
              <Standing of={job} />
              <Stop job={job} />
            </header>
            <dl className="facts" aria-live="polite">
              <Fact name="Done">{count(job.done_count)}</Fact>
              <Fact name="Refused" tone={job.refused_count > 0 ? 'bad' : undefined}>
                {count(job.refused_count)}
              </Fact>
              <Fact name="By">{plain(job.by)}</Fact>
              <Fact name="Started">
                <Ago at={job.begun_at} />
              </Fact>
              {why === undefined ? null : (
                <Fact name="Why">
                  <bdi className="wrap">{plain(why)}</bdi>
                </Fact>
              )}
            </dl>
            <Share job={job} />
            {job.refused.length === 0 ? null : (
              <div className="stack">
                <h3>
                  Refused
                  {job.refused_count > job.refused.length ? `, the first ${job.refused.length}` : ''}
                </h3>
                <DataTable
                  label="Refused"
                  rows={job.refused}
                  keyOf={({ workflow }) => workflow}
                  columns={[
                    {
                      name: 'Workflow',
                      of: ({ workflow }) => <WorkflowLink of={workflow} />,
                    },
                    {
                      name: 'Why',
                      of: ({ workflow, code, message }) => (
                        <>
                          <Chip tone="warn">{plain(words(code))}</Chip>{' '}
                          <span className="dim">{plain(message.replace(`Workflow ${workflow} `, ''))}</span>
                        </>
                      ),
                    },
                  ]}
                />
              </div>
            )}
          </>
        )}
      </Answer>
    </section>
  );
}

/** Of those that it has reached; their total is known once it is done. */
function Share({ job: { done_count: done, refused_count: refused } }: { readonly job: Job }) {
  const all = Math.max(done + refused, 1);
  return (
    <svg className="meter" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="Done and refused">
      <rect className="fill" width={(100 * done) / all} height={6} />
      <rect className="fill-bad" x={(100 * done) / all} width={(100 * refused) / all} height={6} />
    </svg>
  );
}

function Stop({ job }: { readonly job: Job }) {
  const may = useMay();
  const queries = useQueryClient();
  const [isAsked, setAsked] = useState(false);
  if (!may('operate') || !isWorking(job)) return null;
  const stop = async (why: string): Promise<void> => {
    const request = { params: { job: job.job }, query: { tenant: job.tenant ?? undefined }, body: { why } };
    await api.ask('POST /v1/jobs/{job}/cancel', request, { isRepeatable: true });
    for (const queryKey of [['jobs'], ['job', job.job]]) void queries.invalidateQueries({ queryKey });
  };
  return (
    <span className="end">
      <button type="button" className="danger" onClick={() => setAsked(true)}>
        Stop
      </button>
      {isAsked ? (
        <Ask
          title="Stop this job?"
          verb="Stop"
          danger
          why="Kept with the job, with your name."
          onDo={stop}
          onClose={() => setAsked(false)}
        >
          <p>It stops where it is. What it has done stays done.</p>
        </Ask>
      ) : null}
    </span>
  );
}
