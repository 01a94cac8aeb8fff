/**
 * Owns the check of a workflow's priority and limits: what the definition derives from the input, and what a caller gives instead. Pure.
 */

import { type Dispatch, type DispatchLimit, InvalidError, type Json, PRIORITIES, type Priority } from '@tidemark/core';
import type { Definition } from './definition.ts';

/** Most limits of concurrency and rate that one workflow may be under. */
const DISPATCH_LIMITS_MAX_COUNT = 8;
/** Longest key of a limit of concurrency or rate, in characters. */
const LIMIT_KEY_MAX_CHARS = 200;
/** Highest concurrency of one key, in workflows. */
const LIMIT_CONCURRENCY_MAX_COUNT = 100_000;
/** Highest rate of one key, in workflows that begin in a period: a queue remembers when each began. */
const LIMIT_RATE_MAX_COUNT = 1_000;
/** Longest period of a rate: seven days. */
const LIMIT_RATE_PERIOD_MAX_MS = 7 * 24 * 60 * 60 * 1_000;

/** What the definition says, unchecked. */
export const dispatchOf = ({ dispatch = {} }: Pick<Definition, 'dispatch'>, input: Json): Dispatch =>
  typeof dispatch === 'function' ? dispatch(input) : dispatch;

/** Undefined: the defaults apply. Throws `InvalidError` (`priority-invalid`, `limits-invalid`), which names the place. */
export function checkedDispatch(
  definition: Pick<Definition, 'name' | 'version' | 'dispatch'>,
  input: Json,
  asked: Priority | undefined,
): Dispatch | undefined {
  const said = dispatchOf(definition, input);
  const title = `${definition.name} v${definition.version}`;
  const priority = asked ?? said.priority;
  if (priority !== undefined && !PRIORITIES.includes(priority)) {
    const where = asked === undefined ? `${title}, priority` : 'priority';
    throw new InvalidError('priority-invalid', `${where}: give a whole number from 1 (first) to 5 (last).`);
  }
  const limits = said.limits ?? [];
  if (!Array.isArray(limits) || limits.length > DISPATCH_LIMITS_MAX_COUNT) {
    refuse(title, 'limits', `return a list of at most ${DISPATCH_LIMITS_MAX_COUNT}`);
  }
  for (const [index, limit] of limits.entries()) checkLimit(title, `limits[${index}]`, limit);
  if (new Set(limits.map(({ scope = 'tenant', key }) => `${scope} ${key}`)).size < limits.length) {
    refuse(title, 'limits', 'name each key once');
  }
  if (priority === undefined && limits.length === 0) return undefined;
  return { ...(priority !== undefined && { priority }), ...(limits.length > 0 && { limits }) };
}

function checkLimit(title: string, where: string, limit: DispatchLimit): void {
  const { key, scope, concurrency, rate } = limit ?? {};
  if (typeof key !== 'string' || key === '' || key.length > LIMIT_KEY_MAX_CHARS || /\p{Cc}/u.test(key)) {
    refuse(title, `${where}.key`, `give a text of 1 to ${LIMIT_KEY_MAX_CHARS} characters without control characters`);
  }
  if (scope !== undefined && scope !== 'tenant' && scope !== 'fleet')
    refuse(title, `${where}.scope`, "give 'tenant' or 'fleet'");
  if (concurrency === undefined && rate === undefined) refuse(title, where, 'give concurrency, or rate, or both');
  if (concurrency !== undefined && !isCount(concurrency, LIMIT_CONCURRENCY_MAX_COUNT)) {
    refuse(title, `${where}.concurrency`, `give a whole number from 1 to ${LIMIT_CONCURRENCY_MAX_COUNT}`);
  }
  if (rate === undefined) return;
  if (!isCount(rate?.count, LIMIT_RATE_MAX_COUNT)) {
    refuse(title, `${where}.rate.count`, `give a whole number from 1 to ${LIMIT_RATE_MAX_COUNT}`);
  }
  if (!isCount(rate.perMs, LIMIT_RATE_PERIOD_MAX_MS)) {
    refuse(title, `${where}.rate`, 'give a period of a millisecond to seven days');
  }
}

const isCount = (value: unknown, max: number): boolean =>
  Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= max;

function refuse(title: string, where: string, what: string): never {
  throw new InvalidError('limits-invalid', `${title}, ${where}: ${what}.`, { path: where });
}
