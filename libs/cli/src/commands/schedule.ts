/** Owns `tidemark schedule`: schedules made, changed, fired and listed. Pausing and ending one is what it is of any workflow. */

import { scheduleJson } from '@tidemark/api/shapes';
import { isoTime } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import type { Overlap } from '@tidemark/runtime';
import { readInput } from '../input.ts';
import type { Session } from '../session.ts';
import { atDesk } from '../state/at-desk.ts';
import { readDefinitions } from '../state/definitions.ts';
import { table } from '../text/table.ts';
import { counted } from '../text/units.ts';
import { printable } from '../text/width.ts';

/** Slots to come that a list shows. */
const SLOTS_SHOWN_COUNT = 3;

export interface ListSchedulesOptions {
  readonly tenant?: string | undefined;
  readonly limit: number;
  readonly state?: string | undefined;
}

export interface SetScheduleOptions {
  readonly cron: string;
  readonly timeZone?: string | undefined;
  readonly input?: string | undefined;
  readonly overlap?: Overlap | undefined;
  readonly catchUp?: number | undefined;
  readonly slotField?: string | undefined;
  readonly tenant?: string | undefined;
  readonly user?: string | undefined;
  readonly workflows?: readonly string[] | undefined;
  readonly state?: string | undefined;
}

export async function scheduleSet(
  session: Session,
  id: string,
  definition: string,
  { workflows, state, input: given, ...options }: SetScheduleOptions,
): Promise<number> {
  const input = await readInput(given, session);
  const modules = workflows ?? [];
  const definitions = async () => (modules.length === 0 ? [] : readDefinitions(modules, session.cwd));
  const { created } = await atDesk(session, { state, how: 'write', definitions }, (desk) =>
    desk.schedules.set({ ...options, id, definition, input }),
  );
  session.terminal.document({ schedule: id, definition, created });
  session.terminal.line(`${printable(id)} is ${created ? 'made' : 'changed'}; tidemark schedule tells when it comes.`);
  return EXIT.ok;
}

export async function scheduleFire(session: Session, id: string, options: { state?: string }): Promise<number> {
  await atDesk(session, { state: options.state, how: 'look' }, (desk) => desk.schedules.fire(id));
  session.terminal.document({ schedule: id });
  session.terminal.line(`${printable(id)} begins a run, unless its overlap policy says otherwise.`);
  return EXIT.ok;
}

export async function scheduleList(session: Session, options: ListSchedulesOptions): Promise<number> {
  const { tenant, limit } = options;
  const schedules = await atDesk(session, { state: options.state, how: 'look' }, (desk) =>
    desk.schedules.list({ tenant, limit, count: SLOTS_SHOWN_COUNT }),
  );
  const { terminal } = session;
  terminal.document({ schedules: schedules.map(scheduleJson) });
  if (schedules.length === 0) {
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
  const rows = schedules.map((schedule) => [
    printable(schedule.id),
    schedule.status,
    printable(schedule.definition),
    `${schedule.spec.cron} ${schedule.spec.timeZone}`,
    schedule.next[0] === undefined ? '' : isoTime(schedule.next[0]),
    ...[schedule.startedCount, schedule.skippedCount, schedule.missedCount].map(String),
  ]);
  terminal.lines(table(columns, rows, { width: terminal.width }));
  for (const { id, takenCount } of schedules.filter((one) => one.takenCount > 0)) {
    terminal.line(`${printable(id)}: ${counted(takenCount, 'slot')} didn't begin: the ids are other workflows'.`);
  }
  return EXIT.ok;
}
