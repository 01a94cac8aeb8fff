/**
 * Owns the content of a form: the fields of a JSON Schema, the text in them while somebody types, and the resulting value or its mistakes,
 * by place. Unknown schemas are asked for as JSON. The server decides: this only saves a round trip. Pure. Schemas are foreign input: they
 * are only read, and none of their patterns runs.
 */

import type { Json } from '../belief/changes.ts';

type Schema = Readonly<Record<string, unknown>>;

interface Common {
  readonly title: string | undefined;
  readonly hint: string | undefined;
  readonly preset: Json | undefined;
  /** Null is a valid answer, and the value of an empty field. */
  readonly isNullable: boolean;
}

export interface TextField extends Common {
  readonly kind: 'text';
  readonly format: string | undefined;
  readonly minChars: number;
  readonly maxChars: number;
}
export interface NumberField extends Common {
  readonly kind: 'number';
  readonly isWhole: boolean;
  readonly min: number;
  readonly max: number;
  readonly isMinOut: boolean;
  readonly isMaxOut: boolean;
}
export interface ChoiceField extends Common {
  readonly kind: 'choice';
  readonly options: readonly Json[];
}
export interface GroupField extends Common {
  readonly kind: 'group';
  readonly members: readonly { readonly name: string; readonly isNeeded: boolean; readonly field: Field }[];
}
export interface ListField extends Common {
  readonly kind: 'list';
  readonly item: Field;
  readonly minCount: number;
  readonly maxCount: number;
}
export type Field =
  | TextField
  | NumberField
  | ChoiceField
  | GroupField
  | ListField
  | (Common & { readonly kind: 'flag' })
  | (Common & { readonly kind: 'fixed'; readonly value: Json })
  | (Common & { readonly kind: 'json' });

/** Text of a field: as typed, also for numbers; a choice by its index; `''` where nothing was chosen. */
export type Draft = string | readonly Draft[] | { readonly [name: string]: Draft };

/** Deeper ones are asked for as JSON. */
const DEPTH_MAX = 6;
/** Longer texts get more than a line. */
const LINE_MAX_CHARS = 120;
/** Options up to which all are shown side by side. */
export const OPTIONS_SHOWN_COUNT = 4;

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
const numberOf = (value: unknown, otherwise: number): number => (typeof value === 'number' ? value : otherwise);

export function fieldOf(schema: unknown, root: unknown = schema, depth = 0): Field {
  const given = resolved(schema, root);
  if (!isObject(given) || depth > DEPTH_MAX) return { kind: 'json', ...NOTHING };
  const common: Common = {
    title: textOf(given.title),
    hint: textOf(given.description),
    preset: given.default as Json | undefined,
    isNullable: false,
  };
  const union = given.anyOf ?? given.oneOf;
  if (Array.isArray(union)) return unionField(union, common, root, depth);
  if (Array.isArray(given.type) && given.type.length === 2 && given.type.includes('null')) {
    const type = given.type.find((each) => each !== 'null');
    return { ...fieldOf({ ...given, type }, root, depth), isNullable: true };
  }
  if (Array.isArray(given.enum)) return { kind: 'choice', ...common, options: given.enum as Json[] };
  if ('const' in given) return { kind: 'fixed', ...common, value: given.const as Json };
  return typedField(given, common, root, depth);
}

const NOTHING: Common = { title: undefined, hint: undefined, preset: undefined, isNullable: false };

/** For a union: one with null, or a choice among fixed values. */
function unionField(union: readonly unknown[], common: Common, root: unknown, depth: number): Field {
  const given = union.map((each) => resolved(each, root));
  const others = given.filter((each) => !isObject(each) || each.type !== 'null');
  if (others.length === 1 && others.length < given.length) {
    const inner = fieldOf(others[0], root, depth + 1);
    const { title = inner.title, hint = inner.hint, preset = inner.preset } = common;
    return { ...inner, title, hint, preset, isNullable: true };
  }
  if (others.length > 0 && others.every((each) => isObject(each) && 'const' in each)) {
    const options = others.map((each) => (each as Schema).const as Json);
    return { kind: 'choice', ...common, options, isNullable: others.length < given.length };
  }
  return { kind: 'json', ...common };
}

