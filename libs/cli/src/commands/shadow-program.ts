/** Owns the arguments and options of `tidemark shadow`, and their help. Must hold no logic of a command. */

import { DURATION_MAX_COUNT, parseDuration } from '@tidemark/core';
import { asShare, SHADOW_SHARES } from '@tidemark/runtime';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { wholeNumber } from '../arguments.ts';
import type { Session } from '../session.ts';
import {
  OBSERVE_DEFAULT_MS,
  RUNS_DEFAULT_COUNT,
  type ShadowOptions,
  type ShadowPromoteOptions,
  shadowPromote,
  shadowReport,
  shadowStatus,
} from './shadow.ts';

type Perform<Options> = (session: Session, definition: string, options: Options) => Promise<number>;

/** Makes an action of a command. */
export type DoesOf = <Options>(
  command: Perform<Options>,
) => (definition: string, options: Options, self: Command) => Promise<void>;

/** Adds the subcommands; `common` adds what every command has. */
export function addShadow(shadow: Command, does: DoesOf, common: (command: Command) => Command): void {
  const command = (name: string, description: string): Command =>
    common(
      shadow
        .command(name)
        .description(description)
        .copyInheritedSettings(shadow)
        .argument('<definition>', 'name of the agent, as it reports'),
    );
  command('status', 'the share that is observed, since when, and how the runs compare in numbers').action(
    does<ShadowOptions>(shadowStatus),
  );
  command('report', 'rebuild the observed runs from the log and list where they are not what the agent said').action(
    does<ShadowOptions>(shadowReport),
  );
  command('promote', 'observe another share; the next one only after its observation, and without differences')
    .requiredOption('--to <percent>', `one of ${SHADOW_SHARES.join(', ')}`, share)
    .requiredOption('--by <name>', 'who decides it')
    .addOption(
      new Option('--observe <time>', 'observation that is needed before: 90s, 30m, 24h, 7d')
        .default(OBSERVE_DEFAULT_MS, '24h')
        .argParser(milliseconds),
    )
    .option('--runs <count>', 'runs that must have agreed before', wholeNumber(0, 999_999), RUNS_DEFAULT_COUNT)
    .action(does<ShadowPromoteOptions>(shadowPromote));
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
