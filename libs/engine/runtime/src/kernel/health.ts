/**
 * Owns what a process reports of its own health: named checks with reasons, from what the process already knows. It must not query a
 * server, and it reveals no address, because probes are not authenticated.
 */

import type { LoopState } from './backoff.ts';

/** A loop without progress for this long, in milliseconds, counts as hung. It is far longer than any wait for an unavailable server. */
export const UNMOVED_MAX_MS = 600_000;

export interface HealthCheck {
  readonly name: string;
  /** Why the check fails; absent when it passes. */
  readonly reason?: string;
}

export interface Health {
  /** The process can do its work when all of these pass. */
  readonly ready: readonly HealthCheck[];
  /** Only a restart can help when one of these fails. */
  readonly live: readonly HealthCheck[];
}

/** The check passes when there is no reason. */
export const check = (name: string, reason?: string | false): HealthCheck =>
  reason === undefined || reason === false ? { name } : { name, reason };

/** Checks something that has to happen regularly. `atMs` is when it last happened, on the same clock as `nowMs`. */
export function recentCheck(
  name: string,
  atMs: number | undefined,
  { nowMs, maxMs, what }: { readonly nowMs: number; readonly maxMs: number; readonly what: string },
): HealthCheck {
  if (atMs === undefined) return check(name, `${what}: not yet`);
  const agoMs = nowMs - atMs;
  return check(name, agoMs > maxMs && `${what}: not for ${seconds(agoMs)}, at most ${seconds(maxMs)}`);
}

/** Fails when a loop runs without making progress. */
export const progressCheck = (name: string, { unmovedMs = 0 }: LoopState): HealthCheck =>
  check(
    `duty ${name}`,
    unmovedMs > UNMOVED_MAX_MS &&
      `it has made no progress for ${seconds(unmovedMs)}, at most ${seconds(UNMOVED_MAX_MS)}`,
  );

/** Fails when a loop has kept failing for longer than `maxMs`. */
export const failingCheck = (name: string, { failingMs = 0 }: LoopState, maxMs: number): HealthCheck =>
  check(name, failingMs > maxMs && `it has failed for ${seconds(failingMs)}, at most ${seconds(maxMs)}`);

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`;
