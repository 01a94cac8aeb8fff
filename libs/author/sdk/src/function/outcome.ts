/** Owns what a checkpoint of a function says: which call was decided, how, and what the function asked for next. */

import { randomUUID } from 'node:crypto';
import { canonicalJson, type Json } from '@tidemark/core';
import { sha256Digest } from '@tidemark/runtime';
import { z } from 'zod';

/** Digits of the digest of what a call asks for. */
const ASKS_DIGITS = 16;

export const digestOf = (asks: Json): string => sha256Digest.sha256(canonicalJson(asks)).slice(0, ASKS_DIGITS);

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
 * of the chapter were decided until then. `atMs`: milliseconds since the Unix epoch, by the clock of the worker.
 */
export const outcomeSchema = z.object({
  chapter: z.int(),
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
/**
 * A run's belief: what the function set as its own, and the present chapter. `since`: the checkpoint that ended the chapter before; `seed`:
 * what chance in the chapter derives from; `beganAtMs`: when it began, in milliseconds since the Unix epoch.
 */
export const beliefSchema = z.object({
  holds: z.json(),
  chapter: z.object({ number: z.int(), since: z.int(), seed: z.string(), beganAtMs: z.number(), state: z.json() }),
});
export type Belief = { readonly holds: Json; readonly chapter: Chapter };
export interface Chapter {
  readonly number: number;
  readonly since: number;
  readonly seed: string;
  readonly beganAtMs: number;
  readonly state: Json;
}

/** A new one, with what only its record makes the same for every call of the function. */
export const newChapter = (number: number, since: number, state: Json): Chapter => ({
  ...{ number, since, state },
  seed: randomUUID(),
  beganAtMs: Date.now(),
});

export type Recorded = z.infer<typeof outcomeSchema>;
