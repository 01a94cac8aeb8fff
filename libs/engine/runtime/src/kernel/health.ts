/**
 * Owns what a process says of its own health: checks with names and reasons, from what it knows anyway. Must not ask any server, and
 * names no address: whoever may probe a process isn't let into it.
 */

import type { LoopState } from './backoff.ts';
import { DUTY_UNMOVED_MAX_MS } from './limits.ts';

export interface HealthCheck {
  readonly name: string;
  /** Why it doesn't hold; absent: it does. */
  readonly reason?: string;
}

export interface Health {
  /** All of them hold: it can do its work now. */
  readonly ready: readonly HealthCheck[];
  /** One of them doesn't hold: only another start can help. */
  readonly live: readonly HealthCheck[];
}

/** Holds without a reason. */
export const check = (name: string, reason?: string | false): HealthCheck =>
  reason === undefined || reason === false ? { name } : { name, reason };

/** Something that has to happen again and again: `atMs` is when it last did, on the clock that tells `nowMs`. */
export function recentCheck(
  name: string,
  atMs: number | undefined,
  { nowMs, maxMs, what }: { readonly nowMs: number; readonly maxMs: number; readonly what: string },
): HealthCheck {
  if (atMs === undefined) return check(name, `${what}: not yet`);
  const agoMs = nowMs - atMs;
  return check(name, agoMs > maxMs && `${what}: not for ${seconds(agoMs)}, at most ${seconds(maxMs)}`);
}

/** A duty that is under way and doesn't move any more. */
export const dutyCheck = (name: string, { unmovedMs = 0 }: LoopState): HealthCheck =>
  check(
    `duty ${name}`,
    unmovedMs > DUTY_UNMOVED_MAX_MS &&
      `it hasn't moved for ${seconds(unmovedMs)}, at most ${seconds(DUTY_UNMOVED_MAX_MS)}`,
  );

/** A duty that fails each time. */
export const failingCheck = (name: string, { failingMs = 0 }: LoopState, maxMs: number): HealthCheck =>
  check(name, failingMs > maxMs && `it has failed for ${seconds(failingMs)}, at most ${seconds(maxMs)}`);

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`;
