/**
 * Owns the jobs of one route that wait for a worker, and which of them is next: the highest priority first; within one, tenants in turn; of
 * one tenant, first come first served. A workflow and Lamport time has one job at a time.
 */

import { PRIORITIES, PRIORITY_DEFAULT, type Priority, type TenantId } from '@tidemark/core';
import type { Job } from '@tidemark/ports';

const identityOf = (job: Job): string => `${job.lamport} ${job.workflow}`;

const priorityOf = ({ dispatch }: Job): Priority => dispatch?.priority ?? PRIORITY_DEFAULT;

export class WaitingLine {
  readonly definition: string;
  /** Jobs in line, and jobs that wait aside for a limit. */
  readonly #identities = new Set<string>();
  /** For each priority, the tenants with jobs in line, whose turn is next first. */
  readonly #classes = new Map<Priority, Map<TenantId, TenantLine>>(PRIORITIES.map((priority) => [priority, new Map()]));

  constructor(definition: string) {
    this.definition = definition;
  }

  get length(): number {
    return this.#identities.size;
  }

  /** False when such a job waits already. */
  add(job: Job): boolean {
    const identity = identityOf(job);
    if (this.#identities.has(identity)) return false;
    this.#identities.add(identity);
    this.#lineOf(job).push(job);
    return true;
  }

  /** Puts a job back in front of its tenant's others: it has waited aside, or was taken and can't begin. */
  giveBack(job: Job): void {
    this.#lineOf(job).unshift(job);
  }

  /** Returns the next job, which still counts as waiting until it has begun; skips the given tenants. */
  next(omitted?: ReadonlySet<TenantId>): Job | undefined {
    for (const tenants of this.#classes.values()) {
      for (const [tenant, line] of tenants) {
        if (omitted?.has(tenant)) continue;
        const job = line.shift()!;
        // The tenant's turn is over, whether or not it has more jobs.
        tenants.delete(tenant);
        if (line.length > 0) tenants.set(tenant, line);
        return job;
      }
    }
    return undefined;
  }

  begun(job: Job): void {
    this.#identities.delete(identityOf(job));
  }

  #lineOf(job: Job): TenantLine {
    const tenants = this.#classes.get(priorityOf(job))!;
    const known = tenants.get(job.tenant);
    if (known !== undefined) return known;
    const line = new TenantLine();
    tenants.set(job.tenant, line);
    return line;
  }
}

/** First in, first out, at a constant cost; jobs that were given back come first. */
class TenantLine {
  #back: Job[] = [];
  #from = 0;
  readonly #front: Job[] = [];

  get length(): number {
    return this.#front.length + this.#back.length - this.#from;
  }

  push(job: Job): void {
    this.#back.push(job);
  }

  unshift(job: Job): void {
    this.#front.push(job);
  }

  shift(): Job | undefined {
    if (this.#front.length > 0) return this.#front.pop();
    const job = this.#back[this.#from];
    if (job === undefined) return undefined;
    this.#from += 1;
    // Cuts the spent half: once in as many takes.
    if (this.#from * 2 > this.#back.length) {
      this.#back = this.#back.slice(this.#from);
      this.#from = 0;
    }
    return job;
  }
}
