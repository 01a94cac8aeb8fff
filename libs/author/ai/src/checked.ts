/**
 * Owns checking a user's value against a schema: errors name the field, its kind and the place, and reveal nothing else of the value. Must
 * know nothing of what is checked.
 */

import { InvalidError } from '@tidemark/core';
import type { z } from 'zod';

/** Problems of one value that an error message spells out; the rest are counted. */
const PROBLEMS_SHOWN_COUNT = 5;
/** Characters of a value that an error message quotes. */
const QUOTED_MAX_CHARS = 60;

/** Where a value comes from, for the error. */
export interface ValueSource {
  /** Code of the error: `prices-invalid`, … */
  readonly code: string;
  /** Begins the message: the file, the argument. */
  readonly what: string;
  /** Ends the message: what the reader can do. */
  readonly remedy: string;
}

/** Returns the value as the schema has it, or throws an `InvalidError` that names each field, its kind, and the place. */
export function checked<S extends z.ZodType>(schema: S, value: unknown, place: ValueSource): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw invalid(
    place,
    result.error.issues.flatMap((issue) => reported(issue, value)),
  );
}

export function invalid({ code, what, remedy }: ValueSource, problems: readonly string[]): InvalidError {
  const rest = problems.length - PROBLEMS_SHOWN_COUNT;
  const shown = problems.slice(0, PROBLEMS_SHOWN_COUNT).join('; ');
  return new InvalidError(code, `${what}: ${shown}${rest > 0 ? `; and ${rest} more` : ''}. ${remedy}`, {
    what,
    problems,
  });
}

/** `openai.models["gpt-5.5"].input` */
export function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (/^[A-Za-z_$][\w$]*$/.test(String(part))) text += text === '' ? String(part) : `.${String(part)}`;
    else text += `[${JSON.stringify(String(part))}]`;
  }
  return text;
}

function reported(issue: z.core.$ZodIssue, value: unknown): string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `${pathText([...issue.path, key])} is not known`);
  }
  const at = valueAt(value, issue.path);
  const name = issue.path.length === 0 ? 'the whole' : pathText(issue.path);
  if (at === undefined) return [`${name} is missing`];
  const message = issue.message.replace(/^Invalid input: /, '').split(', received ', 1)[0]!;
  return [`${name} is ${quoted(at)}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`];
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const key of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = (at as Record<PropertyKey, unknown>)[key];
  }
  return at;
}

function quoted(value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object';
  const text = JSON.stringify(value) ?? typeof value;
  return text.length <= QUOTED_MAX_CHARS ? text : `${text.slice(0, QUOTED_MAX_CHARS - 1)}…`;
}
