/** Owns `tidemark schedule`: creating, changing, triggering and listing schedules. Pausing and ending one works as for any workflow. */

import { Option } from '@commander-js/extra-typings';
import type { Answer } from '@tidemark/client';
import { CATCH_UP_MAX_COUNT, OVERLAPS } from '@tidemark/runtime/names';
import { tenantName, wholeNumber } from '../arguments.ts';
import { readInput } from '../input.ts';
import { firstOf } from '../place/pages.ts';
import { group, type ProgramKit } from '../program/program-kit.ts';
import { limited, modules, ofTenant } from '../program/shared-options.ts';
import { type Columns, tableOr } from '../text/table.ts';
import { count, counted, zonedTime } from '../text/units.ts';
import { printable } from '../text/width.ts';

export function addSchedule(kit: ProgramKit): void {
  const { asks } = kit;
  const sub = group(
    kit,
    'schedule',
    'start runs of a workflow at the times of a cron pattern; tidemark pause, resume and cancel work on a schedule as on a run',
  );
  limited(ofTenant(sub('list', 'schedules, newest first, with their next slots', true))).action(
    asks('read', ({ tenant, limit }) => async ({ client, terminal, report }) => {
      const { items, next_cursor } = await firstOf(
        limit,
        (page) => client.ask('GET /v1/schedules', { query: { ...page, tenant } }),
        (page) => page.schedules,
      );
      const none = 'No schedules. tidemark schedule set makes one.';
      const lines = tableOr(none, SCHEDULES, items, terminal.width);
      const taken = items.filter((one) => one.taken_count > 0).map(takenLine);
      report({ schedules: items, next_cursor }, ...lines, ...taken);
    }),
  );
  modules(kit, sub('set', 'make a schedule, or change the one of this id'))
    .argument('<id>', 'id of the schedule: its runs are named ID@TIME')
    .argument('<workflow>', 'name of the workflow')
    .requiredOption(
      '--cron <pattern>',
      "minute hour day month weekday, such as '0 9 * * 1-5'; six fields begin with seconds",
    )
    .option('--time-zone <name>', 'IANA name, such as Europe/Berlin (default: UTC)')
    .option('--input <json>', 'input of each run: JSON, @file, or - for standard input (default: {})')
    .addOption(new Option('--overlap <policy>', 'while an earlier run is live (default: skip)').choices([...OVERLAPS]))
    .option('--catch-up <count>', 'missed slots that are made up for (default: 1)', wholeNumber(0, CATCH_UP_MAX_COUNT))
    .option('--slot-field <name>', 'field of the input that is given the time of the slot')
    .option('--tenant <name>', 'whose runs they are (default: default)', tenantName)
    .option('--user <name>', 'the user they are for')
    .action(
      asks('write', async (schedule, definition, options) => {
        const { cron, overlap, tenant, user, timeZone, catchUp, slotField } = options;
        const body = {
          ...{ definition, cron, overlap, tenant, user, input: await readInput(options.input, kit) },
          ...{ time_zone: timeZone, catch_up: catchUp, slot_field: slotField },
        };
        const input = { params: { schedule }, body };
        return async ({ client, report }) => {
          const done = await client.ask('PUT /v1/schedules/{schedule}', input, { isRepeatable: true });
          const what = done.created ? 'made' : 'changed';
          report(done, `${printable(schedule)} is ${what}; tidemark schedule shows when it is due.`);
        };
      }),
    );
  sub('fire', 'have a schedule begin a run now, by its overlap policy')
    .argument('<id>', 'id of the schedule')
    .action(
      asks('read', (schedule) => async ({ client, report }) => {
        const input = { params: { schedule }, body: { key: crypto.randomUUID() } };
        const done = await client.ask('POST /v1/schedules/{schedule}/fire', input, { isRepeatable: true });
        report(done, `${printable(schedule)} begins a run, unless its overlap policy says otherwise.`);
      }),
    );
}

type Schedule = Answer<'GET /v1/schedules'>['schedules'][number];

const SCHEDULES: Columns<Schedule> = [
  ['SCHEDULE', ({ schedule }) => schedule],
  ['STATUS', ({ status }) => status],
  ['NEXT', ({ next }) => (next[0] === undefined ? '' : zonedTime(Date.parse(next[0])))],
  ['WORKFLOW', ({ definition }) => definition, 8],
  ['PATTERN', ({ cron, time_zone: zone }) => `${cron} ${zone}`, 9],
  ['STARTED', (one) => count(one.started_count), 'right'],
  ['SKIPPED', (one) => count(one.skipped_count), 'right'],
  ['MISSED', (one) => count(one.missed_count), 'right'],
];

const takenLine = ({ schedule, taken_count: taken }: Schedule): string =>
  `${printable(schedule)}: ${counted(taken, 'slot')} didn't begin: the ids are other workflows'.`;
