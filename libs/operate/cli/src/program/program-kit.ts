/** Owns what modules need to add commands to the program: how a command is added, and how it does its work. */

import type { Command, OptionValues } from '@commander-js/extra-typings';
import type { Client } from '@tidemark/client';
import { EXIT } from '@tidemark/host/exit-codes';
import { firstOf, type Page, type PageQuery } from '../place/pages.ts';
import type { AtPlaceOptions, Place } from '../place/place.ts';
import type { Session } from '../session.ts';
import { type Columns, tableOr } from '../text/table.ts';
import { places } from './shared-options.ts';

export interface ProgramKit extends Pick<Session, 'env' | 'cwd' | 'stdin'> {
  /** A command of the program. */
  readonly command: (usage: string, description: string) => Command;
  readonly does: Does;
  readonly asks: Asks;
}

/** The action of a command from its module, which is loaded when the command is called, so that others do not wait for it. */
export type Does = <Name extends string, Module extends { readonly [Each in Name]: Performed }>(
  load: () => Promise<Module>,
  name: Name,
) => (...given: unknown[]) => Promise<void>;

/** Resolves to the exit code. */
type Performed = (session: Session, ...given: never[]) => Promise<number>;

/** What the command of an operation works with. */
export interface Asked {
  readonly client: Client;
  readonly place: Place;
  readonly session: Session;
  readonly terminal: Session['terminal'];
  /** Prints the answer for programs, or the lines for people. */
  readonly report: (answer: object, ...lines: readonly string[]) => void;
}

/** Resolves to the exit code; without one all went well. */
export type Work = (asked: Asked) => Promise<number | undefined>;

/**
 * The action of a command that asks operations where its options say. `prepare` checks the arguments, and reads what they name, before the
 * place is opened: wrong input opens nothing, and no folder is held while standard input is awaited. It returns what is done there.
 * `ownBy`: its option `--by` does not name who decides.
 */
export type Asks = <Given extends unknown[]>(
  how: AtPlaceOptions['how'],
  prepare: (...given: Given) => Work | Promise<Work>,
  ownBy?: 'own-by',
) => (...given: Given) => Promise<void>;

interface AskOptions extends Omit<AtPlaceOptions, 'how' | 'definitions'> {
  readonly workflows?: readonly string[];
}

/** Does the work of an `asks` command. `given`: its arguments, its options, and commander's command. */
export async function askThere<Given extends unknown[]>(
  session: Session,
  [how, prepare, ownBy]: Parameters<Asks>,
  given: Given,
): Promise<number> {
  const { state, context, workflows = [], ...options } = given.at(-2) as AskOptions;
  const by = ownBy === undefined ? options.by : undefined;
  const { terminal, cwd } = session;
  const work = await prepare(...given);
  // Help must not wait for any of it.
  const { atPlace } = await import('../place/place.ts');
  const definitions = async () =>
    workflows.length === 0 ? [] : (await import('../definitions.ts')).readDefinitions(workflows, cwd);
  const report: Asked['report'] = (answer, ...lines) => {
    terminal.answer(answer);
    terminal.lines(lines);
  };
  const code = await atPlace(session, { state, context, by, how, definitions }, (place) =>
    work({ client: place.client, place, session, terminal, report }),
  );
  return code ?? EXIT.ok;
}

/** Prints a list of at most so many items, which an operation answers page by page. Resolves to its length. */
export async function list<Name extends string, T>(
  { terminal, report }: Asked,
  name: Name,
  limit: number,
  ask: (page: PageQuery) => Promise<Page & { readonly [Each in Name]: readonly T[] }>,
  { columns, none }: { readonly columns: Columns<T>; readonly none: string },
): Promise<number> {
  const { items, next_cursor } = await firstOf<Page & { readonly [Each in Name]: readonly T[] }, T>(
    limit,
    ask,
    (page) => page[name],
  );
  report({ [name]: items, next_cursor }, ...tableOr(none, columns, items, terminal.width));
  return items.length;
}

/** Adds a command that has commands of its own, each of which asks operations at a place. */
export function group({ command }: ProgramKit, name: string, description: string) {
  const parent = command(name, description);
  return (usage: string, what: string, isDefault = false) =>
    places(parent.command(usage, { isDefault }).description(what).copyInheritedSettings(parent));
}

/** The options of each command that is declared, by its name. */
export type OptionsIn<Declare extends (kit: ProgramKit) => object> = {
  readonly [Name in keyof ReturnType<Declare>]: OptionsOf<ReturnType<Declare>[Name]>;
};

type OptionsOf<C> = C extends Command<infer _Arguments, infer Options extends OptionValues> ? Options : never;
