/** Owns the smallest parts of requests and answers. */

import type { Json } from '@tidemark/core';
import { TAG_MAX_CHARS, WORKFLOW_ID_MAX_CHARS } from '@tidemark/runtime';
import { z } from 'zod';
import { PAGE_DEFAULT_COUNT, PAGE_MAX_COUNT } from '../limits.ts';

/** The pattern is written so that readers of the document in other languages understand it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is refused.
const NO_CONTROLS = /^[^\u0000-\u001f\u007f-\u009f]*$/;
const wellFormed = (maxChars: number) =>
  z
    .string()
    .min(1)
    .max(maxChars)
    .regex(NO_CONTROLS, 'has control characters')
    .refine((text) => text.isWellFormed(), 'has halves of characters');

/** A name that people give: of a session, a user, a signal, a tag. */
export const nameSchema = wellFormed(200);
export const tagSchema = wellFormed(TAG_MAX_CHARS);
/** `{sequence that created it}.{index}`; rows hold no more than so many digits. */
export const taskIdSchema = z.string().regex(/^\d{1,9}\.\d{1,6}$/, 'is not the id of a task, such as 3.0');
const inWords = (maxChars: number) =>
  z
    .string()
    .min(1)
    .max(maxChars)
    .refine((text) => text.trim() !== '', 'say it in words');

/** A person's note on an action. */
export const textSchema = inWords(2_000);
/** A note for the next holder of the session. */
export const longTextSchema = inWords(20_000);

/** Any JSON. */
export const jsonSchema = z.unknown().meta({ description: 'Any JSON value.' }) as unknown as z.ZodType<Json, Json>;
/** Any value from the caller; the definition checks it. */
export const givenJson = z.unknown().meta({ description: 'Any JSON value.' });
/** Input of a run. */
export const inputSchema = z.unknown().default({}).meta({ description: 'Any JSON value; by default `{}`.' });

export const timeSchema = z.string().meta({ format: 'date-time', description: 'ISO 8601, UTC.' });
export const digestSchema = z.string().meta({ description: 'SHA-256, 64 hex digits.' });

export const workflowIdSchema = wellFormed(WORKFLOW_ID_MAX_CHARS).meta({
  description: "A workflow's id, percent-encoded in paths.",
});
export const workflowParams = z.object({ workflow: workflowIdSchema });

export const sequenceSchema = z.coerce
  .number()
  .int()
  .min(0)
  .max(Number.MAX_SAFE_INTEGER)
  .meta({ description: "A checkpoint's number in its chain; 0 is the opening.", type: 'integer' });
export const positionSchema = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).meta({
  description: "An accepted event's place in the workflow's stream: 1, 2, 3 … without gaps.",
  type: 'integer',
});

export const limitSchema = z.coerce.number().int().min(1).max(PAGE_MAX_COUNT).default(PAGE_DEFAULT_COUNT);
export const cursorSchema = z
  .string()
  .min(1)
  .max(5_000)
  .regex(/^[\w-]+$/, 'give the next_cursor of a page, or leave it out')
  .meta({ description: 'What the page before gave as `next_cursor`, with the same filters; opaque.' });
/** What a list takes that is read page by page. */
export const paged = { limit: limitSchema, cursor: cursorSchema.optional() } as const;
export const nextCursorSchema = z.string().nullable().meta({ description: 'Null: this is the last page.' });

export const tenantSchema = nameSchema.meta({
  description: "Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants.",
});

/** A flag in a query. */
export const flagSchema = z
  .enum(['true', 'false'])
  .default('false')
  .transform((text) => text === 'true');

/** The server knows this parameter by its name: `sightAsked`. */
export const contentQuerySchema = z
  .enum(['true', 'false'])
  .default('true')
  .transform((text) => text === 'true')
  .meta({
    description:
      '`false`: without content, also for callers who may see it; nothing is written to the audit then. For polling.',
  });

export const byWhy = {
  why: textSchema.meta({ description: 'Why; kept with the event.' }),
} as const;

export const askSchema = z.strictObject({ ...byWhy }).meta({ id: 'Ask' });

/** Tokens and money, as `spendJson` writes them. */
export const spendShape = {
  tokens: z.number(),
  cost_micros: z
    .number()
    .nullable()
    .meta({ description: 'Millionths of a US dollar; null: nothing of it has a price.' }),
  estimated_tokens: z.number().optional().meta({ description: 'Of the tokens, those that no provider reported.' }),
  unpriced_tokens: z.number().optional().meta({ description: 'Of the tokens, those of models without a price.' }),
  unknown: z
    .object({ calls: z.number(), tokens: z.number(), cost_micros: z.number() })
    .optional()
    .meta({ description: 'Besides: calls without an answer, and the most that they may have cost. Budgets hold it.' }),
} as const;
