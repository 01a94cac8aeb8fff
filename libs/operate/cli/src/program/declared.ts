/** Owns the commands that are declared beside their operations: what they take, the request that they make, and what they print. */

import { Argument, type Command, Option, type OptionValues } from '@commander-js/extra-typings';
import type { Endpoint } from '@tidemark/client';
import { EDGES } from '@tidemark/client/declared-edges';
import {
  type CommandEdge,
  type Edge,
  type EdgeField,
  type Given,
  holds,
  inWords,
  requestOf,
} from '@tidemark/client/edges';
import { isoTime } from '@tidemark/core';
import { nameText, repeated, wholeNumber } from '../arguments.ts';
import { UsageError } from '../failures.ts';
import { readJson } from '../input.ts';
import { PAGE_COUNT } from '../limits.ts';
import { nextHolder } from '../place/next-holder.ts';
import { firstOf, type Page } from '../place/pages.ts';
import { tableOr } from '../text/table.ts';
import { ago, bytes, cost, count, duration, zonedTime } from '../text/units.ts';
import { printable } from '../text/width.ts';
import { type Asked, group, type ProgramKit } from './program-kit.ts';
import { by, limited, modules, places, why } from './shared-options.ts';

type Sub = (usage: string, what: string, isDefault?: boolean) => Command;

/** Adds the declared commands of a group, or the one of this name where there is none. */
export function addDeclared(
  kit: ProgramKit,
  name: string,
  sub: Sub = (usage, what) => places(kit.command(usage, what)) as unknown as Command,
): void {
  for (const edge of EDGES) {
    for (const command of edge.commands ?? []) {
      const [first, second = first] = command.name.split(' ') as [string, string?];
      if (first === name) addOne(kit, edge, command, sub(second, command.about, command.isDefault));
    }
  }
}

/** A group of which all commands are declared. */
export const addDeclaredGroup = (kit: ProgramKit, name: string, about: string): void =>
  addDeclared(kit, name, group(kit, name, about) as unknown as Sub);

function addOne(kit: ProgramKit, edge: Edge, command: CommandEdge, made: Command): void {
  const { takes = {}, options = {}, sends = {}, makes } = command;
  const fields = new Map(edge.fields.map((field) => [field.name, field]));
  if (command.loads === true) modules(kit, made);
  for (const [name, named] of Object.entries(takes)) {
    const [shown, about] = named!;
    made.addArgument(new Argument(shown, about).argParser(readerOf(fields.get(name)!)));
  }
  for (const [name, about] of Object.entries(options)) {
    const field = fields.get(name)!;
    if (field.kind === 'subject') addSubject(made);
    else if (name !== 'why') made.addOption(optionOf(field, about!));
  }
  if (fields.has('why')) why(made, options.why);
  if (command.signs === true) by(made);
  if (fields.has('cursor') && !('limit' in sends)) limited(made);
  made.action(
    kit.asks(command.creates === true ? 'write' : 'read', async (...all: unknown[]) => {
      const typed = all.at(-2) as Given;
      const given: Record<string, unknown> = { ...sends };
      Object.keys(takes).forEach((name, at) => {
        given[name] = all[at];
      });
      for (const { name, kind } of edge.fields) {
        const value = kind === 'subject' ? subjectOf(typed) : typed[camelCase(name)];
        if (value === undefined || name in given) continue;
        given[name] = kind === 'json' ? await readJson(`--${kebabCase(name)}`, value as string, kit) : value;
      }
      if (makes !== undefined) given[makes] ??= makes === 'id' ? crypto.randomUUID() : isoTime(Date.now());
      return (asked) => perform(asked, edge, command, given);
    }) as never,
  );
}

const camelCase = (name: string): string => name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
const kebabCase = (name: string): string => name.replaceAll('_', '-');

/** What the help shows for a value. */
const VALUES = {
  number: '<count>',
  json: '<json>',
  name: '<name>',
  texts: '<name>',
  choice: '<choice>',
  text: '<text>',
} as const;

/** A subject of long-term memory is named in one of two ways. */
export const addSubject = <A extends unknown[], O extends OptionValues>(command: Command<A, O>) =>
  command
    .option('--user <name>', 'about this user')
    .option('--about <subject>', "about 'domain:NAME', a field of knowledge, or 'tenant', everybody");

