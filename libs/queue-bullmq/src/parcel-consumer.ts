/**
 * Owns the way of jobs out of Redis. One loop per route takes parcels; a parcel is done with as soon as its jobs
 * have begun (they are hints: nothing is gained by holding them, and a dead worker would hold them from others). What
 * exceeds the free slots goes back to the front of the queue. Never more than `concurrency` jobs run.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type ConsumeOptions, type Consumer, type Job, type Route, routeKey, type Telemetry } from '@tidemark/ports';
import { type Job as Parcel, Worker } from 'bullmq';
import { type Connection, type Endable, endNow } from './connection.ts';
import type { QueueLimits } from './limits.ts';
import { jobIdentity, packJobs, queueName, unpackJobs } from './parcel.ts';
import { indexKeyOf } from './producer.ts';
import { Slots } from './slots.ts';
import { release } from './waiting-index.ts';

export interface ConsumerSetting {
  readonly connection: Connection;
  readonly keyPrefix: string;
  readonly limits: QueueLimits;
  readonly telemetry: Telemetry;
}

export class ParcelConsumer implements Consumer {
  readonly #setting: ConsumerSetting;
  readonly #handle: (job: Job) => Promise<void>;
  readonly #slots: Slots;
  readonly #token = randomUUID();
  readonly #workers: Worker[] = [];
  /** The connections on which the workers block; BullMQ opens them. */
  readonly #blocking: Endable[] = [];
  readonly #underWay = new Set<Promise<void>>();
  readonly #answers = new Set<Promise<unknown>>();
  readonly #stopped = new AbortController();
  #loops: Promise<unknown> = Promise.resolve();
  #pausing: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(setting: ConsumerSetting, options: ConsumeOptions, handle: (job: Job) => Promise<void>) {
    this.#setting = setting;
    this.#handle = handle;
    this.#slots = new Slots(options.concurrency);
  }

  /** Resolves when every queue's connection stands; throws `UnavailableError`. */
  async start(routes: readonly Route[]): Promise<void> {
    const { connection, limits } = this.#setting;
    await connection.whenReady(limits.connectTimeoutMs);
    const different = new Map(routes.map((route) => [routeKey(route), route]));
    const workers = [...different.values()].map((route) => [route, this.#worker(route)] as const);
    await connection.bounded(limits.connectTimeoutMs, () =>
      Promise.all(workers.map(([, worker]) => this.#whenReady(worker))),
    );
    this.#loops = Promise.all(workers.map(([route, worker]) => this.#consume(route, worker)));
  }

  pause(): Promise<void> {
    this.#pausing ??= this.#stopTaking();
    return this.#pausing;
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      await this.pause();
      while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
      await within(this.#setting.limits.closeWaitMs, Promise.allSettled(this.#answers));
      this.#setting.connection.close();
      await this.#loops;
    })();
    return this.#closing;
  }

  async #stopTaking(): Promise<void> {
    this.#stopped.abort();
    this.#slots.wake();
    // By force: an ordinary close would wait behind the blocking command.
    const closed = this.#workers.map((worker) => worker.close(true));
    for (const client of this.#blocking) endNow(client);
    await within(this.#setting.limits.closeWaitMs, Promise.allSettled(closed));
    await within(this.#setting.limits.closeWaitMs, this.#loops);
  }

  #worker(route: Route): Worker {
    const { connection, keyPrefix, limits } = this.#setting;
    const worker = new Worker(queueName(route), null, {
      connection: connection.redis,
      prefix: keyPrefix,
      autorun: false,
      skipVersionCheck: true,
      lockDuration: limits.parcelLockMs,
      stalledInterval: limits.stalledCheckMs,
      // A parcel that was left in the active list comes back as often as that happens; it holds hints.
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      drainDelay: limits.idleBlockMs / 1_000,
    });
    worker.on('error', () => {});
    this.#workers.push(worker);
    return worker;
  }

  async #whenReady(worker: Worker): Promise<void> {
    await worker.waitUntilReady();
    const client = await worker.getBackend().blockingClient;
    if (!client) return;
    // BullMQ stops listening when it closes, and the client would then print what it has to say.
    client.on('error', () => {});
    this.#blocking.push(client);
  }

  async #consume(route: Route, worker: Worker): Promise<void> {
    const { signal } = this.#stopped;
    await worker.startStalledCheckTimer();
    while (!signal.aborted) {
      await this.#slots.available();
      try {
        const parcel = await worker.getNextJob(this.#token, { block: true });
        if (parcel) this.#deal(route, worker, parcel);
      } catch {
        await delay(this.#setting.limits.errorPauseMs, undefined, { signal }).catch(() => {});
      }
    }
  }

  /** Begins as many of the parcel's jobs as there are slots and answers BullMQ, without waiting for either. */
  #deal(route: Route, worker: Worker, parcel: Parcel): void {
    const jobs = unpackJobs(route, parcel.data);
    const room = this.#stopped.signal.aborted ? 0 : this.#slots.free;
    const taken = jobs.slice(0, room);
    for (const job of taken) this.#begin(job);
    const rest = jobs.slice(room);
    const { redis } = this.#setting.connection;
    this.#answer(release(redis, indexKeyOf(worker), taken.map(jobIdentity)));
    if (rest.length === 0) this.#answer(parcel.moveToCompleted(null, this.#token, false));
    else {
      if (taken.length > 0) this.#answer(parcel.updateData(packJobs(rest)));
      this.#answer(parcel.moveToWait(this.#token));
    }
  }

  #begin(job: Job): void {
    this.#slots.take();
    const run: Promise<void> = this.#run(job).finally(() => {
      this.#slots.give();
      this.#underWay.delete(run);
    });
    this.#underWay.add(run);
  }

  async #run(job: Job): Promise<void> {
    try {
      await this.#handle(job);
    } catch (error) {
      const span = this.#setting.telemetry.span('jobs.handler-failed', { definition: job.definition });
      span.fail(error);
      span.end();
    }
  }

  /** An answer that fails costs nothing: the parcel is gone, or BullMQ brings it back. */
  #answer(reply: Promise<unknown>): void {
    const settled = reply.catch(() => {}).finally(() => this.#answers.delete(settled));
    this.#answers.add(settled);
  }
}

/** Resolves when the work does, or after the time. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const timer = new AbortController();
  await Promise.race([work, delay(ms, undefined, { signal: timer.signal }).catch(() => {})]);
  timer.abort();
}
