/** Owns the part of a definition about when its workflows get a worker: their priority, and limits by any key. */

import {
  type Dispatch,
  type DispatchLimit,
  InvalidError,
  type Json,
  type Priority,
  parseDuration,
} from '@tidemark/core';
import type { Definition } from '@tidemark/runtime';

/** Most workflows of one key at work at once, or beginning in a period. */
export interface Limit {
  /** The limited thing, such as `customer:42`; stored readable, so no secret. */
  readonly key: string;
  /** Whose workflows count together: `tenant` (default), or `fleet`: those of all tenants. */
  readonly scope?: 'tenant' | 'fleet' | undefined;
  /** Workflows at work at once; one that waits for a signal, a timer or a person isn't at work. */
  readonly concurrency?: number | undefined;
  /** Workflows that begin, at most `count` in any period of `per`: `90s`, `15m`, `36h`, `7d`, or milliseconds. */
  readonly rate?: { readonly count: number; readonly per: string | number } | undefined;
}

/** The part of a spec about dispatching its workflows, its type parameters forgotten. */
export interface DispatchSpec {
  readonly priority?: Priority | ((input: Json) => Priority) | undefined;
  readonly limits?: readonly Limit[] | ((input: Json) => readonly Limit[]) | undefined;
}

export const DISPATCH_MEMBERS = ['priority', 'limits'];

/** Undefined where the definition sets nothing. The values are checked when a workflow starts. */
export function dispatchDefinition({ priority, limits }: DispatchSpec): Definition['dispatch'] {
  if (priority === undefined && limits === undefined) return undefined;
  const of = (first: unknown, said: unknown): Dispatch => ({
    priority: first as Priority | undefined,
    // The check at the start reports anything but a list.
    limits: Array.isArray(said) ? said.map(limitOf) : (said as undefined),
  });
  if (typeof priority !== 'function' && typeof limits !== 'function') return of(priority, limits);
  return (input) =>
    of(
      typeof priority === 'function' ? priority(input) : priority,
      typeof limits === 'function' ? limits(input) : limits,
    );
}

function limitOf({ rate, ...limit }: Limit): DispatchLimit {
  if (rate === undefined) return limit;
  const perMs = typeof rate.per === 'string' ? parseDuration(rate.per) : rate.per;
  if (perMs !== undefined) return { ...limit, rate: { count: rate.count, perMs } };
  throw new InvalidError(
    'duration-invalid',
    `limits, key ${JSON.stringify(limit.key)}, rate.per: give a whole number and a unit, such as '90s', '15m', '36h' or '7d', or milliseconds.`,
  );
}
