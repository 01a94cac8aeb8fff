/** Owns that a query holds nothing that its route doesn't know: a misspelt filter would answer everything. Pure. */

import { InvalidError } from '@tidemark/core';
import { z } from 'zod';

const SHOWN_MAX_COUNT = 20;
const SHOWN_MAX_CHARS = 100;

/** Throws `InvalidError` (`request-invalid`) that names each parameter that isn't known, and those that are. */
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
