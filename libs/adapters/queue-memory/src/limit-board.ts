/**
 * Owns counting what runs under which limit, and the jobs that wait aside for one. A job begins only when none of its limits is reached,
 * and counts against all of them then. The board is lost with the process, as the jobs are.
 */

import type { DispatchLimit } from '@tidemark/core';
import type { Job } from '@tidemark/ports';

interface Holder {
  /** Jobs under way. */
  readonly running: Set<Job>;
  /** When the last of them began, oldest first, in milliseconds; as many as the largest rate seen counts. */
  begun: number[];
  readonly waiting: Waiting[];
}

interface Waiting {
  readonly job: Job;
  readonly limit: DispatchLimit;
}

export class LimitBoard {
  readonly #holders = new Map<string, Holder>();

  /** Begins the job, or sets it aside. */
  admit(job: Job, nowMs: number): boolean {
    const limits = job.dispatch?.limits ?? [];
    for (const limit of limits) {
      const holder = this.#holder(keyOf(job, limit));
      if (freeCount(holder, limit, nowMs) > 0) continue;
      holder.waiting.push({ job, limit });
      return false;
    }
    for (const limit of limits) {
      const holder = this.#holder(keyOf(job, limit));
      holder.running.add(job);
      if (limit.rate !== undefined) holder.begun = [...holder.begun, nowMs].slice(-limit.rate.count);
    }
    return true;
  }

  /** Ends the job. Returns the jobs to try again. */
  end(job: Job, nowMs: number): Job[] {
    const freed: Job[] = [];
    for (const limit of job.dispatch?.limits ?? []) {
      const key = keyOf(job, limit);
      const holder = this.#holders.get(key);
      if (holder === undefined) continue;
      holder.running.delete(job);
      freed.push(...this.#wake(key, holder, nowMs));
    }
    return freed;
  }

  /** Returns jobs to try again, for which enough time has passed. */
  due(nowMs: number): Job[] {
    return [...this.#holders].flatMap(([key, holder]) => this.#wake(key, holder, nowMs));
  }

  /** When `due` will return jobs; undefined: time alone frees none. */
  dueAtMs(): number | undefined {
    let earliest: number | undefined;
    for (const { waiting, begun } of this.#holders.values()) {
      const rate = waiting[0]?.limit.rate;
      if (rate === undefined) continue;
      const atMs = (begun.at(-rate.count) ?? 0) + rate.perMs;
      if (earliest === undefined || atMs < earliest) earliest = atMs;
    }
    return earliest;
  }

  #wake(key: string, holder: Holder, nowMs: number): Job[] {
    const first = holder.waiting[0];
    if (first !== undefined) {
      const woken = holder.waiting.splice(0, freeCount(holder, first.limit, nowMs));
      return woken.map(({ job }) => job);
    }
    if (holder.running.size === 0 && holder.begun.length === 0) this.#holders.delete(key);
    return [];
  }

  #holder(key: string): Holder {
    const known = this.#holders.get(key);
    if (known !== undefined) return known;
    const holder: Holder = { running: new Set(), begun: [], waiting: [] };
    this.#holders.set(key, holder);
    return holder;
  }
}

/** How many more may begin now. */
function freeCount({ running, begun }: Holder, { concurrency, rate }: DispatchLimit, nowMs: number): number {
  const slots = concurrency === undefined ? Number.POSITIVE_INFINITY : concurrency - running.size;
  if (rate === undefined) return Math.max(0, slots);
  const recent = begun.filter((atMs) => nowMs - atMs < rate.perMs).length;
  return Math.max(0, Math.min(slots, rate.count - recent));
}

/** A tenant's name holds no NUL. */
const keyOf = ({ tenant }: Job, { key, scope }: DispatchLimit): string =>
  scope === 'fleet' ? `\0${key}` : `${tenant}\0${key}`;
