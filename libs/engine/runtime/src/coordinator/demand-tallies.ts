/**
 * Owns counts of workflows with work, by queue and limits. A change of one workflow costs one step; a sum costs as many as there are
 * queues, and limit keys in them.
 */

import type { HolderId } from '@tidemark/core';
import type { Queued } from '../control/index.ts';
import { type Beginnings, type Limits, Room } from './demand-limits.ts';

/** One workflow as it is counted. */
export interface Counted extends Queued {
  /** Null: it is not leased. */
  readonly holder: HolderId | null;
  /** A dead worker had it. */
  readonly isDebt: boolean;
  /** Null: none. */
  readonly limits: Limits | null;
}

interface Tally extends Queued {
  readonly limits: Limits | null;
  inFlightCount: number;
  waitingCount: number;
  /** Workflows of dead workers whose leases are not revoked yet, and those whose leases are. */
  heldDebtCount: number;
  waitingDebtCount: number;
  readonly holders: Map<HolderId, number>;
}

export interface Sum {
  inFlightCount: number;
  backlogCount: number;
  recoveryDebtCount: number;
  heldCount: number;
  limitedCount: number;
  readonly holders: Set<HolderId>;
}

const nothing = (): Sum => ({
  inFlightCount: 0,
  backlogCount: 0,
  recoveryDebtCount: 0,
  heldCount: 0,
  limitedCount: 0,
  holders: new Set(),
});

export class DemandTallies {
  readonly #tallies = new Map<string, Tally>();

  add({ definition, tenant, holder, isDebt, limits }: Counted, by: 1 | -1): void {
    // Distinct for distinct pairs, whatever characters the names have.
    const key = `${tenant.length} ${tenant} ${definition.length} ${definition} ${limits?.id ?? ''}`;
    const tally: Tally = this.#tallies.get(key) ?? {
      ...{ definition, tenant, limits, inFlightCount: 0, waitingCount: 0, heldDebtCount: 0, waitingDebtCount: 0 },
      holders: new Map(),
    };
    if (holder === null) tally[isDebt ? 'waitingDebtCount' : 'waitingCount'] += by;
    else if (isDebt) tally.heldDebtCount += by;
    else {
      tally.inFlightCount += by;
      const count = (tally.holders.get(holder) ?? 0) + by;
      if (count === 0) tally.holders.delete(holder);
      else tally.holders.set(holder, count);
    }
    const { inFlightCount, waitingCount, heldDebtCount, waitingDebtCount } = tally;
    if (inFlightCount + waitingCount + heldDebtCount + waitingDebtCount === 0) this.#tallies.delete(key);
    else this.#tallies.set(key, tally);
  }

  /** What those that run leave of the limits. */
  room(begun: ReturnType<Beginnings['lately']>): Room {
    const room = new Room(begun);
    for (const { limits, inFlightCount } of this.#tallies.values()) {
      if (limits !== null && inFlightCount > 0) room.runs(limits, inFlightCount);
    }
    return room;
  }

  /**
   * Sums by pool. A queue counts in each pool that it belongs to; null: in none. In a paused queue only the waiting workflows count as
   * paused. Of workflows that wait for their limits, as many count as the limits allow, those of dead workers first.
   */
  sums(
    poolsOf: (definition: string) => readonly (string | null)[],
    isHeld: (queued: Queued) => boolean,
    begun: ReturnType<Beginnings['lately']> = new Map(),
  ): { of(pool: string | null): Readonly<Sum> } {
    const sums = new Map<string | null, Sum>();
    const room = this.room(begun);
    for (const tally of this.#tallies.values()) {
      const held = isHeld(tally);
      const waitingCount = tally.waitingCount + tally.waitingDebtCount;
      const { limits } = tally;
      const openCount = limits === null || held ? waitingCount : room.take(limits, waitingCount);
      const debtCount = Math.min(tally.waitingDebtCount, openCount);
      for (const pool of poolsOf(tally.definition)) {
        const sum = sums.get(pool) ?? nothing();
        sums.set(pool, sum);
        sum.inFlightCount += tally.inFlightCount;
        sum.recoveryDebtCount += tally.heldDebtCount + (held ? 0 : debtCount);
        sum.backlogCount += held ? 0 : openCount - debtCount;
        sum.heldCount += held ? waitingCount : 0;
        sum.limitedCount += waitingCount - openCount;
        for (const holder of tally.holders.keys()) sum.holders.add(holder);
      }
    }
    return { of: (pool) => sums.get(pool) ?? nothing() };
  }
}
