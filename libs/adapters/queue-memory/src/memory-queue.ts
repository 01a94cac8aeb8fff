/**
 * Owns the JobQueue in process memory: jobs are lost with the process, and the dispatcher sends them again from the frontier. Handlers
 * never run inside `enqueue`. Never more than `concurrency` handlers of a consumer run.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { InvalidError, LimitError, type TenantId, UnavailableError } from '@tidemark/core';
import { type ConsumeOptions, type Consumer, type Job, type JobQueue, routeKey, TenantSlots } from '@tidemark/ports';
import { LimitBoard } from './limit-board.ts';
import { WaitingLine } from './waiting-line.ts';

/** Jobs that wait in one queue, over all definitions; beyond it `enqueue` throws `LimitError`. */
export const WAITING_JOBS_MAX = 1_000_000;

export function createMemoryQueue(): JobQueue {
  return new MemoryQueue();
}

class MemoryQueue implements JobQueue {
  /** By route. */
  readonly #lines = new Map<string, WaitingLine>();
  readonly #consumers = new Set<MemoryConsumer>();
  readonly #limits = new LimitBoard();
  #dueTimer: NodeJS.Timeout | undefined;
  #waitingCount = 0;
  #serveScheduled = false;
  #closed = false;

  async enqueue(jobs: readonly Job[]): Promise<void> {
    if (this.#closed) throw new UnavailableError('queue-closed', 'The job queue is closed');
    if (this.#waitingCount + jobs.length > WAITING_JOBS_MAX) {
      throw new LimitError('queue-full', `More than ${WAITING_JOBS_MAX} jobs wait`, { limit: WAITING_JOBS_MAX });
    }
    for (const job of jobs) if (this.#line(job).add(job)) this.#waitingCount += 1;
    this.#serveSoon();
  }

  async consume(options: ConsumeOptions, handle: (job: Job) => Promise<void>): Promise<Consumer> {
    const { concurrency, routes } = options;
    if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
      throw new InvalidError('concurrency-invalid', `concurrency must be a positive integer, not ${concurrency}`);
    }
    // A job isn't part of the request in which it was sent: what it reads is nobody's answer.
    const inOwnContext = AsyncLocalStorage.snapshot();
    const begin = (job: Job): Promise<void> => inOwnContext(handle, job);
    const consumer = new MemoryConsumer([...new Set(routes.map(routeKey))], concurrency, begin, {
      freed: (job) => this.#ended(job),
      resized: () => this.#serveSoon(),
      left: () => this.#consumers.delete(consumer),
    });
    this.#consumers.add(consumer);
    this.#serveSoon();
    return consumer;
  }

  async depth(definitions: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const counts = new Map(definitions.map((each) => [each, 0]));
    for (const { definition, length } of this.#lines.values()) {
      const count = counts.get(definition);
      if (count !== undefined) counts.set(definition, count + length);
    }
    return counts;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#dueTimer);
    await Promise.all([...this.#consumers].map((consumer) => consumer.close()));
  }

  #line(job: Job): WaitingLine {
    const key = routeKey(job);
    let line = this.#lines.get(key);
    if (!line) {
      line = new WaitingLine(job.definition);
      this.#lines.set(key, line);
    }
    return line;
  }

  #serveSoon(): void {
    if (this.#serveScheduled) return;
    this.#serveScheduled = true;
    queueMicrotask(() => {
      this.#serveScheduled = false;
      this.#serve();
    });
  }

  /** Gives each consumer one job in turn, until none wants or none waits, so that no consumer starves another. */
  #serve(): void {
    let wanting = [...this.#consumers];
    while (wanting.length > 0 && this.#waitingCount > 0) {
      wanting = wanting.filter((consumer) => {
        const job = consumer.wants((route, full) => this.#next(route, full));
        if (!job) return false;
        this.#waitingCount -= 1;
        consumer.begin(job);
        return true;
      });
    }
    this.#awaitDue();
  }

  /** Returns the next job of the route that may begin, skipping full tenants; sets jobs aside whose limits are reached. */
  #next(route: string, full: ReadonlySet<TenantId> | undefined): Job | undefined {
    const line = this.#lines.get(route);
    for (let job = line?.next(full); job !== undefined; job = line!.next(full)) {
      if (!this.#limits.admit(job, performance.now())) continue;
      line!.begun(job);
      return job;
    }
    return undefined;
  }

  #ended(job: Job): void {
    this.#giveBack(this.#limits.end(job, performance.now()));
    this.#serveSoon();
  }

  #giveBack(jobs: readonly Job[]): void {
    // Reversed, so that the first ends up in front of all.
    for (const job of jobs.toReversed()) this.#line(job).giveBack(job);
  }

  /** Rates free jobs by the passing of time. */
  #awaitDue(): void {
    clearTimeout(this.#dueTimer);
    const dueAtMs = this.#limits.dueAtMs();
    if (dueAtMs === undefined || this.#closed) return;
    const pollAgain = (): void => {
      this.#giveBack(this.#limits.due(performance.now()));
      this.#serveSoon();
    };
    this.#dueTimer = setTimeout(pollAgain, Math.max(1, Math.ceil(dueAtMs - performance.now())));
    this.#dueTimer.unref();
  }
}

class MemoryConsumer implements Consumer {
  readonly #routes: readonly string[];
  readonly #slots: TenantSlots;
  readonly #handle: (job: Job) => Promise<void>;
  readonly #on: { freed(job: Job): void; resized(): void; left(): void };
  readonly #underWay = new Set<Promise<void>>();
  #next = 0;
  #paused = false;

  constructor(
    routes: readonly string[],
    concurrency: number,
    handle: (job: Job) => Promise<void>,
    on: { freed(job: Job): void; resized(): void; left(): void },
  ) {
    this.#routes = routes;
    this.#slots = new TenantSlots(concurrency);
    this.#handle = handle;
    this.#on = on;
  }

  /** Takes the next job from its routes' lines, each route in turn; none when there is no slot. */
  wants(nextOf: (route: string, full?: ReadonlySet<TenantId>) => Job | undefined): Job | undefined {
    if (this.#paused || this.#slots.free === 0) return undefined;
    const full = this.#slots.open > 0 ? undefined : this.#slots.full;
    for (let tried = 0; tried < this.#routes.length; tried += 1) {
      const route = this.#routes[this.#next]!;
      this.#next = (this.#next + 1) % this.#routes.length;
      const job = nextOf(route, full);
      if (job) return job;
    }
    return undefined;
  }

  begin(job: Job): void {
    this.#slots.take();
    this.#slots.begin(job.tenant);
    const run: Promise<void> = this.#run(job).finally(() => {
      this.#slots.end(job.tenant);
      this.#underWay.delete(run);
      this.#on.freed(job);
    });
    this.#underWay.add(run);
  }

  narrow(max: number | undefined): void {
    this.#slots.narrow(max);
    this.#on.resized();
  }

  async pause(): Promise<void> {
    this.#paused = true;
    this.#on.left();
  }

  async close(): Promise<void> {
    await this.pause();
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  /** Removes a job whichever way its handler ends; the handler reports its own failures. */
  async #run(job: Job): Promise<void> {
    try {
      await this.#handle(job);
    } catch {
      // The dispatcher sends the job again when there is still something to do.
    }
  }
}
