/** Owns sums over workflows with work, by whose work they are: a change of one workflow costs one step, a sum as many as there are queues. */

import type { HolderId } from '@tidemark/core';
import type { Queued } from './held-queues.ts';

/** One workflow, as it counts. */
export interface Counted extends Queued {
  /** Null: nobody has it. */
  readonly holder: HolderId | null;
  /** A dead worker had it. */
  readonly isDebt: boolean;
}

interface Tally extends Queued {
  inFlightCount: number;
  waitingCount: number;
  /** Of dead workers, whose leases aren't revoked yet; and of those that are. */
  heldDebtCount: number;
  waitingDebtCount: number;
  readonly holders: Map<HolderId, number>;
}

export interface Sum {
  inFlightCount: number;
  backlogCount: number;
  recoveryDebtCount: number;
  heldCount: number;
  readonly holders: Set<HolderId>;
}

const nothing = (): Sum => ({
  inFlightCount: 0,
  backlogCount: 0,
  recoveryDebtCount: 0,
  heldCount: 0,
  holders: new Set(),
});

export class DemandTallies {
  readonly #tallies = new Map<string, Tally>();

  add({ definition, tenant, holder, isDebt }: Counted, by: 1 | -1): void {
    // Unlike for unlike pairs, whatever stands in either name.
    const key = `${tenant.length} ${tenant} ${definition}`;
    const tally: Tally = this.#tallies.get(key) ?? {
      ...{ definition, tenant, inFlightCount: 0, waitingCount: 0, heldDebtCount: 0, waitingDebtCount: 0 },
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

  /** By pool: a queue counts in each of those that it belongs to; null: in none. Of a queue that is held only what waits is held. */
  sums(
    poolsOf: (definition: string) => readonly (string | null)[],
    isHeld: (queued: Queued) => boolean,
  ): { of(pool: string | null): Readonly<Sum> } {
    const sums = new Map<string | null, Sum>();
    for (const tally of this.#tallies.values()) {
      const held = isHeld(tally);
      for (const pool of poolsOf(tally.definition)) {
        const sum = sums.get(pool) ?? nothing();
        sums.set(pool, sum);
        sum.inFlightCount += tally.inFlightCount;
        sum.recoveryDebtCount += tally.heldDebtCount + (held ? 0 : tally.waitingDebtCount);
        sum.backlogCount += held ? 0 : tally.waitingCount;
        sum.heldCount += held ? tally.waitingCount + tally.waitingDebtCount : 0;
        for (const holder of tally.holders.keys()) sum.holders.add(holder);
      }
    }
    return { of: (pool) => sums.get(pool) ?? nothing() };
  }
}