function typedField(given: Schema, common: Common, root: unknown, depth: number): Field {
  switch (given.type) {
    case 'string':
      return {
        ...{ kind: 'text', ...common, format: textOf(given.format) },
        ...{ minChars: numberOf(given.minLength, 0), maxChars: numberOf(given.maxLength, Number.POSITIVE_INFINITY) },
      };
    case 'integer':
    case 'number': {
      const [isMinOut, isMaxOut] = [
        typeof given.exclusiveMinimum === 'number',
        typeof given.exclusiveMaximum === 'number',
      ];
      return {
        ...{ kind: 'number', ...common, isWhole: given.type === 'integer', isMinOut, isMaxOut },
        min: numberOf(isMinOut ? given.exclusiveMinimum : given.minimum, Number.NEGATIVE_INFINITY),
        max: numberOf(isMaxOut ? given.exclusiveMaximum : given.maximum, Number.POSITIVE_INFINITY),
      };
    }
    case 'boolean':
      return { kind: 'flag', ...common };
    case 'null':
      return { kind: 'fixed', ...common, value: null };
    case 'array':
      if (!isObject(given.items) || given.prefixItems !== undefined) return { kind: 'json', ...common };
      return {
        ...{ kind: 'list', ...common, item: fieldOf(given.items, root, depth + 1) },
        ...{ minCount: numberOf(given.minItems, 0), maxCount: numberOf(given.maxItems, Number.POSITIVE_INFINITY) },
      };
    case 'object':
      return isObject(given.properties) ? groupField(given, common, root, depth) : { kind: 'json', ...common };
    default:
      return { kind: 'json', ...common };
  }
}

function groupField(given: Schema, common: Common, root: unknown, depth: number): Field {
  const needed = Array.isArray(given.required) ? (given.required as readonly unknown[]) : [];
  const members = Object.entries(given.properties as Schema).map(([name, inner]) => ({
    name,
    isNeeded: needed.includes(name),
    field: fieldOf(inner, root, depth + 1),
  }));
  return { kind: 'group', ...common, members };
}

/** Resolves a reference within the same document; anything else stays as it is. */
function resolved(schema: unknown, root: unknown): unknown {
  let at = schema;
  for (let jumps = 0; jumps < DEPTH_MAX && isObject(at) && typeof at.$ref === 'string'; jumps++) {
    if (!at.$ref.startsWith('#/')) return undefined;
    const parts = at.$ref
      .slice(2)
      .split('/')
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    at = parts.reduce<unknown>(
      (found, part) => (isObject(found) && Object.hasOwn(found, part) ? found[part] : undefined),
      root,
    );
  }
  return at;
}

export const isLong = ({ maxChars, format }: TextField): boolean => format === undefined && maxChars > LINE_MAX_CHARS;

/** Initial text of a field. */
export function draftOf(field: Field, given: Json | undefined = field.preset): Draft {
  switch (field.kind) {
    case 'group': {
      const of = isObject(given) ? given : {};
      return Object.fromEntries(
        field.members.map(({ name, field: inner }) => [
          name,
          draftOf(inner, Object.hasOwn(of, name) ? (of[name] as Json) : inner.preset),
        ]),
      );
    }
    case 'list': {
      const given_ = Array.isArray(given) ? (given as readonly Json[]) : [];
      const missing = Math.max(0, Math.min(field.minCount, 20) - given_.length);
      return [
        ...given_.map((each) => draftOf(field.item, each)),
        ...Array.from({ length: missing }, () => draftOf(field.item)),
      ];
    }
    case 'choice': {
      const at = field.options.findIndex((option) => given !== undefined && sameJson(option, given));
      return at === -1 ? '' : String(at);
    }
    case 'json':
      return given === undefined ? '' : JSON.stringify(given, null, 2);
    default:
      return given === undefined || given === null ? '' : String(given);
  }
}

const sameJson = (a: Json, b: Json): boolean => JSON.stringify(a) === JSON.stringify(b);

/** By place, a JSON pointer: `/lines/0/cents`. */
export type Problems = ReadonlyMap<string, string>;

export interface Read {
  /** Undefined: no value. */
  readonly value: Json | undefined;
  readonly problems: Problems;
}

/** The value of the fields; with problems it must not be sent. */
export function readForm(field: Field, draft: Draft): Read {
  const problems = new Map<string, string>();
  const value = read(field, draft, true, '', problems);
  return { value, problems };
}

