/** Owns the arguments and options of `recover`, `approve`, `reject`, `confirm` and `signal`, and their help. Must hold no logic. */

import { type Command, Option } from 'commander';
import type { ProgramKit } from './program-kit.ts';
import { places, why } from './shared-options.ts';

const decideCommands = () => import('../commands/decide.ts');

export function addRecovery({ command, does, modules }: ProgramKit): void {
  modules(
    places(
      command('recover', 'take a stuck workflow from its holder, so that another resumes it; --dry-run only predicts'),
    ),
  )
    .argument('<id>', 'id of the run')
    .option('--dry-run', 'print step by step what the next holder would do, and change nothing')
    .option('--probe', 'with --dry-run: ask the probes of its effects now')
    .action(does(() => import('../commands/recover.ts'), 'recover'));

  const answering = (name: string, description: string): Command =>
    why(modules(places(command(name, description))).argument('<id>', 'id of the run'))
      .option('--question <id>', 'the question that is meant (default: the open one)')
      .option(
        '--task <id>',
        'the task whose approval is answered, in place of a question; tidemark approvals lists them',
      );

  answering('approve', 'answer the question of a workflow that waits for a person, so that it resumes')
    .addOption(
      new Option('--as <resolution>', 'what is decided (default: retry, or done where there is a response)').choices([
        'retry',
        'done',
        'not-done',
        'compensate',
      ]),
    )
    .option('--response <json>', 'what the effect in question answered: JSON, @file, or - for standard input')
    .option('--value <json>', 'with --task: what its form asks for: JSON, @file, or - for standard input')
    .action(does(decideCommands, 'approve'));

  answering('reject', 'answer the question of a workflow that waits for a person: it fails').action(
    does(decideCommands, 'reject'),
  );

  modules(places(command('confirm', 'say what became of an effect that was accepted outside')))
    .argument('<id>', 'id of the run')
    .argument('<token>', 'what its receiver gave for it')
    .option('--response <json>', 'it is done, and answered this: JSON, @file, or - for standard input')
    .option('--failed <text>', 'it certainly was not done, and why')
    .action(does(decideCommands, 'confirm'));

  modules(places(command('signal', 'send a workflow a signal, which a task of its waits for or will wait for')))
    .argument('<id>', 'id of the run')
    .argument('<name>', 'name of the signal')
    .option('--value <json>', 'what comes with it: JSON, @file, or - for standard input (default: null)')
    .option('--key <name>', 'with the same key it counts once, however often it is sent')
    .action(does(decideCommands, 'signal'));
}
