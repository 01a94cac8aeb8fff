/**
 * Owns what of an event's clear part is told to whom. It is clear where it is stored, so that folds and queues can read it; two members of it
 * hold what steps say in words and what definitions make of inputs, and one the token of who accepted a call outside. Pure.
 */

import type { Redaction } from '../redaction.ts';

/** Without words of steps and keys of limits for who may not see content, and without tokens for who may not confirm. */
export function reportedControl(control: object, redaction: Redaction): Readonly<Record<string, unknown>> {
  const { token, ...clear } = control as Readonly<Record<string, unknown>>;
  const reported = token === undefined || redaction.tokens ? (control as Readonly<Record<string, unknown>>) : clear;
  if (redaction.content) return reported;
  const { lastAction, dispatch, ...rest } = reported;
  const { limits: _, ...turns } = (dispatch ?? {}) as Readonly<Record<string, unknown>>;
  return {
    ...rest,
    ...(lastAction !== undefined && { lastAction: '' }),
    ...(dispatch !== undefined && { dispatch: turns }),
  };
}
