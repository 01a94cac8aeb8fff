/**
 * Owns what of an event's clear part is told to whom. It is clear where it is stored, so that folds and queues can read it; two members of it
 * hold what steps say in words and what definitions make of inputs, and one the token of who accepted a call outside. Pure.
 */

import type { Sight } from '../sight.ts';

/** Without words of steps and keys of limits for who may not see content, and without tokens for who may not confirm. */
export function toldControl(control: object, sight: Sight): Readonly<Record<string, unknown>> {
  const { token, ...clear } = control as Readonly<Record<string, unknown>>;
  const told = token === undefined || sight.tokens ? (control as Readonly<Record<string, unknown>>) : clear;
  if (sight.content) return told;
  const { lastAction, dispatch, ...rest } = told;
  const { limits: _, ...turns } = (dispatch ?? {}) as Readonly<Record<string, unknown>>;
  return {
    ...rest,
    ...(lastAction !== undefined && { lastAction: '' }),
    ...(dispatch !== undefined && { dispatch: turns }),
  };
}
