/**
 * Owns refusing queries with parameters that their route doesn't know, since a misspelt filter would match everything, and numbers that are
 * not written as such. Pure.
 */

import { InvalidError } from '@tidemark/core';
import { z } from 'zod';

const SHOWN_MAX_COUNT = 20;
const SHOWN_MAX_CHARS = 100;

/** Throws `InvalidError` (`request-invalid`) that names each unknown parameter, and the known ones. */
export function checkQuery(schema: z.ZodType | undefined, query: unknown): void {
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const unknown = Object.keys(query ?? {}).filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  const named = unknown.slice(0, SHOWN_MAX_COUNT).map((name) => name.slice(0, SHOWN_MAX_CHARS));
  const remedy = known.length === 0 ? 'there are none here' : `known here: ${known.join(', ')}`;
  throw new InvalidError(
    'request-invalid',
    `The request is wrong: query.${named.join(', query.')}: not known; ${remedy}.`,
    {
      fields: named.map((name) => ({ field: `query.${name}`, problem: `not known; ${remedy}` })),
    },
  );
}

/** For a query or a path. Throws `InvalidError` (`request-invalid`) that names each number that is written otherwise than in digits, or would be rounded. */
export function checkNumbers(part: string, schema: z.ZodType | undefined, values: unknown): void {
  if (!(schema instanceof z.ZodObject)) return;
  const wrong = Object.entries((values ?? {}) as Readonly<Record<string, unknown>>).filter(
    ([name, value]) => typeof value === 'string' && isNumber(schema.shape[name]) && !isExact(value),
  );
  if (wrong.length === 0) return;
  const problem = `give a whole number, in digits, of at most ${Number.MAX_SAFE_INTEGER}`;
  const fields = wrong.map(([name]) => ({ field: `${part}.${name}`, problem }));
  const list = fields.map(({ field }) => `${field}: ${problem}`).join('; ');
  throw new InvalidError('request-invalid', `The request is wrong: ${list}.`, { fields });
}

const isExact = (text: string): boolean => /^-?\d+$/.test(text) && Number.isSafeInteger(Number(text));

function isNumber(schema: unknown): boolean {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodOptional) return isNumber(schema.unwrap());
  return schema instanceof z.ZodNumber;
}
