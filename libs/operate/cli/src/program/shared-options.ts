/** Owns options that several commands have alike. Must hold no logic of a command. */

import { type Command, Option, type OptionValues } from '@commander-js/extra-typings';
import { nameText, wholeNumber } from '../arguments.ts';
import { LIST_DEFAULT_COUNT, LIST_MAX_COUNT } from '../limits.ts';
import type { Session } from '../session.ts';

export const jsonOption = () => new Option('--json', 'print JSON for programs, and nothing else');

export const stateOption = () => new Option('--state <folder>', 'keep state in this folder (default: .tidemark)');

/** For commands that work on the servers themselves, or on a folder that nobody holds. */
export const common = <A extends unknown[], O extends OptionValues>(sub: Command<A, O>) =>
  sub.addOption(stateOption()).addOption(jsonOption());

/** For commands that call an operation, wherever it runs. */
export const places = <A extends unknown[], O extends OptionValues>(sub: Command<A, O>) =>
  sub
    .addOption(stateOption())
    .option('--context <name>', 'ask this server (default: the current context, else the folder)')
    .addOption(jsonOption());

/** A server knows the decider; for a folder it may be given. */
export const by = <A extends unknown[], O extends OptionValues>(sub: Command<A, O>) =>
  sub.option('--by <name>', 'who decides it, where state is a folder (default: your name here; a server knows you)');

export const why = <A extends unknown[], O extends OptionValues>(sub: Command<A, O>, kept = 'the decision') =>
  by(sub).requiredOption('--why <text>', `the reason, kept with ${kept}`);

/** `kept`: what the reason is stored with. */
export const byWhy = <A extends unknown[], O extends OptionValues>(sub: Command<A, O>, kept = 'the decision') =>
  sub.requiredOption('--by <name>', 'who decides it').requiredOption('--why <text>', `the reason, kept with ${kept}`);

export const limited = <A extends unknown[], O extends OptionValues>(sub: Command<A, O>) =>
  sub.option('--limit <count>', 'at most this many', wholeNumber(1, LIST_MAX_COUNT), LIST_DEFAULT_COUNT);

export const ofTenant = <A extends unknown[], O extends OptionValues>(sub: Command<A, O>) =>
  sub.option('--tenant <name>', 'of this tenant only', nameText);

/** For commands that work on what belongs to a tenant. */
export const ofOwner = <A extends unknown[], O extends OptionValues>(sub: Command<A, O>) =>
  sub.option('--tenant <name>', 'whose it is (default: default)', nameText);

/** Modules that export workflows; by default those of the environment, separated by commas. */
export const modules = <A extends unknown[], O extends OptionValues>(
  { env }: Pick<Session, 'env'>,
  sub: Command<A, O>,
) => {
  const names = (env.TIDEMARK_WORKFLOWS ?? '').split(',').map((name) => name.trim());
  return sub.addOption(
    new Option('--workflows <modules...>', 'modules that export workflows: files, patterns or packages').default(
      names.filter((name) => name !== ''),
      'TIDEMARK_WORKFLOWS',
    ),
  );
};
