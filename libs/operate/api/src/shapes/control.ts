/**
 * Owns which parts of an event's clear part a caller may see. It is stored in clear, so that folds and queues can read it; two members hold
 * words of steps and keys made from inputs, and one the token of a receiver that accepted a call. Pure.
 */

import type { Redaction } from '../redaction.ts';

/** Leaves out words of steps and keys of limits for callers who may not see content, and tokens for callers who may not confirm. */
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
