/** Owns the jobs of one route that wait: first in, first out; one of the same workflow and offset at a time. */

import type { Job } from '@tidemark/ports';

const identity = (job: Job): string => `${job.offset} ${job.workflow}`;

export class WaitingLine {
  readonly definition: string;
  /** A Map keeps the order of insertion and drops from the front at a constant cost. */
  readonly #jobs = new Map<string, Job>();

  constructor(definition: string) {
    this.definition = definition;
  }

  get length(): number {
    return this.#jobs.size;
  }

  /** False when such a job waits already. */
  add(job: Job): boolean {
    const key = identity(job);
    if (this.#jobs.has(key)) return false;
    this.#jobs.set(key, job);
    return true;
  }

  take(): Job | undefined {
    for (const [key, job] of this.#jobs) {
      this.#jobs.delete(key);
      return job;
    }
    return undefined;
  }
}
