/**
 * Owns a record's header as columns: dividing it, and restoring it. One regular expression for each order of members divides a header, in a
 * third of the time of parsing it, and keeps every value as it is written. A header that differs from what we write (escapes in names,
 * numbers with a point, spaces, other members) has no layout.
 */

import { checkHeader } from '@tidemark/codec';
import { LAYOUTS_MAX } from './limits.ts';

/** The members of an envelope besides its version. */
const members = [
  'id',
  'tenant',
  'workflow',
  'generation',
  'lamport',
  'epoch',
  'holder',
  'ordinal',
  'atMs',
  'type',
  'control',
  'payload',
  'key',
] as const;
type Member = (typeof members)[number];
const numbers = ['generation', 'lamport', 'epoch', 'ordinal', 'atMs'] as const;
const numeric: ReadonlySet<Member> = new Set(numbers);

/** The version is no column: in other versions the same names mean something else. */
const VERSION = 'v';
/** Names the data key that sealed the payload. Headers with it have version 2, others version 1. */
const KEY = 'key';
/** A text without escapes. JSON never has characters below U+0020 unescaped. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
const TEXT = /([^"\\\x00-\x1f]*)/.source;
/** A whole number, as it is written. */
const NUMBER = /(0|[1-9]\d{0,14})/.source;
/** Any text: the code that parses it finds out whether it is JSON. */
const CONTROL = /([\s\S]*)/.source;

/** The columns of a header: names, numbers, and `control` as JSON text. Without `key` the payload is not sealed. */
export type HeaderFields = Readonly<
  Record<(typeof numbers)[number], number> &
    Record<Exclude<Member, (typeof numbers)[number] | 'key'>, string> & { key?: string }
>;

/** One order of an envelope's members. */
export class Layout {
  /** As the column has it: `v,id,tenant,…`. */
  readonly text: string;
  readonly #pattern: RegExp;
  /** The text before each member, and behind the last one. */
  readonly #literals: readonly string[];
  readonly #order: readonly Member[];
  /** The index of each member among the groups of the pattern. */
  readonly #places: readonly number[];

  constructor(order: readonly string[]) {
    this.text = order.join();
    this.#order = order.filter((name): name is Member => name !== VERSION);
    this.#places = members.map((member) => this.#order.indexOf(member) + 1);
    this.#literals = literalsOf(order);
    const values = this.#order.map((name) => (name === 'control' ? CONTROL : numeric.has(name) ? NUMBER : TEXT));
    const literals = this.#literals.map((literal) => literal.replaceAll(/[{}]/g, '\\$&'));
    this.#pattern = new RegExp(`^${literals[0]}${values.map((value, at) => value + literals[at + 1]).join('')}$`);
  }

  /** Undefined when the header has another layout. */
  take(header: string): HeaderFields | undefined {
    const found = this.#pattern.exec(header);
    if (found === null) return undefined;
    const at = this.#places;
    const fields: HeaderFields = {
      id: found[at[0]!]!,
      tenant: found[at[1]!]!,
      workflow: found[at[2]!]!,
      generation: Number(found[at[3]!]),
      lamport: Number(found[at[4]!]),
      epoch: Number(found[at[5]!]),
      holder: found[at[6]!]!,
      ordinal: Number(found[at[7]!]),
      atMs: Number(found[at[8]!]),
      type: found[at[9]!]!,
      control: found[at[10]!]!,
      payload: found[at[11]!]!,
      ...(at[12]! > 0 && { key: found[at[12]!]! }),
    };
    // Verify that the columns restore the bytes.
    return this.put(fields) === header ? fields : undefined;
  }

  /** Restores the header. */
  put(fields: HeaderFields): string {
    let header = this.#literals[0]!;
    for (let at = 0; at < this.#order.length; at++) header += fields[this.#order[at]!] + this.#literals[at + 1]!;
    return header;
  }
}

function literalsOf(order: readonly string[]): readonly string[] {
  const literals: string[] = [];
  let literal = '{';
  for (const [at, name] of order.entries()) {
    literal += `${at === 0 ? '' : ','}"${name}":`;
    if (name === VERSION) {
      literal += order.includes(KEY) ? '2' : '1';
      continue;
    }
    const quote = isText(name) ? '"' : '';
    literals.push(literal + quote);
    literal = quote;
  }
  return [...literals, `${literal}}`];
}

const isText = (name: string): boolean => name !== 'control' && !numeric.has(name as Member);

/** A header that was divided. */
export interface TakenHeader {
  readonly layout: Layout;
  readonly fields: HeaderFields;
}

/** The members in the order that we write, sealed or not. */
const sealed = [VERSION, ...members];
const written = sealed.filter((name) => name !== KEY);

/** The layouts of one segment. */
export class Layouts {
  readonly #known: Layout[] = [new Layout(written), new Layout(sealed)];

  /** The header's layout and fields; undefined when it has no layout. */
  take(header: string): TakenHeader | undefined {
    for (const layout of this.#known) {
      const fields = layout.take(header);
      if (fields !== undefined) return { layout, fields };
    }
    if (this.#known.length >= LAYOUTS_MAX) return undefined;
    const order = orderOf(header);
    if (order === undefined) return undefined;
    if (this.#known.some(({ text }) => text === order.join())) return undefined;
    const layout = new Layout(order);
    const fields = layout.take(header);
    if (fields === undefined) return undefined;
    this.#known.push(layout);
    return { layout, fields };
  }
}

/** The layout that a column names; undefined when it is invalid. */
export function layoutNamed(text: string): Layout | undefined {
  const order = text.split(',');
  return isOrder(order) ? new Layout(order) : undefined;
}

function orderOf(header: string): readonly string[] | undefined {
  // Test first: a thrown error costs more than everything else about a record.
  if (!header.startsWith('{"') || !header.endsWith('}')) return undefined;
  try {
    checkHeader(header);
    const value: unknown = JSON.parse(header);
    if (typeof value !== 'object' || value === null) return undefined;
    const order = Object.keys(value);
    return isOrder(order) ? order : undefined;
  } catch {
    return undefined;
  }
}

const isOrder = (order: readonly string[]): boolean =>
  [written, sealed].some((names) => order.length === names.length && names.every((name) => order.includes(name)));