/** Throws `UsageError`. */
export function subjectOf({ user, about: named }: { readonly user?: string; readonly about?: string }): string {
  if (user !== undefined && named !== undefined) throw new UsageError('Give --user or --about, not both.');
  const subject = named ?? (user === undefined ? undefined : `user:${user}`);
  if (subject !== undefined) return subject;
  throw new UsageError("Say what it is about: --user NAME, or --about 'domain:NAME' or 'tenant'.");
}

function optionOf(field: EdgeField, about: string): Option {
  const { name, kind, isNeeded, choices } = field;
  const long = `--${kebabCase(name)}`;
  if (kind === 'flag' || kind === 'switch') return new Option(long, about);
  const option = new Option(`${long} ${VALUES[kind as keyof typeof VALUES]}`, about).makeOptionMandatory(isNeeded);
  return choices === undefined ? option.argParser(readerOf(field)) : option.choices([...choices]);
}

type Reader = (text: string, before: unknown) => unknown;

/** The server checks texts, and names the field. */
function readerOf({ kind, min = 0, max = Number.MAX_SAFE_INTEGER }: EdgeField): Reader {
  if (kind === 'number') return wholeNumber(min, max);
  if (kind === 'texts') return (text, before) => repeated(text, before as readonly string[] | undefined);
  return kind === 'name' ? nameText : (text) => text;
}

async function perform(asked: Asked, edge: Edge, command: CommandEdge, given: Given): Promise<undefined> {
  const { client, place, report, terminal } = asked;
  const { says, warns, rows } = command;
  const ask = async (page: object): Promise<Given> =>
    (await client.ask(edge.endpoint as Endpoint, requestOf(edge, { ...given, ...page }) as never, {
      isRepeatable: true,
    })) as unknown as Given;
  const isPaged = rows !== undefined && edge.fields.some(({ name }) => name === 'cursor');
  const answer = isPaged ? await pagesOf(edge, rows.of, given, ask) : await ask({});
  const of = [answer, given, { holder: nextHolder(place) }];
  const words = says === undefined ? [] : [inWords(says, of, shown)];
  const items = rows === undefined ? [] : (answer[rows.of] as readonly Given[]);
  const table = rows === undefined ? [] : tableOf(rows, items, of, terminal.width);
  report(answer, ...words, ...table);
  if (warns !== undefined) {
    for (const item of (answer[warns[0]] ?? []) as readonly Given[]) terminal.warn(inWords(warns[1], [item], shown));
  }
  if (rows?.note !== undefined && items.length > 0) terminal.note(terminal.paintNote('dim', rows.note));
}

type Rows = NonNullable<CommandEdge['rows']>;

/** The table, and the lines below it. `of`: what its words are about where it is empty. */
function tableOf({ none, columns, each }: Rows, items: readonly Given[], of: readonly Given[], width?: number) {
  const cells = columns.map(
    ([title, text, how]) => [title, (item: Given) => inWords(text, [item], shown), how] as const,
  );
  const table = tableOr(inWords(none, of, shown), cells, items, width);
  if (each === undefined) return table;
  const [when, line] = each;
  return [...table, ...items.filter((item) => holds(when, [item])).map((item) => inWords(line, [item], shown))];
}

async function pagesOf(
  { fields }: Edge,
  of: string,
  given: Given,
  ask: (page: object) => Promise<Given>,
): Promise<Given> {
  const pageMax = Math.min(PAGE_COUNT, fields.find(({ name }) => name === 'limit')?.max ?? PAGE_COUNT);
  const { items, next_cursor } = await firstOf(
    given.limit as number,
    ask as (page: object) => Promise<Given & Page>,
    (page) => page[of] as readonly Given[],
    pageMax,
  );
  return { [of]: items, next_cursor };
}

const TIME = /(?:^|_)(?:at|since|next)$/;

/** By the unit in the field's name. */
function shown(name: string, value: unknown): string {
  if (name === 'value') return printable(JSON.stringify(value));
  if (typeof value === 'string') return TIME.test(name) ? timeWords(Date.parse(value)) : printable(value);
  if (typeof value !== 'number') return printable(JSON.stringify(value));
  if (name.endsWith('_bytes')) return bytes(value);
  if (name.endsWith('_ms')) return duration(value);
  if (name.endsWith('_micros')) return cost(value);
  return name.endsWith('_count') ? count(value) : String(value);
}

const timeWords = (ms: number): string => (ms > Date.now() ? zonedTime(ms) : ago(ms, Date.now()));
