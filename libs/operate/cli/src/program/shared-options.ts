/** Owns options that several commands have alike. Must hold no logic of a command. */

import { type Command, Option } from 'commander';
import { tenantName, wholeNumber } from '../arguments.ts';
import { LIST_DEFAULT_COUNT, LIST_MAX_COUNT } from '../limits.ts';

export const jsonOption = (): Option => new Option('--json', 'print JSON for programs, and nothing else');

export const stateOption = (): Option =>
  new Option('--state <folder>', 'keep state in this folder (default: .tidemark)');

/** For commands that work on the servers themselves, or on a folder that nobody holds. */
export const common = (sub: Command): Command => sub.addOption(stateOption()).addOption(jsonOption());

/** For commands that call an operation, wherever it runs. */
export const places = (sub: Command): Command =>
  sub
    .addOption(stateOption())
    .option('--context <name>', 'ask this server (default: the current context, else the folder)')
    .addOption(jsonOption());

/** A server knows the decider; for a folder it may be given. */
export const by = (sub: Command): Command =>
  sub.option('--by <name>', 'who decides it, where state is a folder (default: your name here; a server knows you)');

export const why = (sub: Command, kept = 'the decision'): Command =>
  by(sub).requiredOption('--why <text>', `the reason, kept with ${kept}`);

/** `kept`: what the reason is stored with. */
export const byWhy = (sub: Command, kept = 'the decision'): Command =>
  sub.requiredOption('--by <name>', 'who decides it').requiredOption('--why <text>', `the reason, kept with ${kept}`);

export const limited = (sub: Command): Command =>
  sub.option('--limit <count>', 'at most this many', wholeNumber(1, LIST_MAX_COUNT), LIST_DEFAULT_COUNT);

export const ofTenant = (sub: Command): Command => sub.option('--tenant <name>', 'of this tenant only', tenantName);
