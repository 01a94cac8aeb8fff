/** Owns the arguments and options of `tidemark crash-test`, and their help. Must hold no logic of a command. */

import { duration, wholeNumber } from '../arguments.ts';
import type { OptionsIn, ProgramKit } from './program-kit.ts';
import { jsonOption } from './shared-options.ts';

/** Kills of a crash test that nobody limits otherwise, and at most; and the time that each run has, in milliseconds. */
const KILLS_DEFAULT_COUNT = 60;
const KILLS_MAX_COUNT = 3_000;
const RUN_LIMIT_MS = 60_000;

export function crashTestCommands({ command }: ProgramKit) {
  return {
    crashTest: command(
      'crash-test',
      "kill any program at each call that it makes, start it again, and report what was doubled or lost; write -- before the program's command",
    )
      .argument('<command...>', 'the program with its arguments')
      .option('--resume <line>', 'start it again by this line of the shell (default: the same command)')
      .option('--answers <json>', 'what the receiver answers: [{"path": "/pay", "body": {}}], JSON, @file, or -')
      .option(
        '--model <json>',
        'be a model of OpenAI too: ["text", {"calls": [{"name", "arguments"}]}], JSON, @file, or -',
      )
      .option('--in-folder', 'run it in the folder that is new for each trial')
      .option('--max <count>', 'at most this many kills', wholeNumber(1, KILLS_MAX_COUNT), KILLS_DEFAULT_COUNT)
      .option('--limit <time>', 'of each run: 90s, 5m (default: 60s)', duration, RUN_LIMIT_MS)
      .option('--markdown <file>', 'write the report there as Markdown too')
      .option('--junit <file>', "write it there in JUnit's form too")
      .addOption(jsonOption()),
  };
}

export type CrashTestOptions = OptionsIn<typeof crashTestCommands>;
