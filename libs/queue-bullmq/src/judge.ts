/**
 * Owns who counts as alive, and the texts from which that is judged: beats, leases, adverts. Pure; what can't be read is
 * left out or counts as nothing, since other versions may write it.
 *
 * L1 A beat within its ttl is alive, unless the last connection here closed after it, without a farewell or a return.
 * L2 A beat past its ttl and within its stall time is alive while a connection stands: here, or by its word with another
 *    coordinator that lives. So a blocked event loop costs nobody a lease at once.
 * L3 A holder without a beat (Redis was flushed, or it can't reach it) is alive for its stall time while it is connected here.
 */

import type { Epoch, WorkflowId } from '@tidemark/core';
import type { HeldLease } from '@tidemark/ports';
import { PRESENCE_SLACK_MS } from './limits.ts';
import type { PresenceAdvert } from './presence-client.ts';

export interface Beat {
  readonly ageMs: number;
  readonly ttlMs: number;
  readonly stallMs: number;
  /** Names the version of its leases. */
  readonly number: string;
  /** Coordinators to which it says that it is connected. */
  readonly standing: readonly string[];
}

export interface Presence {
  readonly isConnected: boolean;
  /** Since its last connection here closed and the grace passed, as of when the beats were asked for. */
  readonly closedForMs: number | undefined;
  /** Other coordinators that live. */
  readonly others: ReadonlySet<string>;
  /** Since its last beat, and how long that may be while it is connected. */
  readonly unseenMs: number;
  readonly stallMs: number;
}

export function isAlive(beat: Beat | undefined, presence: Presence): boolean {
  if (beat === undefined) return presence.isConnected && presence.unseenMs <= presence.stallMs;
  // What was sent before the end may have come to Redis a little after it.
  if (presence.closedForMs !== undefined && beat.ageMs + PRESENCE_SLACK_MS >= presence.closedForMs) return false;
  if (beat.ageMs < beat.ttlMs || presence.isConnected) return true;
  return beat.standing.some((id) => presence.others.has(id));
}

/** `AT TTL STALL NUMBER STANDING`. */
export function parseBeat(text: string, nowMs: number): Beat {
  const [at, ttl, stall, number = '', standing = ''] = text.split(' ');
  return {
    ageMs: Math.max(0, nowMs - Number(at)),
    ttlMs: Number(ttl),
    stallMs: Number(stall),
    number,
    standing: standing === '' ? [] : standing.split(','),
  };
}

/** Number, then workflow and epoch in turn: a flat array is short and quick to parse. */
export const packLeases = (leases: readonly HeldLease[]): string =>
  JSON.stringify(leases.flatMap((lease) => [lease.workflow, lease.epoch]));

export function unpackLeases(packed: string): Map<WorkflowId, Epoch> {
  const leases = new Map<WorkflowId, Epoch>();
  const parsed = parse(packed);
  if (!Array.isArray(parsed)) return leases;
  for (let index = 0; index + 1 < parsed.length; index += 2) {
    leases.set(parsed[index] as WorkflowId, parsed[index + 1] as Epoch);
  }
  return leases;
}

export function parseAdverts(texts: readonly (string | number)[]): readonly PresenceAdvert[] {
  return texts.flatMap((text) => {
    const { id, host, port, token } = (parse(String(text)) ?? {}) as Partial<PresenceAdvert>;
    const isWhole = typeof id === 'string' && typeof host === 'string' && typeof token === 'string';
    return isWhole && Number.isInteger(port) ? [{ id, host, port: port!, token }] : [];
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
