/** Owns `tidemark schedule`: creating, changing, triggering and listing schedules. Pausing and ending one works as for any workflow. */

import { EXIT } from '@tidemark/host/exit-codes';
import type { Overlap } from '@tidemark/runtime';
import { readDefinitions } from '../definitions.ts';
import { readInput } from '../input.ts';
import { firstOf } from '../place/pages.ts';
import { atPlace, type PlaceOptions } from '../place/place.ts';
import type { Session } from '../session.ts';
import { table } from '../text/table.ts';
import { counted } from '../text/units.ts';
import { printable } from '../text/width.ts';

export interface ListSchedulesOptions extends PlaceOptions {
  readonly tenant?: string | undefined;
  readonly limit: number;
}

export interface SetScheduleOptions extends PlaceOptions {
  readonly cron: string;
  readonly timeZone?: string | undefined;
  readonly input?: string | undefined;
  readonly overlap?: Overlap | undefined;
  readonly catchUp?: number | undefined;
  readonly slotField?: string | undefined;
  readonly tenant?: string | undefined;
  readonly user?: string | undefined;
  readonly workflows?: readonly string[] | undefined;
}

export async function scheduleSet(
  session: Session,
  schedule: string,
  definition: string,
  options: SetScheduleOptions,
): Promise<number> {
  const { cron, timeZone, overlap, catchUp, slotField, tenant, user, workflows = [] } = options;
  const given = {
    ...{ definition, cron, overlap, tenant, user, input: await readInput(options.input, session) },
    ...{ time_zone: timeZone, catch_up: catchUp, slot_field: slotField },
  };
  const body = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as typeof given;
  const definitions = async () => (workflows.length === 0 ? [] : readDefinitions(workflows, session.cwd));
  const done = await atPlace(session, { ...options, how: 'write', definitions }, ({ client }) =>
    client.ask('PUT /v1/schedules/{schedule}', { params: { schedule }, body }, { isRepeatable: true }),
  );
  session.terminal.answer(done);
  const what = done.created ? 'made' : 'changed';
  session.terminal.line(`${printable(schedule)} is ${what}; tidemark schedule tells when it comes.`);
  return EXIT.ok;
}

export async function scheduleFire(session: Session, schedule: string, options: PlaceOptions): Promise<number> {
  const input = { params: { schedule }, body: { key: crypto.randomUUID() } };
  const done = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    client.ask('POST /v1/schedules/{schedule}/fire', input, { isRepeatable: true }),
  );
  session.terminal.answer(done);
  session.terminal.line(`${printable(schedule)} begins a run, unless its overlap policy says otherwise.`);
  return EXIT.ok;
}

export async function scheduleList(session: Session, options: ListSchedulesOptions): Promise<number> {
  const { tenant, limit } = options;
  const { items, next_cursor } = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    firstOf(
      limit,
      (page) => client.ask('GET /v1/schedules', { query: { ...page, ...(tenant !== undefined && { tenant }) } }),
      (page) => page.schedules,
    ),
  );
  const { terminal } = session;
  terminal.answer({ schedules: items, next_cursor });
  if (items.length === 0) {
    terminal.line('No schedules. tidemark schedule set makes one.');
    return EXIT.ok;
  }
  const columns = [
    { title: 'SCHEDULE', shrinksTo: 16 },
    { title: 'STATUS' },
    { title: 'WORKFLOW' },
    { title: 'PATTERN' },
    { title: 'NEXT' },
    { title: 'STARTED' },
    { title: 'SKIPPED' },
    { title: 'MISSED' },
  ] as const;
  const rows = items.map((one) => [
    ...[printable(one.schedule), one.status, printable(one.definition), `${one.cron} ${one.time_zone}`],
    one.next[0] ?? '',
    ...[one.started_count, one.skipped_count, one.missed_count].map(String),
  ]);
  terminal.lines(table(columns, rows, { width: terminal.width }));
  for (const { schedule, taken_count: taken } of items.filter((one) => one.taken_count > 0)) {
    terminal.line(`${printable(schedule)}: ${counted(taken, 'slot')} didn't begin: the ids are other workflows'.`);
  }
  return EXIT.ok;
}
