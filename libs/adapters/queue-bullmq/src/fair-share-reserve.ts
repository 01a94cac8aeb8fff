/**
 * Owns the use of a consumer's reserved slots: while no others are free, it skips the backlogs of tenants that run their share here, and
 * takes jobs of tenants that run less. The line reports such jobs as they come, and a poll finds those whose report was missed. Their
 * wake-ups stay with BullMQ, so that nothing depends on this.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { TenantId } from '@tidemark/core';
import type { Job, Route } from '@tidemark/ports';
import type { Redis } from 'ioredis';
import { endNow } from './connection.ts';
import { LIMIT_FUNCTIONS, type LimitKeys } from './limit-slots.ts';
import type { QueueLimits } from './limits.ts';
import { queueName, unpackJob } from './route-queue.ts';
import { script } from './script.ts';
import type { Slots } from './slots.ts';
import { type KeyNames, ownKeys, reserveKey, reserveWantedKey } from './waiting-line.ts';

const pickScript = script(LIMIT_FUNCTIONS, new URL('./lua/pick-reserved.lua', import.meta.url));

export interface FairShareReserveSetting {
  readonly redis: Redis;
  readonly limits: QueueLimits;
  readonly limitKeys: LimitKeys;
  readonly slots: Slots;
  /** Each route with the names of its keys. */
  readonly routes: readonly (readonly [Route, KeyNames])[];
  readonly stopped: AbortSignal;
  /** Begins the job in a slot that was taken. */
  readonly begin: (queueName: string, job: Job) => void;
}

export class FairShareReserve {
  readonly #setting: FairShareReserveSetting;
  readonly #byKey: ReadonlyMap<string, readonly [Route, KeyNames]>;
  /** Opened on first use. */
  #blocking: Redis | undefined;

  constructor(setting: FairShareReserveSetting) {
    this.#setting = setting;
    this.#byKey = new Map(setting.routes.map((route) => [reserveKey(route[1]), route]));
  }

  /** Runs until it is stopped. */
  async run(): Promise<void> {
    const { slots, stopped, limits } = this.#setting;
    let polled = [...this.#byKey.values()];
    for (;;) {
      await slots.onlyKept();
      if (stopped.aborted) return;
      try {
        await this.#want();
        for (const [route, names] of polled) await this.#fill(route, names);
        const reported = await this.#reported();
        const known = reported === undefined ? undefined : this.#byKey.get(reported);
        polled = known === undefined ? [...this.#byKey.values()] : [known];
      } catch {
        await delay(limits.errorPauseMs, undefined, { signal: stopped }).catch(() => {});
      }
    }
  }

  /** Ends the wait. */
  close(): void {
    if (this.#blocking !== undefined) endNow(this.#blocking);
  }

  /** Announces the wait before the poll, so that the line reports whatever comes after it. */
  async #want(): Promise<void> {
    const { redis, limits } = this.#setting;
    const ttlMs = limits.reservePollMs * 3;
    await Promise.all(
      [...this.#byKey.values()].map(([, names]) => redis.set(reserveWantedKey(names), '1', 'PX', ttlMs)),
    );
  }

  async #fill(route: Route, names: KeyNames): Promise<void> {
    const { slots, stopped, begin } = this.#setting;
    while (slots.isOnlyKept && !stopped.aborted) {
      slots.take();
      const job = await this.#pick(route, names, slots.full).catch((error: unknown) => {
        slots.give();
        throw error;
      });
      if (job === undefined) {
        slots.give();
        return;
      }
      begin(queueName(route), job);
    }
  }

  async #pick(route: Route, names: KeyNames, full: ReadonlySet<TenantId>): Promise<Job | undefined> {
    const { redis, limits, limitKeys } = this.#setting;
    const args = [limitKeys.prefix, queueName(route), limits.reserveReadMax, limits.limitSlotTtlMs, ...full];
    const text = (await pickScript.run(redis, ownKeys(names), args)) as string | null;
    return text === null ? undefined : unpackJob(route, text);
  }

  /** Returns the key under which a job was reported; undefined when none was for a while. */
  async #reported(): Promise<string | undefined> {
    const { redis, limits } = this.#setting;
    this.#blocking ??= this.#opened(redis);
    const popped = await this.#blocking.brpop([...this.#byKey.keys()], limits.reservePollMs / 1_000);
    return popped?.[0];
  }

  #opened(redis: Redis): Redis {
    const blocking = redis.duplicate();
    blocking.on('error', () => {});
    return blocking;
  }
}
