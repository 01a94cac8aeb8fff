/**
 * Owns the subset of JSON Schema that all large clients take (decision 0079): one type a place, `properties`, `required`, a list's `items`,
 * `additionalProperties`, `anyOf`, `enum` of texts, bounds, and portable patterns. No references, conditions, tuples or formats.
 * Invariant: what fits the given schema, and has no members but those that it names, fits the portable one, which may be looser: what is
 * left out is said in the description where it helps who fills it in, and checked where the value arrives. Pure.
 */

import type { Json } from '@tidemark/core';
import { portablePattern } from './portable-pattern.ts';

/** Schemas within one, and their nesting: a reference may unfold into any number of them. */
const PLACES_MAX_COUNT = 2_000;
const NESTED_MAX_DEPTH = 24;
/** Names of members that Anthropic takes; others are told in the description. */
const MEMBER_NAME = /^[A-Za-z0-9_.-]{1,64}$/;
/** Characters of a description, and of one value in it. */
const DESCRIPTION_MAX_CHARS = 4_096;
const NOTE_MAX_CHARS = 300;
/** Forms of an object that a description tells one by one. */
const FORMS_TOLD_MAX_COUNT = 16;

/** A schema of the subset. */
export interface PortableSchema {
  readonly type?: 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'null';
  readonly description?: string;
  readonly properties?: Readonly<Record<string, PortableSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: false | PortableSchema;
  readonly items?: PortableSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly enum?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly anyOf?: readonly PortableSchema[];
}

export interface PortableOptions {
  /**
   * Objects that don't say so take no further members, and lengths of texts are only told: for what a model answers, which some providers
   * hold to its schema.
   */
  readonly isClosed?: boolean | undefined;
}

type Given = Readonly<Record<string, unknown>>;

/**
 * The schema within the subset. Several forms of objects at the top become one object, since clients refuse `anyOf` there; what is no
 * object stays what it is.
 */
export function portableSchema(schema: Json | object, options: PortableOptions = {}): PortableSchema {
  const found = new Conversion(schema, options.isClosed === true).at(schema, [], 0) ?? {};
  return found.anyOf === undefined ? found : (oneObject(found) ?? found);
}

class Conversion {
  readonly #root: unknown;
  readonly #isClosed: boolean;
  #count = 0;

  constructor(root: unknown, isClosed: boolean) {
    this.#root = root;
    this.#isClosed = isClosed;
  }

