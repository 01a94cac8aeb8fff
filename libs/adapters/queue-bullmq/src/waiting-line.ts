/**
 * Owns the jobs of a route that wait, and which is next. Beside BullMQ's own keys a route has a hash from a job's identity to the job, and
 * a sorted set for each priority, in which a job's score is its turn: one more than its tenant's last, and than the turn that was served
 * last (start-time fair queuing: Goyal, Vin, Cheng 1996). So tenants take turns whatever their backlogs, and a tenant that was idle has
 * saved up no turns. Jobs are hints: a flushed server starts from nothing.
 */

import type { Job } from '@tidemark/ports';
import type { Redis } from 'ioredis';
import { LIMIT_LUA, type LimitKeys } from './limit-slots.ts';
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

/**
 * KEYS jobs, turns, five lines, BullMQ's wait and active lists, limits' waiting keys, reserve, and whether it is wanted; ARGV identity,
 * tenant, priority, job, and so on. Returns how many jobs need wake-ups: each new job, or all that wait when there is no wake-up, since the
 * process that was to send them died. O(jobs × log waiting).
 */
const lineUpScript = script(`
local function waiting()
  local count = 0
  for class = 1, 5 do count = count + redis.call('ZCARD', KEYS[2 + class]) end
  return count
end
if waiting() == 0 and redis.call('SCARD', KEYS[10]) == 0 then redis.call('DEL', KEYS[1]) end
local fresh, wanted = 0, redis.call('EXISTS', KEYS[12]) == 1
for i = 1, #ARGV, 4 do
  local id, class = ARGV[i], ARGV[i + 2]
  if redis.call('HSETNX', KEYS[1], id, ARGV[i + 3]) == 1 then
    local owner = class .. ' ' .. ARGV[i + 1]
    local served = tonumber(redis.call('HGET', KEYS[2], class) or 0)
    local turn = math.max(served, tonumber(redis.call('HGET', KEYS[2], owner) or 0)) + 1
    redis.call('HSET', KEYS[2], owner, turn)
    redis.call('ZADD', KEYS[2 + class], turn, id)
    fresh = fresh + 1
    if wanted and turn <= served + 1 then redis.call('LPUSH', KEYS[11], id) end
  end
end
if wanted then
  redis.call('LTRIM', KEYS[11], 0, 999)
  redis.call('PEXPIRE', KEYS[11], 86400000)
end
if fresh > 0 then for key = 1, 7 do redis.call('PEXPIRE', KEYS[key], 86400000) end end
if redis.call('LLEN', KEYS[8]) + redis.call('LLEN', KEYS[9]) == 0 then return waiting() end
return fresh
`);

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

/**
 * KEYS jobs, turns, five lines; ARGV prefix of limits, prefix of queues, this queue's name, jobs wanted, most to read, time to live of a
 * slot in ms. Takes the next jobs that may begin; those whose limit is reached wait aside under its key. Returns how many were read, how
 * many are left in line, in how many ms a limit is free again by time alone (-1: none), then the jobs. O(read × log waiting).
 */
const dealScript = script(`${LIMIT_LUA}
local prefix, name = ARGV[1], ARGV[3]
local wanted, most = tonumber(ARGV[4]), tonumber(ARGV[5])
local now = nowMs()
local looked, due, taken = 0, -1, {}
for class = 1, 5 do
  local served
  while #taken < wanted and looked < most do
    local first = redis.call('ZPOPMIN', KEYS[2 + class])
    if #first == 0 then break end
    looked = looked + 1
    served = first[2]
    local id = first[1]
    local job = redis.call('HGET', KEYS[1], id)
    if job then
      local begun, free = beginOrSetAside(prefix, name, KEYS[1], class, id, job, now, tonumber(ARGV[6]))
      if begun then taken[#taken + 1] = job end
      if free and (due < 0 or free < due) then due = free end
    end
  end
  if served then redis.call('HSET', KEYS[2], tostring(class), served) end
end
local left = 0
for class = 1, 5 do left = left + redis.call('ZCARD', KEYS[2 + class]) end
if left == 0 then redis.call('DEL', KEYS[2]) end
table.insert(taken, 1, due)
table.insert(taken, 1, left)
table.insert(taken, 1, looked)
return taken
`);

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

/** KEYS jobs, set of routes; ARGV the route's name in it. Jobs are in line before their route is named, so none is forgotten that has some. */
const countScript = script(`
local count = redis.call('HLEN', KEYS[1])
if count == 0 then redis.call('SREM', KEYS[2], ARGV[1]) end
return count
`);

/** Counts jobs in line, and aside for a limit. A route without any leaves the set of routes, else those of builds long gone would stay. */
export const waitingCount = async (redis: Redis, names: KeyNames, routesKey: string, route: string): Promise<number> =>
  (await countScript.run(redis, [jobsKey(names), routesKey], [route])) as number;
