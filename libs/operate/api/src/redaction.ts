/**
 * Owns which parts of an answer a caller may see (R2): marks in its schema, and removing what is marked, along with fields that the schema
 * doesn't name. Pure.
 */

import { mayDo, type Principal } from '@tidemark/ports';
import { z } from 'zod';

/** What a caller may see beside names, states and numbers. */
export interface Redaction {
  readonly content: boolean;
  /** Texts in which steps describe what they did. */
  readonly words: boolean;
  /** Tokens under which receivers have accepted calls: for callers who may confirm them. */
  readonly tokens: boolean;
}

export const redactionOf = (principal: Pick<Principal, 'roles'>): Redaction => ({
  content: mayDo(principal, 'content'),
  words: mayDo(principal, 'content'),
  tokens: mayDo(principal, 'report'),
});

/** A caller that requests no content gets none, whatever it may see, and so reads nothing that the audit would record. */
export const requestedRedaction = (redaction: Redaction, query: unknown): Redaction => ({
  ...redaction,
  content: redaction.content && (query as { readonly content?: boolean } | undefined)?.content !== false,
});

const CONTENT = 'x-content';
const WORDS = 'x-words';
const TOKEN = 'x-token';
const MARKS = [CONTENT, WORDS, TOKEN] as const;

/** Marks a field that only callers who might run the workflow receive; absent for the others. */
export const content = <S extends z.ZodType>(schema: S) => schema.optional().meta({ [CONTENT]: true });

/**
 * Marks a text in which steps describe what they did: it may contain content, so it is empty for callers who may not see that. It comes
 * with every row of a list, and showing it is no read that the audit records.
 */
export const words = () =>
  z.string().meta({ [WORDS]: true, description: 'Empty for callers who may not see content.' });

/** Marks a token under which a receiver has accepted a call. */
export const token = () =>
  z
    .string()
    .optional()
    .meta({ [TOKEN]: true, description: 'Absent for callers who may not confirm (the right to report).' });

const isMarked = (schema: z.ZodType, mark: string): boolean => z.globalRegistry.get(schema)?.[mark] === true;

const has = (schema: z.ZodType, mark: string): boolean =>
  isMarked(schema, mark) || partsOf(schema).some((part) => has(part, mark));

/** Whether values of the schema hold content. */
export const hasContent = (schema: z.ZodType): boolean => has(schema, CONTENT);

type Redact = (value: unknown) => unknown;

/**
 * Returns the function that keeps of a value what may be seen and the schema names; undefined: it keeps all. Throws for a kind of schema
 * that it can't inspect.
 */
export function redactorOf(schema: z.ZodType, redaction: Redaction): Redact | undefined {
  if (MARKS.some((mark) => isMarked(schema, mark))) throw misplaced();
  return redactorIn(schema, redaction);
}

/** A marked field is left out of its object: lists, unions and other wrappings can't leave a member out. */
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

/** Redacts by the first schema that fits; drops a value that fits none. */
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
    `An answer's schema can't be of the kind '${schema.def.type}': what to leave out of it is not defined.`,
  );
}
