/**
 * Owns sending jobs to Redis. Calls made while a flush is under way share the next (group commit). When `enqueue` resolves, the job is in
 * Redis, or one of its identity was waiting there already. Must not wait forever: an absent or stuck server ends in `UnavailableError`.
 */

import { LimitError } from '@tidemark/core';
import { type Job, type Route, routeKey } from '@tidemark/ports';
import type { Connection } from './connection.ts';
import { type LimitKeys, limitKeysOf } from './limit-slots.ts';
import type { QueueLimits } from './limits.ts';
import { definitionName, parseRouteName, queueName, routeName } from './route-queue.ts';
import { lineUp, waitingCount } from './waiting-line.ts';
import { WakeupSender } from './wakeup-sender.ts';

interface Batch {
  readonly jobs: readonly Job[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class Producer {
  readonly #connection: Connection;
  readonly #keyPrefix: string;
  readonly #limits: QueueLimits;
  readonly #sender: WakeupSender;
  readonly #limitKeys: LimitKeys;
  #pending: Batch[] = [];
  #pendingCount = 0;
  #flushing: Promise<void> | undefined;

  constructor(connection: Connection, keyPrefix: string, limits: QueueLimits) {
    this.#connection = connection;
    this.#keyPrefix = keyPrefix;
    this.#limits = limits;
    this.#sender = new WakeupSender(connection, keyPrefix, limits);
    this.#limitKeys = limitKeysOf(keyPrefix);
  }

  enqueue(jobs: readonly Job[]): Promise<void> {
    if (jobs.length === 0) return Promise.resolve();
    const { jobsPendingMax } = this.#limits;
    if (this.#pendingCount + jobs.length > jobsPendingMax) {
      const message = `More than ${jobsPendingMax} jobs wait to be sent to Redis`;
      return Promise.reject(new LimitError('queue-pending-jobs', message, { limit: jobsPendingMax }));
    }
    this.#pendingCount += jobs.length;
    return new Promise((resolve, reject) => {
      this.#pending.push({ jobs, resolve, reject });
      this.#flushing ??= this.#flushAll();
    });
  }

  async depth(definitions: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const { connectTimeoutMs, commandTimeoutMs } = this.#limits;
    await this.#connection.whenReady(connectTimeoutMs);
    return this.#connection.bounded(commandTimeoutMs, async () => {
      const counts = await Promise.all(definitions.map((definition) => this.#depthOf(definition)));
      return new Map(definitions.map((definition, index) => [definition, counts[index]!]));
    });
  }

  async #depthOf(definition: string): Promise<number> {
    const { redis } = this.#connection;
    const names = await redis.smembers(this.#routesKey(definition));
    const counts = names.map((name) => {
      const route = parseRouteName(name);
      if (route === undefined) return 0;
      const queue = this.#sender.queue(queueName({ definition, ...route }));
      return waitingCount(redis, queue, this.#routesKey(definition), name);
    });
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  }

  /** Records the routes on which jobs of the definition were sent, until a count finds none waiting. */
  #routesKey(definition: string): string {
    return `${this.#keyPrefix}:${definitionName(definition)}:routes`;
  }

  /** Sends what is pending before it closes. */
  async close(): Promise<void> {
    await this.#flushing;
    await this.#sender.close();
  }

  async #flushAll(): Promise<void> {
    await Promise.resolve();
    while (this.#pending.length > 0) {
      const batches = this.#nextBatches();
      try {
        await this.#flush(batches.flatMap((batch) => batch.jobs));
        for (const batch of batches) batch.resolve();
      } catch (error) {
        for (const batch of batches) batch.reject(error);
      }
    }
    this.#flushing = undefined;
  }

  /** Returns the calls whose jobs fit in one flush; at least one call. */
  #nextBatches(): Batch[] {
    let count = 0;
    let calls = 0;
    for (const batch of this.#pending) {
      if (calls > 0 && count + batch.jobs.length > this.#limits.jobsPerFlushMax) break;
      count += batch.jobs.length;
      calls += 1;
    }
    this.#pendingCount -= count;
    return this.#pending.splice(0, calls);
  }

  async #flush(jobs: readonly Job[]): Promise<void> {
    await this.#connection.whenReady(this.#limits.connectTimeoutMs);
    await this.#connection.bounded(this.#limits.commandTimeoutMs, async () => {
      const byRoute = Map.groupBy(jobs, routeKey);
      await Promise.all([...byRoute.values()].map((group) => this.#add(group[0]!, group)));
    });
  }

  async #add(route: Route, jobs: readonly Job[]): Promise<void> {
    const name = queueName(route);
    const { redis } = this.#connection;
    const wakeupCount = await lineUp(redis, this.#sender.queue(name), this.#limitKeys, jobs);
    if (wakeupCount === 0) return;
    // Names the route every time, since a flushed server knows of none. Jobs whose wake-ups don't arrive get some with the next ones.
    await Promise.all([
      this.#sender.send(name, wakeupCount),
      redis.sadd(this.#routesKey(route.definition), routeName(route)),
    ]);
  }
}
