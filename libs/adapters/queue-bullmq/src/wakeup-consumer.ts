/**
 * Owns taking jobs from Redis. One loop per route takes wake-ups, and for each as many of the next jobs as there are free slots. A wake-up
 * is completed as soon as those have begun: keeping it would gain nothing, and a dead worker would keep its jobs from others. Jobs beyond
 * the free slots stay in line, and the rest of the wake-up goes back. Never more than `concurrency` jobs run.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ConsumeOptions, Consumer, Job, Route } from '@tidemark/ports';
import { type Job as Wakeup, Worker } from 'bullmq';
import { type Connection, type Endable, endNow } from './connection.ts';
import { FairShareReserve } from './fair-share-reserve.ts';
import { endSlots, type LimitKeys, limitKeysOf, limitsOf, renewSlots, sweepSlots, type Woken } from './limit-slots.ts';
import type { QueueLimits } from './limits.ts';
import { distinctRoutes, queueName, unpackJob } from './route-queue.ts';
import { Slots } from './slots.ts';
import { deal } from './waiting-line.ts';
import { countOf, WakeupSender } from './wakeup-sender.ts';

/** Most wake-ups of a route that are taken at once. */
const WAKEUPS_AT_ONCE_MAX = 16;

export interface ConsumerSetting {
  readonly connection: Connection;
  readonly keyPrefix: string;
  readonly limits: QueueLimits;
}

