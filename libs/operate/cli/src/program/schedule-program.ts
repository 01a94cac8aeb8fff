/** Owns the arguments and options of `schedule`, and their help. Must hold no logic. */

import { CATCH_UP_MAX_COUNT, OVERLAPS } from '@tidemark/runtime/names';
import { type Command, Option } from 'commander';
import { tenantName, wholeNumber } from '../arguments.ts';
import type { ProgramKit } from './program-kit.ts';
import { limited, ofTenant, places } from './shared-options.ts';

const scheduleCommands = () => import('../commands/schedule.ts');

export function addSchedule({ command, does, modules }: ProgramKit): void {
  const parent = command('schedule', 'start runs of a workflow at the times of a cron pattern').helpCommand(false);
  const sub = (usage: string, what: string, isDefault = false): Command =>
    places(parent.command(usage, { isDefault }).description(what).copyInheritedSettings(parent));
  limited(ofTenant(sub('list', 'schedules, newest first, with their next slots', true))).action(
    does(scheduleCommands, 'scheduleList'),
  );
  modules(sub('set', 'make a schedule, or change the one of this id'))
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
    .action(does(scheduleCommands, 'scheduleSet'));
  sub('fire', 'have a schedule begin a run now, by its overlap policy')
    .argument('<id>', 'id of the schedule')
    .action(does(scheduleCommands, 'scheduleFire'));
}
