/**
 * Owns what of an answer is told to whom (R2): marks in its schema, and what takes out of it what a caller may not see, with whatever the
 * schema doesn't name. Pure.
 */

import { mayDo, type Principal } from '@tidemark/ports';
import { z } from 'zod';

/** What a caller may see beside names, states and numbers. */
export interface Redaction {
  readonly content: boolean;
  /** Texts in which steps say what they did. */
  readonly words: boolean;
  /** Under which receivers have accepted calls: for who may confirm them. */
  readonly tokens: boolean;
}

export const redactionOf = (principal: Pick<Principal, 'roles'>): Redaction => ({
  content: mayDo(principal, 'content'),
  words: mayDo(principal, 'content'),
  tokens: mayDo(principal, 'report'),
});

/** Who asks for no content is shown none, whatever they may see, and so reads none that is to be written down. */
export const redactionAsked = (redaction: Redaction, query: unknown): Redaction => ({
  ...redaction,
  content: redaction.content && (query as { readonly content?: boolean } | undefined)?.content !== false,
});

const CONTENT = 'x-content';
const WORDS = 'x-words';
const TOKEN = 'x-token';
const MARKS = [CONTENT, WORDS, TOKEN] as const;

/** Marks a field that those alone are given who might run the workflow; absent for the others. */
export const content = <S extends z.ZodType>(schema: S) => schema.optional().meta({ [CONTENT]: true });

/**
 * Marks a text in which steps say in words what they did: whatever is in there may be content, so it is empty for who may not see that. It
 * comes with every row of a list, and showing it is no read that is written down.
 */
export const words = () =>
  z.string().meta({ [WORDS]: true, description: 'In words; empty for who may not see content.' });

/** Marks a token under which a receiver has accepted a call. */
export const token = () =>
  z
    .string()
    .optional()
    .meta({ [TOKEN]: true, description: 'Absent for who may not confirm (the right to report).' });

const isMarked = (schema: z.ZodType, mark: string): boolean => z.globalRegistry.get(schema)?.[mark] === true;

const has = (schema: z.ZodType, mark: string): boolean =>
  isMarked(schema, mark) || partsOf(schema).some((part) => has(part, mark));

/** Whether there is content in values of the schema. */
export const hasContent = (schema: z.ZodType): boolean => has(schema, CONTENT);

type Redact = (value: unknown) => unknown;

/**
 * What leaves of values of the schema what may be seen, and is named by it; undefined: all of it. Throws where the schema is of a kind that it
 * can't look into.
 */
export function redactorOf(schema: z.ZodType, redaction: Redaction): Redact | undefined {
  if (MARKS.some((mark) => isMarked(schema, mark))) throw misplaced();
  return redactorIn(schema, redaction);
}

/** What is marked is left out as a field: nothing is left out of lists and unions, or from under another wrapping. */
const misplaced = (): TypeError =>
  new TypeError(
    "content(), words() and token() mark a field of an object, as the field's whole schema: mark it there.",
  );

function redactorIn(schema: z.ZodType, redaction: Redaction): Redact | undefined {
  if (redaction.content && redaction.words && (redaction.tokens || !has(schema, TOKEN))) return undefined;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodReadonly) {
    const inner = redactorOf(schema.unwrap() as z.ZodType, redaction);
    return inner && ((value) => (value === null || value === undefined ? value : inner(value)));
  }
  if (schema instanceof z.ZodArray) {
    const element = redactorOf(schema.element as z.ZodType, redaction);
    return element && ((value) => (value as readonly unknown[]).map((each) => element(each)));
  }
  if (schema instanceof z.ZodRecord) {
    const each = redactorOf(schema.valueType as z.ZodType, redaction);
    return each && ((value) => Object.fromEntries(Object.entries(value as object).map(([key, of]) => [key, each(of)])));
  }
  if (schema instanceof z.ZodObject)
    return objectRedactor(schema.shape as Readonly<Record<string, z.ZodType>>, redaction);
  if (schema instanceof z.ZodUnion) return unionRedactor(schema.options as readonly z.ZodType[], redaction);
  partsOf(schema);
  return undefined;
}

function objectRedactor(shape: Readonly<Record<string, z.ZodType>>, redaction: Redaction): Redact {
  const fields = Object.entries(shape).flatMap(([key, field]): readonly (readonly [string, Redact | undefined])[] => {
    if (isMarked(field, CONTENT) && !redaction.content) return [];
    if (isMarked(field, TOKEN) && !redaction.tokens) return [];
    if (isMarked(field, WORDS) && !redaction.words) return [[key, () => '']];
    const isField = MARKS.some((mark) => isMarked(field, mark));
    return [[key, isField ? redactorIn(field, redaction) : redactorOf(field, redaction)]];
  });
  return (value) => {
    const given = value as Readonly<Record<string, unknown>>;
    const shown: Record<string, unknown> = {};
    for (const [key, redact] of fields) {
      if (Object.hasOwn(given, key)) shown[key] = redact === undefined ? given[key] : redact(given[key]);
    }
    return shown;
  };
}

/** As the first of them that fits; what fits none is left out. */
function unionRedactor(options: readonly z.ZodType[], redaction: Redaction): Redact | undefined {
  const redactors = options.map((option) => [option, redactorOf(option, redaction)] as const);
  if (redactors.every(([, redact]) => redact === undefined)) return undefined;
  return (value) => {
    const found = redactors.find(([option]) => option.safeParse(value).success);
    if (found === undefined) return undefined;
    const [, redact] = found;
    return redact === undefined ? value : redact(value);
  };
}

/** Kinds with nothing in them that a schema names. */
const LEAVES: ReadonlySet<string> = new Set(['string', 'number', 'boolean', 'null', 'literal', 'enum', 'unknown']);

function partsOf(schema: z.ZodType): readonly z.ZodType[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodReadonly) {
    return [schema.unwrap() as z.ZodType];
  }
  if (schema instanceof z.ZodArray) return [schema.element as z.ZodType];
  if (schema instanceof z.ZodRecord) return [schema.valueType as z.ZodType];
  if (schema instanceof z.ZodObject) return Object.values(schema.shape as Readonly<Record<string, z.ZodType>>);
  if (schema instanceof z.ZodUnion) return schema.options as readonly z.ZodType[];
  if (LEAVES.has(schema.def.type)) return [];
  throw new TypeError(
    `An answer's schema can't be of the kind '${schema.def.type}': nobody knows what to leave out of it.`,
  );
}
