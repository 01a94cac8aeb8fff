/** Owns the options by which commands find workflows: those of the API's search. Must hold no logic of a command. */

import { type Command, Option, type OptionValues } from '@commander-js/extra-typings';
import type { StreamStatus } from '@tidemark/core';
import { isoTime } from '@tidemark/core';
import { moment, nameText, nameTexts } from '../arguments.ts';

export const STATUSES = [
  'open',
  'parked',
  'compensating',
  'compensated',
  'completed',
  'failed',
] as const satisfies readonly StreamStatus[];

/** The compiler writes no type as long as what it infers of `withFilters`. */
export type FilterOptions = {
  readonly text?: string | undefined;
  readonly status?: StreamStatus | undefined;
  readonly definition?: string | undefined;
  readonly tenant?: string | undefined;
  readonly session?: string | undefined;
  readonly user?: string | undefined;
  readonly tag?: readonly string[] | undefined;
  readonly reason?: string | undefined;
  readonly error?: string | undefined;
  readonly openedFrom?: number | undefined;
  readonly openedTo?: number | undefined;
};

export const withFilters = <A extends unknown[], O extends OptionValues>(
  command: Command<A, O>,
): Command<A, O & FilterOptions> =>
  command
    .option(
      '--text <words>',
      'each word begins one of the id, the definition, the session, the user or a tag',
      nameText,
    )
    .addOption(new Option('--status <status>', 'open covers running, ready and waiting').choices([...STATUSES]))
    .option('--definition <name>', 'runs of this workflow only', nameText)
    .option('--tenant <name>', 'runs of this tenant only', nameText)
    .option('--session <id>', 'runs of this session only', nameText)
    .option('--user <name>', 'runs of this user only', nameText)
    .option('--tag <name>', 'runs with this tag; several: with all of them', nameTexts)
    .option('--reason <code>', 'why it is in that status, such as paused or budget_exceeded', nameText)
    .option('--error <fingerprint>', 'with this error, as tidemark errors names it', nameText)
    .option('--opened-from <time>', 'opened then or later: 2026-11-23, or 2026-11-23T09:00:00Z', moment)
    .option('--opened-to <time>', 'opened before then', moment) as unknown as Command<A, O & FilterOptions>;

/** The same as a query of the API. */
export function queryOf(options: FilterOptions) {
  const { tag, openedFrom, openedTo, text, status, definition, tenant, session, user, reason, error } = options;
  const all = {
    ...{ text, status, definition, tenant, session, user, reason, error, tag },
    opened_from: openedFrom === undefined ? undefined : isoTime(openedFrom),
    opened_to: openedTo === undefined ? undefined : isoTime(openedTo),
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as typeof all;
}
