/**
 * Owns the checks of a decision, a confirmation or a signal before it is appended, so that the caller learns which field is wrong. It
 * appends nothing, and a value that passes may still be rejected: the fold judges the event.
 */

import { type ErrorNote, NAME_MAX_CHARS, toJson } from '@tidemark/codec';
import {
  type EffectState,
  InvalidError,
  isOpen,
  isReplay,
  type Json,
  parseDuration,
  type Question,
  type Resolution,
  type StreamState,
  type TaskState,
} from '@tidemark/core';
import type { EffectDefinition } from '../definition/index.ts';
import { ERROR_TEXT_MAX_CHARS } from '../definition/index.ts';
import { TIMER_MAX_MS } from '../kernel/index.ts';
import { mayUndo } from './compensation.ts';

export const RESOLUTIONS: readonly Resolution[] = ['retry', 'done', 'not-done', 'compensate', 'fail'];

export interface Decision {
  readonly resolution: Resolution;
  /** Name of the person or program that decides. */
  readonly by: string;
  readonly why: string;
  /** The response of the effect in question: required for `done`, refused for every other resolution. */
  readonly response?: unknown;
  /** Id of the question that the decision answers; absent: the open one. */
  readonly question?: string | undefined;
  /**
   * Without `question`: the decision answers the question that was open at this time (milliseconds since the Unix epoch), and none that was
   * asked later.
   */
  readonly openAtMs?: number | undefined;
}

export type Confirmation = { readonly response: unknown } | { readonly error: string };

/** The effect that the question is about; undefined if it is about none. */
function effectInQuestion(state: StreamState, { task, key }: Question): EffectState | undefined {
  const asking: TaskState | undefined = task === null ? undefined : state.frontier.tasks.get(task);
  return asking?.effects.find((effect) => effect.key === key);
}

/** Whether a person may resolve the effect as done: its outcome is open, or its recorded response may be corrected. */
const mayBeDone = (effect: EffectState | undefined): boolean =>
  effect !== undefined && (isOpen(effect) || effect.status === 'done');

/** The resolutions that can answer the question, in the order of `RESOLUTIONS`. */
export const fittingResolutions = (state: StreamState, question: Question): readonly Resolution[] =>
  RESOLUTIONS.filter((resolution) => {
    const effect = effectInQuestion(state, question);
    // A fork that replays calls nothing, so none of its effects can be not done.
    if (resolution === 'not-done') return effect !== undefined && isOpen(effect) && !isReplay(state);
    if (resolution === 'done') return mayBeDone(effect);
    // A person can't have an undo compensated: its effects have no compensation of their own, so nothing would happen.
    return resolution !== 'compensate' || (state.compensates === null && mayUndo(state));
  });

export function checkFits(state: StreamState, question: Question, resolution: Resolution): void {
  const fitting = fittingResolutions(state, question);
  if (fitting.includes(resolution)) return;
  const why =
    resolution === 'compensate'
      ? 'the workflow was compensated before, is itself an undo, or replays what another one did'
      : `the question (${question.code}) is about no effect whose outcome is open`;
  throw new InvalidError(
    'resolution-unfit',
    `resolution: '${resolution}' doesn't fit, since ${why}. Fitting: ${fitting.join(', ')}.`,
    {
      resolution,
      fitting,
    },
  );
}

export function responseFor(
  state: StreamState,
  question: Question,
  { response }: Decision,
  effects: readonly EffectDefinition[],
): Json {
  if (response === undefined) {
    throw new InvalidError('response-missing', "response: 'done' needs what the effect answered, as JSON.");
  }
  return parserOf(effectInQuestion(state, question)!, effects)(response);
}

/** Parses with the effect's own schema if its definition is known here; otherwise it accepts any JSON. */
export const parserOf = (effect: EffectState, effects: readonly EffectDefinition[]): ((value: unknown) => Json) =>
  effects.find(({ operation }) => operation === effect.operation)?.parseResponse ??
  ((value) => toJson(value, 'response'));

export function confirmationPayload(
  confirmation: Confirmation,
  parse: (value: unknown) => Json,
): { readonly response: Json } | { readonly error: ErrorNote } {
  if ('error' in confirmation) {
    checkText('error', confirmation.error);
    return { error: { name: 'NotDoneError', message: confirmation.error } };
  }
  return { response: parse(confirmation.response) };
}

export function checkDecision({ resolution, by, why, response }: Decision): void {
  if (!RESOLUTIONS.includes(resolution)) {
    throw new InvalidError('resolution-invalid', `resolution: one of ${RESOLUTIONS.join(', ')}, not '${resolution}'.`);
  }
  checkName('by', by);
  checkText('why', why);
  if (response !== undefined && resolution !== 'done') {
    throw new InvalidError('response-unfit', `response: only 'done' has one, not '${resolution}'.`);
  }
}

/** Matches a visible character: neither white space nor one that is drawn as nothing (U+2800 is a Braille cell without dots). */
export const VISIBLE = /[^\s\p{Z}\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/u;

export function checkName(field: string, value: unknown, maxChars = NAME_MAX_CHARS): string {
  if (typeof value === 'string' && value.length <= maxChars && !/\p{Cc}/u.test(value)) {
    if (VISIBLE.test(value) && value.isWellFormed()) return value;
  }
  throw new InvalidError(
    `${field}-invalid`,
    `${field}: give 1 to ${maxChars} characters, one of them visible, without control characters.`,
    { field },
  );
}

export function checkText(field: string, value: unknown): void {
  if (typeof value === 'string' && VISIBLE.test(value) && value.length <= ERROR_TEXT_MAX_CHARS) return;
  const message = `${field}: give 1 to ${ERROR_TEXT_MAX_CHARS} characters, one of them visible.`;
  throw new InvalidError(`${field}-invalid`, message, { field });
}

/**
 * Converts a duration as people write it, or a number of milliseconds, into milliseconds from 1 to `TIMER_MAX_MS`. Throws `InvalidError`
 * (`duration-invalid`) that names the field.
 */
export function checkedDuration(field: string, value: string | number): number {
  const ms = typeof value === 'string' ? parseDuration(value) : value;
  if (Number.isSafeInteger(ms) && ms! >= 1 && ms! <= TIMER_MAX_MS) return ms!;
  const message = `${field}: give a whole number and a unit, such as '90s', '15m', '36h' or '7d', or milliseconds; at most ten years.`;
  throw new InvalidError('duration-invalid', message, { field });
}
