/** Owns the options of a new API key. Must hold no logic. */

import { type Command, Option, type OptionValues } from '@commander-js/extra-typings';
import { ROLES, type Role } from '@tidemark/ports';
import { duration, nameText } from '../arguments.ts';

const NEVER = 'never';

/** The compiler writes no type as long as what it infers here. */
export type KeyOptions = {
  readonly name: string;
  readonly role: readonly Role[];
  readonly tenant?: string | undefined;
  readonly allTenants?: boolean | undefined;
  /** Milliseconds from now; null: never. */
  readonly expires?: number | null | undefined;
};

export const keyOptions = <A extends unknown[], O extends OptionValues>(
  sub: Command<A, O>,
): Command<A, O & KeyOptions> =>
  sub
    .requiredOption('--name <text>', 'what it is for')
    .addOption(
      new Option('--role <role...>', 'what it may do; may be given more than once')
        .choices([...ROLES])
        .makeOptionMandatory(),
    )
    .option('--tenant <name>', 'whose workflows it is for (default: your own, else default)', nameText)
    .option('--all-tenants', 'for those who run the whole')
    .addOption(
      new Option('--expires <time>', `when it ends, from now on: 30d, or ${NEVER} (default: 90d)`).argParser(
        (text: string) => (text === NEVER ? null : duration(text)),
      ),
    ) as unknown as Command<A, O & KeyOptions>;
