/**
 * Owns the judgement of who counts as alive, and the texts that it reads: beats, leases, adverts. It is pure. Unreadable texts are skipped
 * or count as nothing, since other versions may write them.
 *
 * L1 A beat within its ttl is alive, unless a coordinator reported that the holder's last connection to it closed after that beat, without
 *    a farewell or a return, and so did every other living coordinator to which the beat claims a connection. So a cut to one of several
 *    coordinators is nobody's death, and the last one to report needs to ask nobody.
 * L2 A beat past its ttl and within its stall time is alive while a connection stands: to this coordinator, or as the beat says to another
 *    living one that reported no close. So a blocked event loop does not cost a lease at once.
 * L3 A holder without a beat (Redis was flushed, or the holder can't reach it) is alive for its stall time while it is connected to this
 *    coordinator.
 */

import type { Epoch, HolderId, WorkflowId } from '@tidemark/core';
import type { Announcement, ReportedLease } from '@tidemark/ports';
import type { PresenceAdvert } from './presence-client.ts';
import { parsed } from './route-queue.ts';

/** Longest time after a process's end at which something that it sent still reaches Redis, in milliseconds. */
export const PRESENCE_SLACK_MS = 25;

export interface Beat {
  readonly ageMs: number;
  readonly ttlMs: number;
  readonly stallMs: number;
  /** Names the version of its leases. */
  readonly number: string;
  /** Coordinators to which it claims a connection. */
  readonly standing: readonly string[];
}

/** By living coordinator: whose last connection there closed, and how many milliseconds ago. */
export type Words = ReadonlyMap<string, ReadonlyMap<HolderId, number>>;

export interface Presence {
  readonly isConnected: boolean;
  /** Other living coordinators. */
  readonly others: ReadonlySet<string>;
  /** Time since its last beat, and how long that may be while it is connected. */
  readonly unseenMs: number;
  readonly stallMs: number;
}

export function isAlive(holder: HolderId, beat: Beat | undefined, words: Words, presence: Presence): boolean {
  if (beat === undefined) return presence.isConnected && presence.unseenMs <= presence.stallMs;
  if (presence.isConnected) return true;
  const hasClosed = (coordinator: string): boolean => {
    const closedForMs = words.get(coordinator)?.get(holder);
    // A beat sent before the end may have reached Redis a little after it.
    return closedForMs !== undefined && beat.ageMs + PRESENCE_SLACK_MS >= closedForMs;
  };
  const isGone = [...words.keys()].some(hasClosed) && beat.standing.every((id) => !words.has(id) || hasClosed(id));
  if (isGone) return false;
  return beat.ageMs < beat.ttlMs || beat.standing.some((id) => presence.others.has(id) && !hasClosed(id));
}

/**
 * A coordinator's report: holder and age of the close in turn. `AT WORD` in Redis. Those of them that are gone for certain come last, in
 * place of the age of no holder.
 */
export const packWord = (closedForMs: ReadonlyMap<HolderId, number>, ended: readonly HolderId[] = []): string =>
  JSON.stringify([...[...closedForMs].flat(), ...(ended.length === 0 ? [] : ['', ended])]);

/** What the coordinators report: who closed, and who is gone for certain. */
export interface Reports {
  readonly words: Words;
  readonly ended: ReadonlySet<HolderId>;
}

/** Parses coordinator and report in turn. */
export function parseWords(texts: readonly string[], nowMs: number): Reports {
  const ended = new Set<HolderId>();
  const words = new Map<string, ReadonlyMap<HolderId, number>>();
  for (let index = 0; index + 1 < texts.length; index += 2) {
    const text = texts[index + 1]!;
    const end = text.indexOf(' ');
    const sinceMs = Math.max(0, nowMs - Number(text.slice(0, end)));
    const value = parsed(text.slice(end + 1));
    const closed = new Map<HolderId, number>();
    for (let at = 0; Array.isArray(value) && at + 1 < value.length; at += 2) {
      const [holder, said] = [value[at], value[at + 1]];
      if (holder !== '') closed.set(holder as HolderId, Number(said) + sinceMs);
      else if (Array.isArray(said)) for (const one of said) ended.add(one as HolderId);
    }
    words.set(texts[index]!, closed);
  }
  return { words, ended };
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

/** What a holder announced about itself. */
export interface HolderReport {
  readonly leases: ReadonlyMap<WorkflowId, Epoch>;
  readonly announced: Announcement | undefined;
}

/**
 * Number, then workflow and epoch in turn: a flat array is short and quick to parse. The announcement comes last, in place of the epoch of
 * no workflow.
 */
export const packLeases = (leases: readonly ReportedLease[], announced?: Announcement): string =>
  JSON.stringify([
    ...leases.flatMap((lease) => [lease.workflow, lease.epoch]),
    ...(announced === undefined ? [] : ['', announced]),
  ]);

export function unpackLeases(packed: string): HolderReport {
  const leases = new Map<WorkflowId, Epoch>();
  let announced: Announcement | undefined;
  const values = parsed(packed);
  if (!Array.isArray(values)) return { leases, announced };
  for (let index = 0; index + 1 < values.length; index += 2) {
    if (values[index] === '') announced = announcementIn(values[index + 1]);
    else leases.set(values[index] as WorkflowId, values[index + 1] as Epoch);
  }
  return { leases, announced };
}

function announcementIn(value: unknown): Announcement | undefined {
  const { build, serves, routes, concurrency } = (value ?? {}) as Partial<Announcement>;
  const isTexts = (of: unknown): boolean => Array.isArray(of) && of.every((key) => typeof key === 'string');
  if (!isTexts(serves) || !isTexts(routes)) return undefined;
  return {
    ...(typeof build === 'string' && { build }),
    ...(typeof concurrency === 'number' && { concurrency }),
    ...{ serves: serves!, routes: routes! },
  };
}

export function parseAdverts(texts: readonly (string | number)[]): readonly PresenceAdvert[] {
  return texts.flatMap((text) => {
    const { id, host, port, token } = (parsed(String(text)) ?? {}) as Partial<PresenceAdvert>;
    const isWhole = typeof id === 'string' && typeof host === 'string' && typeof token === 'string';
    return isWhole && Number.isInteger(port) ? [{ id, host, port: port!, token }] : [];
  });
}