  /** Undefined: no value fits. `within`: references that are being unfolded. */
  at(given: unknown, within: readonly string[], depth: number): PortableSchema | undefined {
    this.#count += 1;
    if (given === false || isNever(given)) return undefined;
    if (!isObject(given)) return {};
    if (this.#count > PLACES_MAX_COUNT || depth > NESTED_MAX_DEPTH) return bare(given);
    const { $ref: ref, allOf } = given;
    if (typeof ref === 'string') {
      const target = this.#target(ref);
      const own = { ...given, $ref: undefined };
      if (within.includes(ref)) return noted(bare({ ...target, ...described(own) }), 'The same form again.');
      return this.at({ ...target, ...defined(own) }, [...within, ref], depth);
    }
    if (Array.isArray(allOf) && allOf.length > 0) return this.at(this.#resolved(given, 0), within, depth);
    const next = (schema: unknown) => this.at(schema, within, depth + 1);
    const variants = variantsOf(given);
    if (variants === undefined) return this.#single(given, next);
    const own = { ...given, oneOf: undefined, anyOf: undefined, type: undefined };
    const base = Array.isArray(given.type) ? undefined : typeOf(given);
    const found = variants.map((variant) =>
      base === undefined || !isObject(variant) || variant.type !== undefined
        ? next(variant)
        : next({ ...variant, type: base }),
    );
    const either = anyOf(found.filter((one) => one !== undefined));
    if (either === undefined) return undefined;
    const note =
      typeof given.description === 'string' ? { ...either, description: described(given).description! } : either;
    if (base === undefined) return defaultNoted(note, given);
    const single = this.#single({ ...own, type: base }, next);
    const object = base === 'object' && single !== undefined ? oneObject(either) : undefined;
    return object === undefined ? single : both(single!, object);
  }

  /** All of the schemas as one: where two speak of the same, the first one is kept. */
  #all(given: Given, allOf: readonly unknown[], depth: number): Given {
    const parts = [given, ...allOf.map((part) => this.#resolved(part, depth + 1))];
    const all: Record<string, unknown> = {};
    for (const part of parts) {
      for (const [name, value] of Object.entries(part)) {
        if (value === undefined || name === 'definitions' || name === '$defs') continue;
        if (name === 'properties' && isObject(all.properties)) {
          all.properties = { ...(value as object), ...all.properties };
        } else if (name === 'required' && Array.isArray(all.required)) {
          all.required = [...new Set([...all.required, ...(value as unknown[])])];
        } else if (!(name in all)) all[name] = value;
      }
    }
    // Of two that each take only their own members, none says which ones both take.
    if (parts.filter(({ properties }) => properties !== undefined).length > 1) delete all.additionalProperties;
    return all;
  }

  /** The schema without a reference or `allOf` at its top. */
  #resolved(part: unknown, depth: number): Given {
    if (!isObject(part)) return {};
    const { $ref: ref, ...own } = part;
    const { $ref: _, allOf, ...whole } = typeof ref === 'string' ? { ...this.#target(ref), ...own } : (part as Given);
    if (!Array.isArray(allOf)) return whole;
    this.#count += allOf.length;
    return this.#count > PLACES_MAX_COUNT || depth > NESTED_MAX_DEPTH ? whole : this.#all(whole, allOf, depth);
  }

  #target(ref: string): Given {
    let at: unknown = ref === '#' || ref.startsWith('#/') ? this.#root : undefined;
    for (const part of ref.split('/').slice(1)) {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
      at = isObject(at) || Array.isArray(at) ? (Object.hasOwn(at, name) ? (at as Given)[name] : undefined) : undefined;
    }
    return isObject(at) ? at : {};
  }

  #single(given: Given, next: (schema: unknown) => PortableSchema | undefined): PortableSchema | undefined {
    const type = typeOf(given);
    const own = described(given);
    switch (type) {
      case 'object':
        return defaultNoted(this.#object(given, own, next), given);
      case 'array':
        return defaultNoted(arrayOf(given, own, next), given);
      case 'string':
        return defaultNoted(textOf(given, own, this.#isClosed), given);
      case 'number':
      case 'integer':
        return defaultNoted(numberOf(given, type, own), given);
      case 'boolean':
      case 'null':
        return defaultNoted(noted({ type, ...own }, valuesNote(given)), given);
      default:
        return defaultNoted(noted(own, valuesNote(given)), given);
    }
  }

  #object(given: Given, own: PortableSchema, next: (schema: unknown) => PortableSchema | undefined): PortableSchema {
    const { properties, required, additionalProperties: others, propertyNames: names, patternProperties } = given;
    const members = isObject(properties)
      ? Object.entries(properties)
      : keysOf(names).map((key) => [key, others] as const);
    const found = members.flatMap(([name, schema]) => {
      const member = next(schema);
      return member === undefined ? [] : [[name, member] as const];
    });
    const told = found.filter(([name]) => !MEMBER_NAME.test(name));
    const kept = found.filter(([name]) => MEMBER_NAME.test(name));
    const isOpen = told.length > 0 || isObject(patternProperties);
    const isRecord = keysOf(names).length > 0;
    const further = others === undefined || isRecord ? undefined : next(others);
    const closed = others === false || isRecord || (others === undefined && this.#isClosed);
    const typed = further !== undefined && isTyped(further) ? further : undefined;
    const needed = Array.isArray(required)
      ? kept.filter(([name]) => required.includes(name)).map(([name]) => name)
      : [];
    const { pattern } = isObject(names) ? names : ({} as Given);
    return noted(
      {
        type: 'object',
        ...own,
        properties: Object.fromEntries(kept),
        ...(needed.length > 0 && { required: needed }),
        ...(!isOpen && closed && { additionalProperties: false }),
        ...(!isOpen && typed !== undefined && { additionalProperties: typed }),
      },
      told.length > 0 &&
        `Takes as well: ${told.map(([name, { type = 'any' }]) => `${JSON.stringify(name)} (${type})`).join(', ')}.`,
      isObject(patternProperties) && `Takes names that match ${Object.keys(patternProperties).join(', ')}.`,
      patternNote('Names match', pattern),
      countNote(given, 'Properties', 'members'),
    );
  }
}

function arrayOf(
  given: Given,
  own: PortableSchema,
  next: (schema: unknown) => PortableSchema | undefined,
): PortableSchema {
  const { items, prefixItems, additionalItems } = given;
  const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
  const rest = Array.isArray(items) ? additionalItems : items;
  const isMore = first.length === 0 || (rest !== false && rest !== undefined);
  const all = [...first.map(next), ...(isMore ? [next(rest ?? {})] : [])].filter((one) => one !== undefined);
  const item = anyOf(all);
  const order =
    first.length > 0 &&
    `A list of ${first.length}${isMore ? ' or more' : ''}, in this order: ${first.map((_, at) => nameOf(next(first[at]))).join(', ')}.`;
  const unique = given.uniqueItems === true && 'No item twice.';
  // A list must say of what type its items are: one of any type is told, not typed.
  if (item === undefined || !isTyped(item)) return noted(own, order || 'A list.', unique);
  const bounds = { ...counts(given, 'minItems'), ...counts(given, 'maxItems') };
  return noted({ type: 'array', ...own, items: item, ...bounds }, order, unique);
}

function textOf(given: Given, own: PortableSchema, isClosed: boolean): PortableSchema {
  const { format, pattern, contentEncoding } = given;
  const texts = valuesOf(given)?.filter((value) => typeof value === 'string');
  // Gemini refuses an empty text among the values.
  if (texts !== undefined && (texts.length === 0 || texts.includes('')))
    return noted({ type: 'string', ...own }, valuesNote(given));
  if (texts !== undefined) return { type: 'string', ...own, enum: [...new Set(texts)] };
  const isNamed = typeof format === 'string' || typeof contentEncoding === 'string';
  const portable = typeof pattern !== 'string' || isNamed ? undefined : portablePattern(pattern);
  return noted(
    {
      type: 'string',
      ...own,
      ...(!isClosed && { ...counts(given, 'minLength'), ...counts(given, 'maxLength') }),
      ...(portable !== undefined && { pattern: portable }),
    },
    // Where an answer is held to its schema, lengths are refused.
    isClosed && countNote(given, 'Length', 'characters'),
    isNamed && `Format: ${format ?? contentEncoding}.`,
    !isNamed && portable === undefined && patternNote('Matches', pattern),
  );
}

function numberOf(given: Given, type: 'number' | 'integer', own: PortableSchema): PortableSchema {
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf } = given;
  const bound = (value: unknown): value is number =>
    typeof value === 'number' && Math.abs(value) < Number.MAX_SAFE_INTEGER;
  const least = bound(minimum) ? minimum : bound(above) ? above : undefined;
  const most = bound(maximum) ? maximum : bound(below) ? below : undefined;
  return noted(
    { type, ...own, ...(least !== undefined && { minimum: least }), ...(most !== undefined && { maximum: most }) },
    bound(above) && `More than ${above}.`,
    bound(below) && `Less than ${below}.`,
    typeof multipleOf === 'number' && `A multiple of ${multipleOf}.`,
    valuesNote(given),
  );
}

/** Alternatives as one schema; undefined: there are none. What is of any type takes all others in. */
function anyOf(variants: readonly PortableSchema[]): PortableSchema | undefined {
  const flat = variants.flatMap((one) => (isEither(one) ? one.anyOf! : [one]));
  const open = flat.find((one) => !isTyped(one));
  if (open !== undefined) return flat.length === 1 ? open : {};
  const distinct = [...new Map(flat.map((one) => [JSON.stringify(one), one])).values()];
  const texts = distinct.flatMap((one) => one.enum ?? []);
  if (distinct.length > 1 && distinct.every((one) => one.enum !== undefined && one.description === undefined)) {
    return { type: 'string', enum: [...new Set(texts)] };
  }
  return distinct.length > 1 ? { anyOf: distinct } : distinct[0];
}

const isEither = (one: PortableSchema): boolean => one.anyOf !== undefined && one.description === undefined;

/** An object that takes what each of the forms takes; undefined where one is no object. */
function oneObject(either: PortableSchema): PortableSchema | undefined {
  const forms = either.anyOf ?? [either];
  if (forms.some(({ type }) => type !== 'object')) return undefined;
  if (forms.length === 1) return forms[0];
  const names = [...new Set(forms.flatMap(({ properties }) => Object.keys(properties ?? {})))];
  const properties = names.map((name) => [name, anyOf(forms.flatMap((form) => form.properties?.[name] ?? [])) ?? {}]);
  const required = names.filter((name) => forms.every((form) => form.required?.includes(name)));
  const isClosed = forms.every(({ additionalProperties }) => additionalProperties === false);
  const told = forms.slice(0, FORMS_TOLD_MAX_COUNT).map((form) => JSON.stringify(shortened(form)));
  return noted(
    {
      type: 'object',
      ...(either.description !== undefined && { description: either.description }),
      properties: Object.fromEntries(properties),
      ...(required.length > 0 && { required }),
      ...(isClosed && { additionalProperties: false }),
    },
    `One of these forms: ${told.join(' or ')}.`,
  );
}

/** A form in a description: its members, by type or by their only values. */
const shortened = ({ properties = {}, required = [] }: PortableSchema): Json =>
  Object.fromEntries(
    Object.entries(properties).map(([name, one]) => [required.includes(name) ? name : `${name}?`, nameOf(one)]),
  );

const nameOf = (one: PortableSchema | undefined): string =>
  one?.enum?.join('|') ?? one?.type ?? one?.anyOf?.map(nameOf).join('|') ?? 'any';

/** The object that both describe. */
function both(one: PortableSchema, other: PortableSchema): PortableSchema {
  const required = [...new Set([...(one.required ?? []), ...(other.required ?? [])])];
  return noted(
    {
      ...one,
      properties: { ...other.properties, ...one.properties },
      ...(required.length > 0 && { required }),
    },
    other.description ?? false,
  );
}

/** Of what is too deep, too much or recursive. */
function bare(given: Given): PortableSchema {
  const type = typeOf(given);
  if (type === 'object') return { type, ...described(given), properties: {} };
  return { ...(type !== undefined && type !== 'array' && { type }), ...described(given) };
}

/** The schemas of which one must fit; undefined where it is none of several. */
function variantsOf(given: Given): readonly unknown[] | undefined {
  const { oneOf, anyOf: any, type } = given;
  const listed = Array.isArray(any) ? any : Array.isArray(oneOf) ? oneOf : undefined;
  if (listed !== undefined) return listed;
  if (Array.isArray(type)) {
    const { description: _, default: __, ...rest } = given;
    return type.map((each) => ({ ...rest, type: each }));
  }
  const values = valuesOf(given);
  if (values === undefined || given.type !== undefined) return undefined;
  const types = [...new Set(values.map(typeOfValue))];
  const ofType = (each: string) => values.filter((value) => typeOfValue(value) === each);
  return types.map((each) => ({ type: each, enum: ofType(each) }));
}

const TYPES: readonly unknown[] = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];

function typeOf(given: Given): PortableSchema['type'] {
  const { type } = given;
  if (TYPES.includes(type)) return type as PortableSchema['type'];
  if (type !== undefined) return undefined;
  if (isObject(given.properties) || Array.isArray(given.required)) return 'object';
  return given.prefixItems !== undefined || given.items !== undefined ? 'array' : undefined;
}

const typeOfValue = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;

function valuesOf({ const: only, enum: values }: Given): readonly unknown[] | undefined {
  if (only !== undefined) return [only];
  return Array.isArray(values) ? values : undefined;
}

/** Names of a record whose names are known. */
const keysOf = (names: unknown): readonly string[] =>
  isObject(names) ? (valuesOf(names)?.filter((value) => typeof value === 'string') ?? []) : [];

/** Enumerations of anything but texts are refused by some: told. */
function valuesNote(given: Given): string | false {
  const values = valuesOf(given);
  if (values === undefined || given.type === 'null') return false;
  return values.length === 1 ? `Always ${shown(values[0])}.` : `One of ${values.map(shown).join(', ')}.`;
}

function countNote(given: Given, of: string, what: string): string | false {
  const [least, most] = [given[`min${of}`], given[`max${of}`]];
  const bounds = [
    ...(typeof least === 'number' ? [`at least ${least}`] : []),
    ...(typeof most === 'number' ? [`at most ${most}`] : []),
  ];
  return bounds.length > 0 && `Has ${bounds.join(' and ')} ${what}.`;
}

const patternNote = (what: string, pattern: unknown): string | false =>
  typeof pattern === 'string' && pattern.length <= NOTE_MAX_CHARS && `${what} /${pattern}/.`;

const defaultNoted = (one: PortableSchema | undefined, { default: value }: Given): PortableSchema | undefined =>
  one === undefined || value === undefined ? one : noted(one, `Default: ${shown(value)}.`);

const described = ({ description }: Given): { readonly description?: string } =>
  typeof description === 'string' && description !== ''
    ? { description: description.toWellFormed().slice(0, DESCRIPTION_MAX_CHARS) }
    : {};

function noted(one: PortableSchema, ...notes: readonly (string | false)[]): PortableSchema {
  const told = notes.filter((note) => note !== false);
  if (told.length === 0) return one;
  const description = [...(one.description === undefined ? [] : [one.description]), ...told].join('\n');
  const { type, description: _, ...rest } = one;
  return { ...(type !== undefined && { type }), description: description.slice(0, DESCRIPTION_MAX_CHARS), ...rest };
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? 'undefined').slice(0, NOTE_MAX_CHARS);

function counts<Name extends 'minItems' | 'maxItems' | 'minLength' | 'maxLength'>(given: Given, name: Name) {
  const value = given[name];
  return Number.isSafeInteger(value) && (value as number) >= 0 ? { [name]: value as number } : {};
}

const defined = (given: Given): Given =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));

const isTyped = (one: PortableSchema): boolean => one.type !== undefined || one.anyOf !== undefined;

const isObject = (value: unknown): value is Given =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** How zod writes that no value fits. */
const isNever = (given: unknown): boolean =>
  isObject(given) && isObject(given.not) && Object.keys(given.not).length === 0;