export class WakeupConsumer implements Consumer {
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
  readonly #sender: WakeupSender;
  readonly #limitKeys: LimitKeys;
  /** Jobs under way that count against limits. */
  readonly #limited = new Set<{ readonly queueName: string; readonly job: Job }>();
  #reserve: FairShareReserve | undefined;
  #sweepTimer: NodeJS.Timeout | undefined;
  #sweepAtMs = Number.POSITIVE_INFINITY;
  #renewedAtMs = performance.now();
  #loops: Promise<unknown> = Promise.resolve();
  #pausing: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(setting: ConsumerSetting, options: ConsumeOptions, handle: (job: Job) => Promise<void>) {
    this.#setting = setting;
    this.#handle = handle;
    this.#slots = new Slots(options.concurrency);
    this.#sender = new WakeupSender(setting.connection, setting.keyPrefix, setting.limits);
    this.#limitKeys = limitKeysOf(setting.keyPrefix);
  }

  /** Resolves when every queue's connection stands; throws `UnavailableError`. */
  async start(routes: readonly Route[]): Promise<void> {
    const { connection, limits } = this.#setting;
    await connection.whenReady(limits.connectTimeoutMs);
    const workers = distinctRoutes(routes).map((route) => [route, this.#worker(route)] as const);
    await connection.bounded(limits.connectTimeoutMs, () =>
      Promise.all(workers.map(([, worker]) => this.#whenReady(worker))),
    );
    this.#sweepIn(limits.limitSweepMs);
    this.#reserve = new FairShareReserve({
      ...{ redis: connection.redis, limits, limitKeys: this.#limitKeys, slots: this.#slots, routes: workers },
      stopped: this.#stopped.signal,
      begin: (name, job) => this.#begin(name, job),
    });
    const consuming = workers.map(([route, worker]) => this.#consume(route, worker));
    this.#loops = Promise.all([...consuming, this.#reserve.run()]);
  }

  narrow(max: number | undefined): void {
    this.#slots.narrow(max);
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
      await within(this.#setting.limits.closeWaitMs, this.#sender.close());
      this.#setting.connection.close();
      await this.#loops;
    })();
    return this.#closing;
  }

  async #stopTaking(): Promise<void> {
    this.#stopped.abort();
    clearTimeout(this.#sweepTimer);
    this.#slots.close();
    this.#reserve?.close();
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
      lockDuration: limits.wakeupLockMs,
      stalledInterval: limits.stalledCheckMs,
      // A wake-up that was left in the active list comes back as often as that happens; it holds hints.
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
    // BullMQ stops listening when it closes, and the client would then print its errors.
    client.on('error', () => {});
    this.#blocking.push(client);
  }

  async #consume(route: Route, worker: Worker): Promise<void> {
    const { signal } = this.#stopped;
    await worker.startStalledCheckTimer();
    let atOnce = 1;
    while (!signal.aborted) {
      await this.#slots.available();
      try {
        // Each is a round trip: those of a burst are taken side by side. Where there was none, the first one waits for the next.
        const count = Math.max(1, Math.min(atOnce, this.#slots.open));
        const take = async (block: boolean): Promise<boolean> => {
          const wakeup = await worker.getNextJob(this.#token, { block });
          if (wakeup) this.#follow(this.#redeem(route, worker, wakeup));
          return wakeup !== undefined;
        };
        const found = await Promise.all(Array.from({ length: count }, (_, at) => take(at === 0)));
        atOnce = found.includes(false) ? 1 : Math.min(2 * atOnce, WAKEUPS_AT_ONCE_MAX);
      } catch {
        await delay(this.#setting.limits.errorPauseMs, undefined, { signal }).catch(() => {});
      }
    }
  }

  /** Begins as many of the next jobs as the wake-up stands for and there are slots, and answers BullMQ. */
  async #redeem(route: Route, worker: Worker, wakeup: Wakeup): Promise<void> {
    const { connection, limits } = this.#setting;
    const count = countOf(wakeup.data);
    const room = this.#stopped.signal.aborted ? 0 : Math.min(count, this.#slots.open);
    if (room === 0) {
      await (count === 0 ? wakeup.moveToCompleted(null, this.#token, false) : wakeup.moveToWait(this.#token));
      return;
    }
    const name = queueName(route);
    for (let slot = 0; slot < room; slot += 1) this.#slots.take();
    let begunCount = 0;
    try {
      const dealt = await deal(connection.redis, worker, this.#limitKeys, {
        queueName: name,
        wantedCount: room,
        limits,
      });
      for (const text of dealt.jobs) {
        const job = unpackJob(route, text);
        if (job === undefined) continue;
        this.#begin(name, job);
        begunCount += 1;
      }
      if (dealt.dueInMs !== undefined) this.#sweepIn(dealt.dueInMs);
      const left = Math.min(count - dealt.readCount, dealt.leftCount);
      if (left <= 0) await wakeup.moveToCompleted(null, this.#token, false);
      else {
        await wakeup.updateData(left);
        await wakeup.moveToWait(this.#token);
      }
    } finally {
      for (let slot = begunCount; slot < room; slot += 1) this.#slots.give();
    }
  }

  /** Begins a job in a slot that was taken. */
  #begin(name: string, job: Job): void {
    this.#slots.begin(job.tenant);
    const isLimited = limitsOf(job).length > 0;
    const entry = { queueName: name, job };
    if (isLimited) this.#limited.add(entry);
    const run: Promise<void> = this.#run(job).finally(() => {
      this.#slots.end(job.tenant);
      this.#underWay.delete(run);
      if (!isLimited) return;
      this.#limited.delete(entry);
      const { redis } = this.#setting.connection;
      this.#follow(endSlots(redis, this.#limitKeys, name, job).then((woken) => this.#wake(woken)));
    });
    this.#underWay.add(run);
  }

  /** Sends wake-ups for jobs that are back in line. */
  async #wake({ wakeups, dueInMs }: Woken): Promise<void> {
    if (dueInMs !== undefined) this.#sweepIn(dueInMs);
    await Promise.all([...wakeups].map(([name, count]) => this.#sender.send(name, count)));
  }

  /** Sweeps what limits have freed, after the period at the latest, also for consumers that died. */
  #sweepIn(ms: number): void {
    const atMs = performance.now() + Math.max(1, ms);
    if (this.#stopped.signal.aborted || atMs >= this.#sweepAtMs) return;
    clearTimeout(this.#sweepTimer);
    this.#sweepAtMs = atMs;
    this.#sweepTimer = setTimeout(() => this.#follow(this.#sweep()), Math.max(1, ms));
    this.#sweepTimer.unref();
  }

  async #sweep(): Promise<void> {
    const { connection, limits } = this.#setting;
    this.#sweepAtMs = Number.POSITIVE_INFINITY;
    try {
      if (performance.now() - this.#renewedAtMs > limits.limitSlotTtlMs / 3) {
        this.#renewedAtMs = performance.now();
        await renewSlots(connection.redis, this.#limitKeys, limits.limitSlotTtlMs, this.#limited);
      }
      await this.#wake(await sweepSlots(connection.redis, this.#limitKeys));
    } finally {
      this.#sweepIn(limits.limitSweepMs);
    }
  }

  async #run(job: Job): Promise<void> {
    try {
      await this.#handle(job);
    } catch {
      // The handler reports its own failures; the slot is free again either way.
    }
  }

  /** A failure here costs nothing: a wake-up comes back, and the next sweep finds a limit. */
  #follow(work: Promise<unknown>): void {
    const settled = work.catch(() => {}).finally(() => this.#answers.delete(settled));
    this.#answers.add(settled);
  }
}

/** Resolves when the work does, or after the time. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const timer = new AbortController();
  await Promise.race([work, delay(ms, undefined, { signal: timer.signal }).catch(() => {})]);
  timer.abort();
}