export const placeIn = (place: string, name: string | number): string =>
  `${place}/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;

function read(
  field: Field,
  draft: Draft,
  isNeeded: boolean,
  place: string,
  problems: Map<string, string>,
): Json | undefined {
  switch (field.kind) {
    case 'fixed':
      return field.value;
    case 'group': {
      const of = draft as Readonly<Record<string, Draft>>;
      if (!isNeeded && isEmpty(draft)) return field.isNullable ? null : undefined;
      const members = field.members.flatMap(({ name, isNeeded: needed, field: inner }) => {
        const value = read(inner, of[name] ?? '', needed, placeIn(place, name), problems);
        return value === undefined ? [] : [[name, value] as const];
      });
      return Object.fromEntries(members);
    }
    case 'list': {
      const items = draft as readonly Draft[];
      if (items.length === 0 && !isNeeded) return field.isNullable ? null : undefined;
      if (items.length < field.minCount) problems.set(place, `Give at least ${field.minCount}.`);
      if (items.length > field.maxCount) problems.set(place, `Give at most ${field.maxCount}.`);
      return items.map((item, at) => read(field.item, item, true, placeIn(place, at), problems) ?? null);
    }
    default: {
      const text = draft as string;
      const isBlank = field.kind === 'text' ? text === '' : text.trim() === '';
      if (isBlank && field.isNullable) return null;
      if (isBlank && !(field.kind === 'text' && isNeeded && field.minChars === 0 && field.format === undefined)) {
        if (isNeeded)
          problems.set(place, field.kind === 'choice' || field.kind === 'flag' ? 'Choose one.' : 'Required.');
        return undefined;
      }
      return readOne(field, text, place, problems);
    }
  }
}

const isEmpty = (draft: Draft): boolean =>
  typeof draft === 'string' ? draft === '' : Object.values(draft).every((inner) => isEmpty(inner as Draft));

type One = Exclude<Field, { readonly kind: 'group' | 'list' | 'fixed' }>;

function readOne(field: One, text: string, place: string, problems: Map<string, string>): Json {
  const refuse = (problem: string): null => {
    problems.set(place, problem);
    return null;
  };
  switch (field.kind) {
    case 'text': {
      const chars = [...text].length;
      if (chars < field.minChars) return refuse(`At least ${field.minChars} characters; these are ${chars}.`);
      if (chars > field.maxChars) return refuse(`At most ${field.maxChars} characters; these are ${chars}.`);
      return field.format === 'date-time' && LOCAL_TIME.test(text) ? new Date(text).toISOString() : text;
    }
    case 'number':
      return readNumber(field, text.trim(), refuse);
    case 'flag':
      return text === 'true';
    case 'choice':
      return field.options[Number(text)] ?? null;
    case 'json':
      try {
        return JSON.parse(text) as Json;
      } catch {
        return refuse('This is not JSON.');
      }
  }
}

/** In the form of a browser's date and time field. */
const LOCAL_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/;

function readNumber(
  { isWhole, min, max, isMinOut, isMaxOut }: NumberField,
  text: string,
  refuse: (problem: string) => null,
): number | null {
  const value = Number(text);
  if (!Number.isFinite(value) || !/^[-+.\d]/.test(text)) return refuse('This is not a number.');
  if (isWhole && !Number.isSafeInteger(value)) return refuse('This is not a whole number.');
  if (value < min || (isMinOut && value === min))
    return refuse(`It must be ${isMinOut ? 'more than' : 'at least'} ${min}.`);
  if (value > max || (isMaxOut && value === max))
    return refuse(`It must be ${isMaxOut ? 'less than' : 'at most'} ${max}.`);
  return value;
}

/** The remaining mistakes after typing: a changed place is checked again, and the others keep their messages. */
export function problemsAfter(reported: Problems, field: Field, before: Draft, after: Draft): Problems {
  const now = readForm(field, after).problems;
  return new Map(
    [...reported].flatMap(([place, problem]) => {
      if (sameDraft(draftAt(before, place), draftAt(after, place))) return [[place, problem] as const];
      const again = now.get(place);
      return again === undefined ? [] : [[place, again] as const];
    }),
  );
}

/** The text at a place; undefined: there is none. */
function draftAt(draft: Draft, place: string): Draft | undefined {
  let at: unknown = draft;
  for (const part of place.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    at = typeof at === 'object' && at !== null && Object.hasOwn(at, name) ? (at as Schema)[name] : undefined;
  }
  return at as Draft | undefined;
}

const sameDraft = (a: Draft | undefined, b: Draft | undefined): boolean =>
  a === b || JSON.stringify(a) === JSON.stringify(b);

/** The server's mistakes, by the same places. */
export const problemsOf = (fields: readonly { readonly field: string; readonly problem: string }[]): Problems =>
  new Map(
    fields
      .filter(({ field }) => field.startsWith('value'))
      .map(({ field, problem }) => [field.slice(5), problem] as const),
  );
