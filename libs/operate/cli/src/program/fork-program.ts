/** Owns the arguments and options of `fork` and `compare`, and their help. Must hold no logic. */

import { Option } from 'commander';
import { wholeNumber } from '../arguments.ts';
import type { ProgramKit } from './program-kit.ts';
import { places } from './shared-options.ts';

const forkCommands = () => import('../commands/fork.ts');

const sequence = wholeNumber(0, Number.MAX_SAFE_INTEGER);

export function addFork({ command, does, modules }: ProgramKit): void {
  const forking = command('fork', 'start a new run from a checkpoint of another, whose history up to there it shares')
    .argument('<id>', 'id of the run')
    .requiredOption('--at <sequence>', 'the checkpoint after which it starts; 0: the opening', sequence)
    .addOption(
      new Option(
        '--effects <how>',
        'replay: what the run recorded answers, nothing is called; live: effects are called',
      )
        .choices(['replay', 'live'])
        .default('replay'),
    )
    .option('--with <belief>', 'begin with this belief: a file of JSON, JSON itself, or - for standard input')
    .option('--version <version>', 'run with exactly this version of the workflow', sequence)
    .option('--id <id>', 'id of the fork; the same id is the same fork (default: a new one)')
    .option('--by <name>', 'who makes it, where state is a folder (default: your name here; a server knows you)');
  places(modules(forking)).action(does(forkCommands, 'fork'));
  places(command('compare', 'show how two runs differ: outcome, first checkpoint that differs, tokens, cost'))
    .argument('<id>', 'id of a run')
    .argument('<other>', 'id of the other')
    .action(does(forkCommands, 'compare'));
}
