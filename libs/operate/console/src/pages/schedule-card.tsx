/** Owns one schedule: its next times, its runs, and its actions for readers who may use them. */

import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Json } from '../belief/changes.ts';
import { Answer } from '../parts/answers.tsx';
import { Ask } from '../parts/dialog.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { DataTable } from '../parts/table.tsx';
import { Ago, Fact, Name, State } from '../parts/words.tsx';
import { useAsk } from '../shell/ask.ts';
import { api, LIST_PERIOD_MS } from '../shell/client.ts';
import { Link } from '../shell/link.tsx';
import { useMay } from '../shell/rights.ts';
import { addressOf, workflowAddress } from '../shell/router.ts';
import { count, counted, momentIn, plain } from '../text/format.ts';
import { isOver, type Schedule, Standing } from './schedule.tsx';

const RUNS_COUNT = 50;

const OVERLAPS: Readonly<Record<string, string>> = {
  skip: 'that slot is skipped',
  queue: 'one slot waits for its end',
  cancel: 'it is cancelled first',
  terminate: 'it is ended at once',
  allow: 'both run',
};

type Act = 'fire' | 'pause' | 'resume' | 'cancel';

const ACTS: Readonly<Record<Act, { readonly verb: string; readonly follows: string; readonly danger?: true }>> = {
  fire: { verb: 'Trigger now', follows: 'It begins a run now, by its overlap policy. Its times stay as they are.' },
  pause: { verb: 'Pause', follows: 'No run begins until it is resumed; the times in between are missed.' },
  resume: { verb: 'Resume', follows: 'It begins runs again, and catches up on missed times as it was set to.' },
  cancel: {
    verb: 'Delete',
    follows: 'It starts no further run, and its id stays taken. Runs under way continue.',
    danger: true,
  },
};

export function ScheduleCard({ schedule }: { readonly schedule: Schedule }) {
  const { schedule: id, definition, cron, time_zone: zone, overlap, catch_up: catchUp, input, next } = schedule;
  const isPaused = schedule.reason === 'paused';
  return (
    <section className="card" aria-label="Schedule">
      <header className="wraps">
        <h2>
          <Name of={id} mono={false} />
        </h2>
        <Standing of={schedule} />
        <Acts schedule={schedule} />
      </header>
      <dl className="facts">
        <Fact name="Runs">
          <Link to={addressOf(['workflows'], { definition })} className="body-link">
            {plain(definition)}
          </Link>
        </Fact>
        <Fact name="When">
          <span className="mono">{plain(cron)}</span>
        </Fact>
        <Fact name="Time zone">{plain(zone)}</Fact>
        <Fact name="While a run is live">{OVERLAPS[overlap] ?? plain(overlap)}</Fact>
        <Fact name="Catches up">{counted(catchUp, 'missed time')} at most</Fact>
        <Fact name="Started">{count(schedule.started_count)}</Fact>
        <Fact name="Skipped">{count(schedule.skipped_count)}</Fact>
        {schedule.taken_count > 0 ? (
          <Fact name="Id already taken" tone="bad">
            {count(schedule.taken_count)}
          </Fact>
        ) : null}
        <Fact name="Missed" tone={schedule.missed_count > 0 ? 'bad' : undefined}>
          {count(schedule.missed_count)}
        </Fact>
      </dl>
      <div className="stack">
        <h3>Next times, in {plain(zone)}</h3>
        {isPaused ? (
          <p className="dim">None while it is paused.</p>
        ) : next.length === 0 ? (
          <p className="dim">None: it has ended.</p>
        ) : (
          <ol className="times">
            {next.map((at) => (
              <li key={at}>
                <span className="mono">{momentIn(at, zone)}</span>{' '}
                <span className="dim">
                  <Ago at={at} />
                </span>
              </li>
            ))}
          </ol>
        )}
        <h3>Runs</h3>
        <Runs schedule={schedule} />
        {input == null ? null : (
          <>
            <h3>Input of each run</h3>
            <JsonTree value={input as Json} label="Input" />
          </>
        )}
        <p>
          <Link to={workflowAddress(id)} className="body-link">
            The schedule’s own history
          </Link>
        </p>
      </div>
    </section>
  );
}

/** Their ids consist of its own and the time. */
function Runs({ schedule: { schedule, definition } }: { readonly schedule: Schedule }) {
  const runs = useAsk(
    ['workflows', 'of-schedule', schedule],
    'GET /v1/workflows',
    { query: { definition, text: schedule, limit: RUNS_COUNT } },
    { refetchInterval: LIST_PERIOD_MS },
  );
  return (
    <Answer query={runs}>
      {({ workflows }) => {
        const own = workflows.filter(({ workflow }) => workflow.startsWith(`${schedule}@`));
        if (own.length === 0) return <p className="dim">None yet.</p>;
        return (
          <DataTable
            label="Runs"
            rows={own}
            keyOf={({ workflow }) => workflow}
            columns={[
              {
                name: 'Slot',
                of: ({ workflow }) => (
                  <Link to={workflowAddress(workflow)}>
                    <bdi className="mono slot">{plain(workflow.slice(schedule.length + 1))}</bdi>
                  </Link>
                ),
              },
              { name: 'State', of: ({ activity, reason }) => <State of={activity} reason={reason} /> },
              { name: 'Began', of: ({ opened_at: at }) => <Ago at={at} />, isNumber: true },
            ]}
          />
        );
      }}
    </Answer>
  );
}

function Acts({ schedule }: { readonly schedule: Schedule }) {
  const may = useMay();
  const [asked, setAsked] = useState<Act | null>(null);
  if (!may('operate') || isOver(schedule)) return null;
  const acts: readonly Act[] = schedule.reason === 'paused' ? ['resume', 'cancel'] : ['fire', 'pause', 'cancel'];
  return (
    <span className="end">
      {acts.map((act) => (
        <button
          key={act}
          type="button"
          className={ACTS[act].danger === true ? 'danger' : undefined}
          onClick={() => setAsked(act)}
        >
          {ACTS[act].verb}
        </button>
      ))}
      {asked === null ? null : <ActDialog act={asked} schedule={schedule.schedule} onClose={() => setAsked(null)} />}
    </span>
  );
}

function ActDialog(props: { readonly act: Act; readonly schedule: string; readonly onClose: () => void }) {
  const { act, schedule, onClose } = props;
  const [at] = useState(() => new Date().toISOString());
  const queries = useQueryClient();
  const { verb, follows, danger } = ACTS[act];
  const run = async (why: string): Promise<void> => {
    if (act === 'fire') {
      const asked = { params: { schedule }, body: { at } };
      await api.ask('POST /v1/schedules/{schedule}/fire', asked, { isRepeatable: true });
    } else await api.run(schedule)[act](why);
    for (const queryKey of [['schedules'], ['workflows']]) void queries.invalidateQueries({ queryKey });
  };
  return (
    <Ask
      {...{ verb, danger, onClose }}
      title={`${verb}?`}
      why={act === 'fire' ? undefined : 'Kept in its history, with your name.'}
      onDo={run}
    >
      <p>{follows}</p>
    </Ask>
  );
}
