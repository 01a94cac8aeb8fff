/**
 * Owns the way of jobs into Redis. Calls made while a flush is under way go out together with the next (group commit).
 * A job is in Redis, or its identity was waiting there already, when its `enqueue` resolves. Must not wait for ever: an
 * absent or stuck server ends in `UnavailableError`.
 */

import { randomBytes } from 'node:crypto';
import { LimitError } from '@tidemark/core';
import { type Job, type Route, routeKey, type Telemetry } from '@tidemark/ports';
import { Queue } from 'bullmq';
import type { Connection } from './connection.ts';
import type { QueueLimits } from './limits.ts';
import {
  definitionName,
  jobIdentity,
  type ParcelData,
  packJobs,
  parseRouteName,
  queueName,
  routeName,
} from './parcel.ts';
import { release, reserve, waitingCount } from './waiting-index.ts';

/** One BullMQ job to add. */
interface Parcel {
  readonly name: string;
  readonly data: ParcelData;
  readonly opts: { readonly jobId: string };
}

interface Batch {
  readonly jobs: readonly Job[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Type of the key that holds a route's index, beside BullMQ's own. */
const INDEX = 'waiting-jobs';

export const indexKeyOf = (queue: { toKey(type: string): string }): string => queue.toKey(INDEX);

export class Producer {
  readonly #connection: Connection;
  readonly #keyPrefix: string;
  readonly #limits: QueueLimits;
  readonly #telemetry: Telemetry;
  readonly #queues = new Map<string, Queue>();
  readonly #tag = randomBytes(6).toString('base64url');
  #flushes = 0;
  #pending: Batch[] = [];
  #pendingCount = 0;
  #flushing: Promise<void> | undefined;

  constructor(connection: Connection, keyPrefix: string, limits: QueueLimits, telemetry: Telemetry) {
    this.#connection = connection;
    this.#keyPrefix = keyPrefix;
    this.#limits = limits;
    this.#telemetry = telemetry;
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
      const queue = this.#queue({ definition, ...route });
      const keys = { indexKey: indexKeyOf(queue), waitKey: queue.keys.wait!, activeKey: queue.keys.active! };
      return waitingCount(redis, keys, this.#limits.reservationMs);
    });
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  }

  /** Names the routes on which jobs of the definition were sent. */
  #routesKey(definition: string): string {
    return `${this.#keyPrefix}:${definitionName(definition)}:routes`;
  }

  /** What is pending still goes out. */
  async close(): Promise<void> {
    await this.#flushing;
    await Promise.allSettled([...this.#queues.values()].map((queue) => queue.close()));
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

  /** The calls whose jobs fit in one flush; one call at least. */
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
    const span = this.#telemetry.span('jobs.enqueue', { jobs: jobs.length });
    try {
      await this.#connection.whenReady(this.#limits.connectTimeoutMs);
      await this.#connection.bounded(this.#limits.commandTimeoutMs, async () => {
        const byRoute = Map.groupBy(jobs, routeKey);
        await Promise.all([...byRoute.values()].map((group) => this.#add(group[0]!, group)));
      });
    } catch (error) {
      span.fail(error);
      throw error;
    } finally {
      span.end();
    }
  }

  async #add(route: Route, jobs: readonly Job[]): Promise<void> {
    const queue = this.#queue(route);
    const indexKey = indexKeyOf(queue);
    const identities = jobs.map(jobIdentity);
    const { redis } = this.#connection;
    const tag = `${this.#tag}${(this.#flushes++).toString(36)}`;
    const options = { indexKey, parcelKeyPrefix: queue.toKey(''), tag, ...this.#limits };
    const { parcelIdPrefix, jobsPerParcel, fresh } = await reserve(redis, options, identities);
    if (fresh.length === 0) return;
    const parcels: Parcel[] = [];
    for (let start = 0; start < fresh.length; start += jobsPerParcel) {
      const carried = fresh.slice(start, start + jobsPerParcel).map((index) => jobs[index]!);
      const jobId = `${parcelIdPrefix}${parcels.length}`;
      parcels.push({ name: 'jobs', data: packJobs(carried), opts: { jobId } });
    }
    try {
      // Every time, since a flushed server knows of none.
      await Promise.all([queue.addBulk(parcels), redis.sadd(this.#routesKey(route.definition), routeName(route))]);
    } catch (error) {
      const reserved = fresh.map((index) => identities[index]!);
      release(redis, indexKey, reserved).catch(() => {});
      throw error;
    }
  }

  #queue(route: Route): Queue {
    const name = queueName(route);
    const known = this.#queues.get(name);
    if (known) return known;
    const queue = new Queue(name, {
      connection: this.#connection.redis,
      prefix: this.#keyPrefix,
      // BullMQ would print a warning about maxmemory-policy; jobs are hints, so an evicted one is no loss.
      skipVersionCheck: true,
      // Nobody reads BullMQ's event stream; keep it as short as Redis can.
      streams: { events: { maxLen: 0 } },
      defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
    });
    queue.on('error', () => {});
    this.#queues.set(name, queue);
    return queue;
  }
}
