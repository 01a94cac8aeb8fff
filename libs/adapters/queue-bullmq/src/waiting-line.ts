/**
 * Owns the jobs of a route that wait, and which is next. Beside BullMQ's own keys a route has a hash from a job's identity to the job, and
 * a sorted set for each priority, in which a job's score is its turn: one more than its tenant's last, and than the turn that was served
 * last (start-time fair queuing: Goyal, Vin, Cheng 1996). So tenants take turns whatever their backlogs, and a tenant that was idle has
 * saved up no turns. Jobs are hints: a flushed server starts from nothing.
 */

import type { Job } from '@tidemark/ports';
import type { Redis } from 'ioredis';
import { LIMIT_FUNCTIONS, type LimitKeys } from './limit-slots.ts';
import type { QueueLimits } from './limits.ts';
import { jobIdentity, packJob, priorityOf } from './route-queue.ts';
import { script } from './script.ts';

/** The part of BullMQ's queues and workers that names keys. */
export interface KeyNames {
  toKey(type: string): string;
}

const jobsKey = (names: KeyNames): string => names.toKey('waiting-jobs');
const turnsKey = (names: KeyNames): string => names.toKey('waiting-turns');
const lineKeys = (names: KeyNames): string[] => [1, 2, 3, 4, 5].map((priority) => names.toKey(`waiting-${priority}`));
/** Key of jobs that are next of their tenants, while some consumer has reserved slots for such. */
export const reserveKey = (names: KeyNames): string => names.toKey('newcomers');
/** Key that says that there is such a consumer. */
export const reserveWantedKey = (names: KeyNames): string => names.toKey('newcomers-wanted');
export const ownKeys = (names: KeyNames): string[] => [jobsKey(names), turnsKey(names), ...lineKeys(names)];

const lineUpScript = script(new URL('./lua/line-up.lua', import.meta.url));

/** Puts new jobs in line; returns the number of jobs for which wake-ups are to be sent. */
export async function lineUp(
  redis: Redis,
  queue: KeyNames & { readonly keys: Readonly<Record<string, string>> },
  limits: LimitKeys,
  jobs: readonly Job[],
): Promise<number> {
  const keys = [
    ...ownKeys(queue),
    queue.keys.wait!,
    queue.keys.active!,
    limits.waiting,
    reserveKey(queue),
    reserveWantedKey(queue),
  ];
  const args = jobs.flatMap((job) => [jobIdentity(job), job.tenant, priorityOf(job), packJob(job)]);
  return (await lineUpScript.run(redis, keys, args)) as number;
}

const dealScript = script(LIMIT_FUNCTIONS, new URL('./lua/deal.lua', import.meta.url));

export interface Dealt {
  /** Jobs taken, set aside, or gone. */
  readonly readCount: number;
  readonly leftCount: number;
  /** When a job that was set aside may begin by time alone; undefined: none waits for that. */
  readonly dueInMs: number | undefined;
  /** Packed jobs, in order. */
  readonly jobs: readonly string[];
}

export async function deal(
  redis: Redis,
  worker: KeyNames,
  keys: LimitKeys,
  ask: { readonly queueName: string; readonly wantedCount: number; readonly limits: QueueLimits },
): Promise<Dealt> {
  const { jobsPerDealMax, limitSlotTtlMs } = ask.limits;
  const args = [keys.prefix, keys.queues, ask.queueName, ask.wantedCount, jobsPerDealMax, limitSlotTtlMs];
  const reply = (await dealScript.run(redis, ownKeys(worker), args)) as unknown[];
  const [readCount, leftCount, dueInMs, ...jobs] = reply as [number, number, number, ...string[]];
  return { readCount, leftCount, dueInMs: dueInMs < 0 ? undefined : dueInMs, jobs };
}

const countScript = script(new URL('./lua/count-waiting.lua', import.meta.url));

/** Counts jobs in line, and aside for a limit. A route without any leaves the set of routes, else those of builds long gone would stay. */
export const waitingCount = async (redis: Redis, names: KeyNames, routesKey: string, route: string): Promise<number> =>
  (await countScript.run(redis, [jobsKey(names), routesKey], [route])) as number;
