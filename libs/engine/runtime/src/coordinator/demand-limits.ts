/**
 * Owns the estimate of how many workflows that wait for their limits (decision 0031) may begin now, from those known to run and to have
 * begun. The queue decides; this only estimates, without asking it. A workflow that is not known to run makes the estimate too high. A
 * beginning counts from when it is seen, up to two seconds late for partitions of other coordinators; a rate by the second can then be
 * underestimated for as long.
 */

import type { Dispatch, DispatchLimit, TenantId } from '@tidemark/core';

/** The limits of one workflow; equal limits have equal ids. */
export interface Limits {
  readonly id: string;
  readonly all: readonly Limit[];
}

interface Limit extends Pick<DispatchLimit, 'concurrency' | 'rate'> {
  /** Workflows with the same base are counted together. */
  readonly base: string;
  readonly key: string;
}

/** Null: none. A workflow that has begun counts against no rate again. */
export function limitsOf(dispatch: Dispatch | undefined, tenant: TenantId, epoch: number): Limits | null {
  const all = (dispatch?.limits ?? []).flatMap((limit): readonly Limit[] => {
    const { concurrency } = limit;
    const rate = epoch === 0 ? limit.rate : undefined;
    return concurrency === undefined && rate === undefined
      ? []
      : [{ base: baseOf(tenant, limit), key: limit.key, concurrency, rate }];
  });
  return all.length === 0 ? null : { id: JSON.stringify(all), all };
}

/** Distinct for distinct limits, whatever characters the names have. */
const baseOf = (tenant: TenantId, { scope, key }: DispatchLimit): string =>
  scope === 'fleet' ? `* ${key}` : `${tenant.length} ${tenant} ${key}`;

interface Begun {
  readonly sinceMs: number;
  readonly perMs: number;
  count: number;
}

export class Beginnings {
  readonly #begun = new Map<string, Begun>();

  /** Counts a workflow with these limits that was claimed for the first time. */
  add({ all }: Limits, nowMs: number): void {
    for (const { base, rate } of all) {
      if (rate === undefined) continue;
      const known = this.#begun.get(base);
      const { perMs } = rate;
      if (known !== undefined && nowMs - known.sinceMs < known.perMs) known.count++;
      else this.#begun.set(base, { sinceMs: nowMs, perMs, count: 1 });
    }
  }

  /** The beginnings of the current periods, by limit. Counts of past periods are dropped. */
  lately(nowMs: number): ReadonlyMap<string, number> {
    for (const [base, { sinceMs, perMs }] of this.#begun) if (nowMs - sinceMs >= perMs) this.#begun.delete(base);
    return new Map(Array.from(this.#begun, ([base, { count }]) => [base, count]));
  }
}

/** The room that limits leave, as it is given away. */
export class Room {
  readonly #running = new Map<string, number>();
  readonly #begun: Map<string, number>;

  constructor(begun: ReadonlyMap<string, number>) {
    this.#begun = new Map(begun);
  }

  runs({ all }: Limits, count: number): void {
    for (const { base } of all) add(this.#running, base, count);
  }

  /** The key of the first limit that leaves no room for one more. */
  full({ all }: Limits): string | undefined {
    return all.find(
      ({ base, concurrency, rate }) =>
        (this.#running.get(base) ?? 0) >= (concurrency ?? Number.POSITIVE_INFINITY) ||
        (this.#begun.get(base) ?? 0) >= (rate?.count ?? Number.POSITIVE_INFINITY),
    )?.key;
  }

  /** How many of the waiting workflows may begin; their room is then taken. */
  take(limits: Limits, waitingCount: number): number {
    let count = waitingCount;
    for (const { base, concurrency = Number.POSITIVE_INFINITY, rate } of limits.all) {
      count = Math.min(count, concurrency - (this.#running.get(base) ?? 0));
      if (rate !== undefined) count = Math.min(count, rate.count - (this.#begun.get(base) ?? 0));
    }
    if (count <= 0) return 0;
    this.runs(limits, count);
    for (const { base, rate } of limits.all) if (rate !== undefined) add(this.#begun, base, count);
    return count;
  }
}

function add(counts: Map<string, number>, base: string, count: number): void {
  counts.set(base, (counts.get(base) ?? 0) + count);
}
