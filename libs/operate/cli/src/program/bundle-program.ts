/** Owns the arguments and options of `bundle`, and their help. Must hold no logic. */

import type { Command } from 'commander';
import { wholeNumber } from '../arguments.ts';
import type { ProgramKit } from './program-kit.ts';
import { places } from './shared-options.ts';

const bundleCommands = () => import('../commands/bundle.ts');

const number = wholeNumber(1, Number.MAX_SAFE_INTEGER);

export function addBundle({ command, does }: ProgramKit): void {
  const parent = command('bundle', 'show what a model call saw, rebuilt byte for byte; or compare two').helpCommand(
    false,
  );
  const sub = (usage: string, what: string, options?: { readonly isDefault: boolean }): Command =>
    places(parent.command(usage, options).description(what).copyInheritedSettings(parent)).argument(
      '<workflow>',
      'id of the run',
    );
  sub('show', 'list the model calls of a run; with --at, rebuild what one of them saw', { isDefault: true })
    .option('--at <sequence>', 'the checkpoint that the call led to; the one after the newest: steps under way', number)
    .option('--call <n>', 'the n-th model call of its step (default: 1)', number)
    .option('--messages', 'print the messages')
    .option('--items', 'print what was kept and what was not, and why')
    .action(does(bundleCommands, 'bundle'));
  sub('diff', 'show what differs between two bundles')
    .requiredOption('--at <sequence>', 'the checkpoint of the first', number)
    .requiredOption('--to <sequence>', 'the checkpoint of the second', number)
    .option('--call <n>', 'the n-th model call of the first step (default: 1)', number)
    .option('--to-call <n>', 'the n-th model call of the second step (default: 1)', number)
    .option('--other <workflow>', 'the run of the second, where it is another')
    .action(does(bundleCommands, 'bundleDiff'));
}
