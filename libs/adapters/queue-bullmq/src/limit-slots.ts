/**
 * Owns what runs under which limit, over all consumers, and the jobs that wait aside for one. Each key has a sorted set of what runs,
 * scored by when that slot is lost unless its process renews it; a list of when the last ones began; and a list of waiting jobs. The
 * server's clock decides. A flushed server forgets what runs: until those jobs have ended, more may run than the limit says.
 */

import type { DispatchLimit } from '@tidemark/core';
import type { Job } from '@tidemark/ports';
import type { Redis } from 'ioredis';
import { jobIdentity } from './route-queue.ts';
import { script } from './script.ts';

export interface LimitKeys {
  /** Prefix of the keys of every limit. */
  readonly prefix: string;
  /** The set of limits for which jobs wait. */
  readonly waiting: string;
  /** Prefix of the keys of every queue. */
  readonly queues: string;
}

/** Collides with no queue, since the name of each has an at sign. */
export const limitKeysOf = (keyPrefix: string): LimitKeys => ({
  prefix: `${keyPrefix}:limits:`,
  waiting: `${keyPrefix}:limits`,
  queues: `${keyPrefix}:`,
});

/** Functions shared by the scripts of this file and of the waiting line. */
export const LIMIT_FUNCTIONS = new URL('./lua/limit-functions.lua', import.meta.url);

const endScript = script(LIMIT_FUNCTIONS, new URL('./lua/end-slots.lua', import.meta.url));

const sweepScript = script(LIMIT_FUNCTIONS, new URL('./lua/sweep-slots.lua', import.meta.url));

const renewScript = script(LIMIT_FUNCTIONS, new URL('./lua/renew-slots.lua', import.meta.url));

export interface Woken {
  /** Jobs that are back in line, by the name of their queue. */
  readonly wakeups: ReadonlyMap<string, number>;
  /** When the next may begin by time alone; undefined: none waits for that. */
  readonly dueInMs: number | undefined;
}

export const limitsOf = ({ dispatch }: Job): readonly DispatchLimit[] => dispatch?.limits ?? [];

const baseOf = ({ prefix }: LimitKeys, { tenant }: Job, { scope, key }: DispatchLimit): string =>
  `${prefix}${scope === 'fleet' ? '' : tenant}\n${key}`;

const memberOf = (queueName: string, job: Job): string => `${queueName} ${jobIdentity(job)}`;

export async function endSlots(redis: Redis, keys: LimitKeys, queueName: string, job: Job): Promise<Woken> {
  const bases = limitsOf(job).map((limit) => baseOf(keys, job, limit));
  return wokenOf(await endScript.run(redis, [], [keys.queues, keys.prefix, memberOf(queueName, job), ...bases]));
}

export const sweepSlots = async (redis: Redis, keys: LimitKeys): Promise<Woken> =>
  wokenOf(await sweepScript.run(redis, [keys.waiting], [keys.queues]));

export async function renewSlots(
  redis: Redis,
  keys: LimitKeys,
  ttlMs: number,
  running: Iterable<{ readonly queueName: string; readonly job: Job }>,
): Promise<void> {
  const slots = [...running].flatMap(({ queueName, job }) =>
    limitsOf(job).flatMap((limit) => [baseOf(keys, job, limit), memberOf(queueName, job)]),
  );
  if (slots.length > 0) await renewScript.run(redis, [], [ttlMs, ...slots]);
}

function wokenOf(reply: unknown): Woken {
  const [dueInMs, ...pairs] = reply as [number, ...(string | number)[]];
  const wakeups = new Map<string, number>();
  for (let at = 0; at < pairs.length; at += 2) wakeups.set(pairs[at] as string, pairs[at + 1] as number);
  return { wakeups, dueInMs: dueInMs < 0 ? undefined : dueInMs };
}
