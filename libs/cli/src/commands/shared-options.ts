/** Owns options that several commands have alike. Must hold no logic of a command. */

import type { Command } from 'commander';
import { tenantName, wholeNumber } from '../arguments.ts';
import { LIST_DEFAULT_COUNT, LIST_MAX_COUNT } from '../limits.ts';

/** `kept`: what the reason is kept with. */
export const byWhy = (sub: Command, kept = 'the decision'): Command =>
  sub.requiredOption('--by <name>', 'who decides it').requiredOption('--why <text>', `the reason, kept with ${kept}`);

export const limited = (sub: Command): Command =>
  sub.option('--limit <count>', 'at most this many', wholeNumber(1, LIST_MAX_COUNT), LIST_DEFAULT_COUNT);

export const ofTenant = (sub: Command): Command => sub.option('--tenant <name>', 'of this tenant only', tenantName);
