/**
 * Owns the border between a user's schema and Tidemark: a parser returns JSON or throws an `InvalidError` that names the source of the
 * value, the path, what was expected and what to do. Must never print the value: it may be large or secret.
 */

import { toJson } from '@tidemark/codec';
import { InvalidError } from '@tidemark/core';
import type { Parse } from '@tidemark/runtime';
import { $ZodAsyncError, type $ZodIssue, safeParse } from 'zod/v4/core';
import type { Schema } from './schema.ts';
import { whileSealing } from './secret.ts';

/** Problems of one value that an error message lists; the rest are counted. */
const PROBLEMS_SHOWN_COUNT = 3;
/** Characters of one problem's text in an error message, which bounds a value that a check quotes. */
export const PROBLEM_MAX_CHARS = 200;

/** Where a value crosses the border. */
export interface Border {
  /** Code of the error: `belief-invalid`, … */
  readonly code: string;
  /** Begins the message: `refund v2, input of step credit`. */
  readonly what: string;
  /** Ends the message: what the reader can do. */
  readonly remedy: string;
}

/** One fault of a value. */
export interface Problem {
  /** `orderId`, `items[3].price`; empty: the value itself. */
  readonly path: string;
  readonly problem: string;
}

/** A function that validates against the schema; its result is JSON and safe to store. */
export function parser(schema: Schema, border: Border): Parse {
  return (value, seal) => {
    const result = whileSealing(seal, () => parseSync(schema, value, border));
    if (result.success) return toJson(result.data, border.what);
    throw invalid(border, problemsOf(result.error.issues, value));
  };
}

/** The error for a value with these problems. */
export function invalid(border: Border, problems: readonly Problem[]): InvalidError {
  const shown = problems.slice(0, PROBLEMS_SHOWN_COUNT).map(spell);
  const rest = problems.length - shown.length;
  const list = `${shown.join('; ')}${rest > 0 ? `; and ${rest} more` : ''}`;
  return new InvalidError(border.code, `${border.what}: ${list}. ${border.remedy}`, { what: border.what, problems });
}

/** `orderId`, `items[3].price`, `prices["a b"]`. */
export function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (typeof part === 'string' && /^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(part)) text += text ? `.${part}` : part;
    else text += `[${JSON.stringify(String(part))}]`;
  }
  return clip(text);
}

/** The kind of a value, for a message: never the value. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  if (typeof value !== 'object') return `a ${typeof value}`;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null ? 'an object' : `a ${value.constructor?.name || 'class'}`;
}

function parseSync(schema: Schema, value: unknown, border: Border) {
  try {
    return safeParse(schema, value);
  } catch (error) {
    if (!(error instanceof $ZodAsyncError)) throw error;
    throw new InvalidError(
      'schema-async',
      `${border.what}: its schema has an asynchronous check. Values are checked wherever they cross; make the check synchronous, or do it in a step.`,
      { what: border.what, cause: error },
    );
  }
}

function problemsOf(issues: readonly $ZodIssue[], value: unknown): Problem[] {
  return issues.map((issue) => {
    const nearest = nearestIssue(issue, []);
    const path = pathText(nearest.path);
    return { path, problem: clip(problemText(nearest, valueAt(value, nearest.path))) };
  });
}

/** For a union, reports the alternative that the value came closest to: the one whose problem lies deepest. */
function nearestIssue(issue: $ZodIssue, base: readonly PropertyKey[]): $ZodIssue {
  const here = { ...issue, path: [...base, ...issue.path] };
  if (issue.code !== 'invalid_union') return here;
  const candidates = issue.errors
    .filter((issues) => issues.length > 0)
    .map((issues) => nearestIssue(issues[0]!, here.path));
  const deepest = candidates.sort((a, b) => b.path.length - a.path.length)[0];
  return deepest !== undefined && deepest.path.length > here.path.length ? deepest : here;
}

function problemText(issue: $ZodIssue, value: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
      return value === undefined
        ? `is missing (expected ${issue.expected})`
        : `expected ${issue.expected}, got ${kindOf(value)}`;
    case 'invalid_union':
      return issue.errors.length > 1 && issue.discriminator === undefined
        ? `${kindOf(value)} that fits none of ${issue.errors.length} alternatives`
        : sentence(issue.message);
    default:
      return sentence(issue.message);
  }
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const key of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = (at as Record<PropertyKey, unknown>)[key];
  }
  return at;
}

const spell = ({ path, problem }: Problem): string => (path === '' ? problem : `${path}: ${problem}`);
const sentence = (text: string): string => `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
const clip = (text: string): string =>
  text.length <= PROBLEM_MAX_CHARS ? text : `${text.slice(0, PROBLEM_MAX_CHARS - 1)}…`;
