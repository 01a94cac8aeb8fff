/** Owns what a checkpoint of a function says: which call was decided, how, and what the function asked for next. */

import type { Json } from '@tidemark/core';
import { z } from 'zod';

/** One call of a function. */
export interface CallId {
  readonly name: string;
  /** Its place among the calls of its name: 0, 1, 2 … */
  readonly place: number;
  /** Digest of what it asks for, without what may differ at every call of the function. */
  readonly asks: string;
}

export interface Failure {
  readonly code: string;
  readonly message: string;
}

export type Result = { readonly value: Json } | { readonly error: Failure };

export const callIdSchema = z.object({ name: z.string(), place: z.int().min(0), asks: z.string() });

/**
 * Which call was decided, and what the function asked for after it; null: none was, as when the function is first called. `order`: how many
 * were decided until then. `atMs`: milliseconds since the Unix epoch, by the clock of the worker.
 */
export const outcomeSchema = z.object({
  order: z.int().min(0),
  call: callIdSchema.nullable(),
  result: z
    .union([z.object({ value: z.json() }), z.object({ error: z.object({ code: z.string(), message: z.string() }) })])
    .nullable(),
  atMs: z.number(),
  begins: z.array(callIdSchema),
  /** Versions of changes in the code that the function asked for meanwhile. */
  versions: z.record(z.string(), z.int()).optional(),
});
/** What a run holds between its chapters; null before the first. `since`: the checkpoint that ended the chapter before; `order`: its outcomes. */
export const chapterSchema = z.object({ chapter: z.int(), since: z.int(), order: z.int(), state: z.json() }).nullable();
export type Chapter = {
  readonly chapter: number;
  readonly since: number;
  readonly order: number;
  readonly state: Json;
} | null;

export type Recorded = z.infer<typeof outcomeSchema>;
