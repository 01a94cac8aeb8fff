/** Owns the arguments and options of the most used commands, to run and to see what runs, and their help. Must hold no logic of a command. */

import { Option } from '@commander-js/extra-typings';
import { collectorUrl, nameText, nameTexts, wholeNumber } from '../arguments.ts';
import { LIST_DEFAULT_COUNT, LIST_MAX_COUNT } from '../limits.ts';
import { withFilters } from './filter-options.ts';
import type { OptionsIn, ProgramKit } from './program-kit.ts';
import { jsonOption, modules, places, stateOption } from './shared-options.ts';

export function runningCommands(kit: ProgramKit) {
  const { command } = kit;
  const dev = modules(
    kit,
    command('dev', 'run workflows in this process, with state in a folder, and print what happens'),
  )
    .addOption(stateOption())
    .option(
      '--port <port>',
      'of the HTTP API, on this machine alone (default: 7070, or any free one, which is said)',
      wholeNumber(0, 65_535),
    )
    .option(
      '--otlp <url>',
      'export traces to this collector (default: OTEL_EXPORTER_OTLP_ENDPOINT; else none)',
      collectorUrl,
    )
    .addOption(jsonOption());

  const run = modules(kit, places(command('run', 'start a workflow, show how it goes, print its output')))
    .argument('<workflow>', 'name of the workflow')
    .option('--input <json>', 'its input: JSON, @file, or - for standard input (default: {})')
    .option('--id <id>', 'id of the run; the same id is the same run (default: a new one)')
    .option('--tenant <name>', 'whose run it is (default: default)', nameText)
    .option('--session <id>', 'the session it is a part of: it sees what was said before')
    .option('--user <name>', 'the user it is for: its model calls see what is known of them')
    .option('--tag <name>', 'a tag by which it is found; may be repeated', nameTexts)
    .option('--timeout <time>', "cancelled after this time: '90s', '15m', '36h', '7d' (default: its definition says)")
    .option('--priority <number>', '1 is served first, 5 last (default: its definition says)', wholeNumber(1, 5))
    .option('--detach', 'start it, print its id, and do not wait');

  const ls = places(withFilters(command('ls', 'list and search workflows, newest first').alias('list')))
    .option('--children', 'also those that others have started, and undos')
    .option('--limit <count>', 'at most this many', wholeNumber(1, LIST_MAX_COUNT), LIST_DEFAULT_COUNT);

  const show = modules(
    kit,
    places(command('show', 'show a workflow: status, belief, what it waits for and why, last checkpoint')),
  )
    .argument('<id>', 'id of the run')
    .option('--checkpoints', 'list all checkpoints')
    .option('--effects', 'list all effects')
    .option('--events', 'list all other events: failures, signals, take-overs')
    .option('--tasks', 'list all pending tasks')
    .option('--handovers', 'list all hand-overs between phases, with the keys that came, went and stayed')
    .addOption(
      new Option('--against <sequence>', 'with --handovers: compare with this one (default: with the one before each)')
        .argParser(wholeNumber(1, Number.MAX_SAFE_INTEGER))
        .implies({ handovers: true }),
    )
    .addOption(
      new Option('--at <sequence>', 'as it was right after this checkpoint; 0: when it was opened')
        .argParser(wholeNumber(0, Number.MAX_SAFE_INTEGER))
        .conflicts(['checkpoints', 'effects', 'events', 'tasks', 'handovers', 'against']),
    );

  const watch = places(
    command('watch', 'follow one run until it ends, or all runs; on a terminal, all runs are shown as a live table'),
  )
    .argument('[id]', 'id of the run (default: all)')
    .option('--lines', 'print a line for each event, also for all runs on a terminal');
  return { dev, run, ls, show, watch };
}

export type RunningOptions = OptionsIn<typeof runningCommands>;
