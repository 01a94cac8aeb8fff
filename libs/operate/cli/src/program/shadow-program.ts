/** Owns the arguments and options of `tidemark shadow`, and their help. Must hold no logic of a command. */

import { DURATION_MAX_COUNT, parseDuration } from '@tidemark/core';
import { asShare, SHADOW_OBSERVE_MS, SHADOW_SHARES, SHADOW_WORKFLOWS_MIN } from '@tidemark/runtime/names';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { wholeNumber } from '../arguments.ts';
import type { ShadowPromoteOptions } from '../commands/shadow.ts';
import type { ProgramKit } from './program-kit.ts';
import { places } from './shared-options.ts';

const shadowCommands = () => import('../commands/shadow.ts');

export function addShadow({ command: add, does }: ProgramKit): void {
  const shadow = add('shadow', 'observe an agent that runs elsewhere, compare, and raise the share that is observed');
  const command = (name: string, description: string): Command =>
    places(
      shadow
        .command(name)
        .description(description)
        .copyInheritedSettings(shadow)
        .argument('<definition>', 'name of the agent, as it reports'),
    );
  command('status', 'the share that is observed, since when, and how the runs compare in numbers').action(
    does(shadowCommands, 'shadowStatus'),
  );
  command('report', 'rebuild the observed runs from the log and list where they are not what the agent said').action(
    does(shadowCommands, 'shadowReport'),
  );
  command('promote', 'observe another share; the next one only after its observation, and without differences')
    .requiredOption('--to <percent>', `one of ${SHADOW_SHARES.join(', ')}`, share)
    .option('--by <name>', 'who decides it, where state is a folder (default: your name here; a server knows you)')
    .addOption(
      new Option('--observe <time>', 'observation that is needed before: 90s, 30m, 24h, 7d')
        .default(SHADOW_OBSERVE_MS, '24h')
        .argParser(milliseconds),
    )
    .option('--runs <count>', 'runs that must have agreed before', wholeNumber(0, 999_999), SHADOW_WORKFLOWS_MIN)
    .action(does(shadowCommands, 'shadowPromote'));
}

function milliseconds(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined)
    throw new InvalidArgumentError(
      `Give a whole number from 0 to ${DURATION_MAX_COUNT} with a unit: 90s, 30m, 24h, 7d.`,
    );
  return ms;
}

function share(text: string): ShadowPromoteOptions['to'] {
  try {
    return asShare(/^\d+$/.test(text) ? Number(text) : Number.NaN);
  } catch {
    throw new InvalidArgumentError(`Give one of ${SHADOW_SHARES.join(', ')}.`);
  }
}
