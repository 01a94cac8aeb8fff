/**
 * Owns which workers are asked to give up runs, and how many each keeps, so that a new worker gets a share of what runs. It compares those that
 * announce the same: what one of them runs, any other may. It is pure, and what it asks for is a hint that may be lost.
 *
 * S1 Nobody is asked unless, through a whole period, one of its like had less than a share by more than the slack, and itself had more: what
 *    ends and begins by itself moves nothing, and who has a share keeps it. So coordinators that ask alike do no harm.
 * S2 Asking for what brings those with less nothing is repeated after ever longer times, so a worker that takes no jobs draws none.
 */

import type { HolderId } from '@tidemark/core';
import type { Announcement, LivenessView } from '@tidemark/ports';

/** How long workers are compared before any is asked, in milliseconds, and the longest time between asking in vain. */
export const SHARE_PERIOD_MS = 5_000;
const SHARE_WAIT_MAX_MS = 600_000;
/** How far from a share is near enough: a part of it, and a number of runs at least. */
const SHARE_SLACK = 0.2;
const SHARE_SLACK_COUNT = 2;
/** Runs that one worker is asked to give up at once, at most. */
const GIVEN_MAX_COUNT = 100;

/** How many runs a worker held in this period. */
interface Held {
  readonly holder: HolderId;
  least: number;
  most: number;
  now: number;
}

interface Asked {
  readonly atMs: number;
  readonly waitMs: number;
  /** Those with less than a share, and what they had. */
  readonly poor: string;
  readonly had: number;
}

export class FairShares {
  #held: Map<HolderId, Held> | undefined;
  #sinceMs = 0;
  #asked = new Map<string, Asked>();

  /** Receives each view; returns who keeps how many, from now on. */
  seen({ trusted, holders, announced }: Omit<LivenessView, 'isGone' | 'builds'>, nowMs: number): Map<HolderId, number> {
    const keeps = new Map<HolderId, number>();
    for (const held of this.#held?.values() ?? []) {
      const now = holders.get(held.holder)?.size;
      if (now === undefined) this.#held!.delete(held.holder);
      else Object.assign(held, { now, least: Math.min(held.least, now), most: Math.max(held.most, now) });
    }
    const isWhole = trusted && this.#held !== undefined;
    if (isWhole && nowMs - this.#sinceMs < SHARE_PERIOD_MS) return keeps;
    if (isWhole) this.#ask(announced, nowMs, keeps);
    const begin = ([holder, { size }]: readonly [HolderId, { readonly size: number }]): [HolderId, Held] => [
      holder,
      { holder, least: size, most: size, now: size },
    ];
    this.#held = trusted ? new Map(Array.from(holders, begin)) : undefined;
    this.#sinceMs = nowMs;
    return keeps;
  }

  #ask(announced: LivenessView['announced'], nowMs: number, keeps: Map<HolderId, number>): void {
    const asked = new Map<string, Asked>();
    const known = [...this.#held!.values()].filter(({ holder }) => announced.has(holder));
    for (const [kind, alike] of Map.groupBy(known, ({ holder }) => kindOf(announced.get(holder)!))) {
      const share = Math.ceil(alike.reduce((sum, { now }) => sum + now, 0) / alike.length);
      const slack = Math.max(SHARE_SLACK_COUNT, Math.ceil(share * SHARE_SLACK));
      const poor = alike.filter(({ most }) => most < share - slack);
      const rich = alike.filter(({ least }) => least > share);
      if (poor.length === 0) continue;
      const names = poor
        .map(({ holder }) => holder)
        .toSorted()
        .join(' ');
      const last = this.#asked.get(kind);
      const before = last?.poor === names ? last : undefined;
      if (rich.length === 0 || (before !== undefined && nowMs < before.atMs + before.waitMs)) {
        if (before !== undefined) asked.set(kind, before);
        continue;
      }
      const had = poor.reduce((sum, { now }) => sum + now, 0);
      const isInVain = before !== undefined && had <= before.had;
      const waitMs = isInVain ? Math.min(2 * before.waitMs, SHARE_WAIT_MAX_MS) : SHARE_PERIOD_MS;
      asked.set(kind, { atMs: nowMs, waitMs, poor: names, had });
      for (const { holder, now } of rich) keeps.set(holder, Math.max(share, now - GIVEN_MAX_COUNT));
    }
    this.#asked = asked;
  }
}

const kindOf = ({ build, serves, concurrency }: Announcement): string =>
  JSON.stringify([build, serves.toSorted(), concurrency]);
