/** Owns how a step's or an effect's failure is told: what a user may throw, and what is stored of any error. */

import type { ErrorNote } from '@tidemark/codec';
import { type EffectKey, type Json, TidemarkError } from '@tidemark/core';
import type { RetryPolicy } from './definition.ts';
import { ERROR_TEXT_MAX_CHARS } from './limits.ts';

/** Thrown by an effect's `call`: it certainly did not happen, whatever its kind. It may be tried again. */
export class NotDoneError extends TidemarkError {
  override readonly name = 'NotDoneError';

  constructor(message: string, details: { readonly cause?: unknown; readonly [field: string]: unknown } = {}) {
    super('effect-not-done', message, details);
  }
}

/** Thrown by a step or an effect: trying again won't help; the workflow fails. */
export class FatalError extends TidemarkError {
  override readonly name = 'FatalError';

  constructor(message: string, details: { readonly cause?: unknown; readonly [field: string]: unknown } = {}) {
    super('fatal', message, details);
  }
}

/** An effect's call failed; carries the effect's own policy to the step's retry. */
export class EffectError extends TidemarkError {
  override readonly name = 'EffectError';
  readonly retry: RetryPolicy;

  constructor(operation: string, retry: RetryPolicy, cause: unknown) {
    const message = cause instanceof Error ? cause.message : String(cause);
    super('effect-failed', `${operation}: ${message}`, { operation, cause });
    this.retry = retry;
  }
}

/** Only a person can decide: the workflow is parked with this evidence. */
export class ParkError extends TidemarkError {
  override readonly name = 'ParkError';
  readonly key: EffectKey | null;
  readonly evidence: Json;

  constructor(code: string, message: string, key: EffectKey | null, evidence: Json) {
    super(code, message, { key });
    this.key = key;
    this.evidence = evidence;
  }
}

/** What is stored of an error: name, message, code and stack, each bounded. */
export function errorNote(error: unknown): ErrorNote {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error).slice(0, ERROR_TEXT_MAX_CHARS) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return {
    name: error.name,
    message: error.message.slice(0, ERROR_TEXT_MAX_CHARS),
    ...(code === undefined ? {} : { code: code.slice(0, 200) }),
    ...(error.stack === undefined ? {} : { stack: error.stack.slice(0, ERROR_TEXT_MAX_CHARS) }),
  };
}

/** The code of an error for `control`: its own, or its name. */
export function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return 'error';
  const code = 'code' in error && typeof error.code === 'string' && error.code !== '' ? error.code : error.name;
  return code.slice(0, 200) || 'error';
}
