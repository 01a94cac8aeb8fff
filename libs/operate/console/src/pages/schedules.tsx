/** Owns schedules: when each runs next, what it has started, skipped and missed, its runs, and changing it. */

import { Answer, Empty } from '../parts/answers.tsx';
import { type Column, DataTable, More, useWalk } from '../parts/table.tsx';
import { Ago, Name } from '../parts/words.tsx';
import { api, LIST_PERIOD_MS } from '../shell/client.ts';
import { useContent } from '../shell/content.ts';
import { Link } from '../shell/link.tsx';
import { type PageAt, usePages } from '../shell/pages.ts';
import { addressOf, go, workflowAddress } from '../shell/router.ts';
import { count, plain } from '../text/format.ts';
import { useFleetChanges } from './fleet-changes.ts';
import { type Schedule, Standing } from './schedule.tsx';
import { ScheduleCard } from './schedule-card.tsx';

const SHOWN_COUNT = 200;

const askSchedules = (signal: AbortSignal, content: 'true' | 'false', cursor: PageAt) =>
  api.ask('GET /v1/schedules', { query: { limit: SHOWN_COUNT, content, cursor } }, { signal });

const addressOfSchedule = (schedule: string): string => addressOf(['schedules', schedule]);

const COLUMNS: readonly Column<Schedule>[] = [
  {
    name: 'Schedule',
    of: ({ schedule }) => (
      <Link to={addressOfSchedule(schedule)}>
        <Name of={schedule} />
      </Link>
    ),
  },
  { name: 'State', of: (one) => <Standing of={one} /> },
  { name: 'Runs', of: ({ definition }) => plain(definition), isMinor: true },
  {
    name: 'When',
    of: ({ cron, time_zone: zone }) => (
      <>
        <span className="mono">{plain(cron)}</span> <span className="dim">{plain(zone)}</span>
      </>
    ),
    isMinor: true,
  },
  {
    name: 'Next',
    of: ({ next: [next], reason }) =>
      next === undefined || reason === 'paused' ? <span className="dim">–</span> : <Ago at={next} />,
  },
  { name: 'Started', of: (one) => count(one.started_count), isNumber: true, isMinor: true },
  { name: 'Skipped', of: (one) => count(one.skipped_count), isNumber: true, isMinor: true },
  {
    name: 'Missed',
    of: ({ missed_count: missed }) => (missed === 0 ? '0' : <span className="trimmed">{count(missed)}</span>),
    isNumber: true,
    isMinor: true,
  },
];

export function SchedulesPage({ schedule }: { readonly schedule: string | undefined }) {
  const { found, pages, starts } = usePages(
    ['schedules'],
    (signal, at) => askSchedules(signal, 'false', at),
    () => LIST_PERIOD_MS,
  );
  useFleetChanges();
  const rows = pages.flatMap(({ schedules }) => schedules);
  const at = rows.findIndex((one) => one.schedule === schedule);
  const one = rows[at];
  const start = starts[pages.findIndex(({ schedules }) => schedules.some((each) => each.schedule === schedule))];
  const { data: held } = useContent('schedules', one, (signal) => askSchedules(signal, 'true', start));
  const input = held?.schedules.find((each) => each.schedule === schedule)?.input;
  useWalk('Schedules', rows.length, at, (index) => go(addressOfSchedule(rows[index]!.schedule), { replaces: true }));
  return (
    <div className="page">
      <header>
        <h1>Schedules</h1>
        <span className="dim">each begins one run for each of its times</span>
      </header>
      <Answer query={found}>
        {() =>
          rows.length === 0 ? (
            <Empty title="There are no schedules.">Make one with tidemark schedule set, or by the API.</Empty>
          ) : (
            <div className="split" data-picked={schedule !== undefined}>
              <section className="card">
                <DataTable
                  label="Schedules"
                  columns={schedule === undefined ? COLUMNS : COLUMNS.slice(0, 5)}
                  rows={rows}
                  keyOf={(one) => one.schedule}
                  isSelected={(one) => one.schedule === schedule}
                />
                <More of={found} what="schedules" />
              </section>
              {schedule === undefined ? null : at === -1 ? (
                <section className="card">
                  <p className="dim">
                    No schedule has this id. <Link to={workflowAddress(schedule)}>Find a workflow</Link>
                  </p>
                </section>
              ) : (
                <ScheduleCard key={schedule} schedule={{ ...rows[at]!, input }} />
              )}
            </div>
          )
        }
      </Answer>
    </div>
  );
}
