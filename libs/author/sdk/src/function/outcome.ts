/** Owns what a checkpoint of a function says: which call was decided, how, and what the function asked for next. */

import { canonicalJson, type Json } from '@tidemark/core';
import { type EffectDefinition, type Journaled, type Seal, type StepResult, sha256Digest } from '@tidemark/runtime';

/** Digits of the digest of what a call asks for. */
const ASKS_DIGITS = 16;

export const digestOf = (asks: Json): string => sha256Digest.sha256(canonicalJson(asks)).slice(0, ASKS_DIGITS);

/** One call of a function. */
export interface CallId {
  readonly name: string;
  /** Its place among the calls of its name, of the same member: 0, 1, 2 … */
  readonly place: number;
  /** The member of `all` or `race` that makes it: `0.2` is the third member of the first one. Absent: the function itself. */
  readonly member?: string | undefined;
  /** Digest of what it asks for, without what may differ at every call of the function. */
  readonly asks: string;
}

export interface Failure {
  readonly code: string;
  readonly message: string;
}

/** `secretOf`: the effect whose response, with secret fields in it, is the value. */
export type Result = { readonly value: Json; readonly secretOf?: string | undefined } | { readonly error: Failure };

/** Where a chapter begins. `seed`: what chance in it derives from; `beganAtMs`: milliseconds since the Unix epoch. */
export interface Chapter {
  /** 1, 2, 3 … */
  readonly chapter: number;
  /** No checkpoint up to this one is of the chapter. */
  readonly since: number;
  readonly seed: string;
  readonly beganAtMs: number;
  readonly state: Json;
}

/** What a checkpoint says: which call was decided, how, and what the function asked for after it. */
export interface Recorded {
  readonly chapter: number;
  /** Null: none was, as when the function is first called. */
  readonly call: CallId | null;
  readonly result: Result | null;
  /** Milliseconds since the Unix epoch, by the clock of the worker. */
  readonly atMs: number;
  readonly begins: readonly CallId[];
  /** Versions of changes in the code that the function asked for meanwhile. */
  readonly versions?: Readonly<Record<string, number>>;
  /** Set in the first one of a chapter. */
  readonly opens?: Chapter;
}

/** How the output is to be read. */
interface Marks {
  readonly isFailed?: true;
  readonly secretOf?: string;
}

/** The record within a checkpoint, whose output is the value or the failure alone: that is for people. */
export function toCheckpoint({ result, ...rest }: Recorded): Pick<StepResult, 'output' | 'journal'> {
  const journal = rest as unknown as { readonly [name: string]: Json };
  if (result === null) return { journal };
  if ('error' in result) return { output: result.error, journal: { ...journal, isFailed: true } };
  const { value, secretOf } = result;
  if (secretOf === undefined) return { output: value, journal };
  return { output: { [responseOf(secretOf)]: value }, journal: { ...journal, secretOf } };
}

/** By this name a response with secret fields stands in the output, so that whoever stores it finds them. */
const responseOf = (operation: string): string => `response of ${operation}`;

/** The output, with the secret fields of a response sealed. */
export function sealResponse(output: Json, effects: readonly EffectDefinition[], seal: Seal | undefined): Json {
  if (typeof output !== 'object' || output === null) return output;
  const effect = effects.find(({ operation }) => Object.hasOwn(output, responseOf(operation)));
  if (effect === undefined) return output;
  const name = responseOf(effect.operation);
  return { [name]: effect.parseResponse((output as { readonly [name: string]: Json })[name], seal) };
}

export function fromCheckpoint({ journal, output }: Journaled): Recorded {
  const { isFailed, secretOf, ...rest } = journal as unknown as Omit<Recorded, 'result'> & Marks;
  if (rest.call === null) return { ...rest, result: null };
  if (isFailed) return { ...rest, result: { error: output as unknown as Failure } };
  const value = secretOf === undefined ? output : (output as { [name: string]: Json })[responseOf(secretOf)]!;
  return { ...rest, result: { value } };
}
