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

/** Functions shared by the scripts of this file and of the waiting line. Times in milliseconds. */
export const LIMIT_LUA = `
local function nowMs()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function limitsOf(job)
  if not string.find(job, '"limits"', 1, true) then return nil end
  local packed = cjson.decode(job)
  return type(packed[6]) == 'table' and packed[6].limits or nil, packed[2]
end
local function baseOf(prefix, tenant, limit)
  return prefix .. (limit.scope == 'fleet' and '' or tenant) .. '\\n' .. limit.key
end
-- Returns how many more may begin, and if only time is missing, in how many ms one may.
local function freeOf(base, concurrency, rate, now)
  local free, due = math.huge, nil
  if concurrency then
    redis.call('ZREMRANGEBYSCORE', base .. ':running', '-inf', now)
    free = concurrency - redis.call('ZCARD', base .. ':running')
  end
  if rate then
    local begun = redis.call('LRANGE', base .. ':begun', 0, rate.count - 1)
    local recent = 0
    for _, at in ipairs(begun) do if now - tonumber(at) < rate.perMs then recent = recent + 1 end end
    if rate.count - recent < free then
      free = rate.count - recent
      if free <= 0 then due = tonumber(begun[rate.count]) + rate.perMs - now end
    end
  end
  return free, due
end
local function heldBy(prefix, tenant, limits, now)
  for _, limit in ipairs(limits or {}) do
    local free, due = freeOf(baseOf(prefix, tenant, limit), limit.concurrency, limit.rate, now)
    if free <= 0 then return limit, due end
  end
  return nil
end
local function setAside(prefix, tenant, limit, name, class, id)
  local base = baseOf(prefix, tenant, limit)
  local note = { name, class, id, limit.concurrency or false, limit.rate or false }
  redis.call('RPUSH', base .. ':waiting', cjson.encode(note))
  redis.call('PEXPIRE', base .. ':waiting', 86400000)
  redis.call('SADD', string.sub(prefix, 1, -2), base)
end
local function begin(prefix, tenant, limits, now, ttl, member)
  for _, limit in ipairs(limits or {}) do
    local base = baseOf(prefix, tenant, limit)
    redis.call('ZADD', base .. ':running', now + ttl, member)
    redis.call('PEXPIRE', base .. ':running', 86400000)
    if limit.rate then
      redis.call('LPUSH', base .. ':begun', now)
      redis.call('LTRIM', base .. ':begun', 0, limit.rate.count - 1)
      redis.call('PEXPIRE', base .. ':begun', limit.rate.perMs + 1000)
    end
  end
end
-- Begins a job that was taken out of line, or sets it aside for a limit that is reached. Returns whether it has begun; if not, in how many
-- ms time alone frees it.
local function beginOrSetAside(prefix, name, jobs, class, id, job, now, ttl)
  local limits, tenant = limitsOf(job)
  local held, due = heldBy(prefix, tenant, limits, now)
  if held then
    setAside(prefix, tenant, held, name, class, id)
    return false, due
  end
  redis.call('HDEL', jobs, id)
  begin(prefix, tenant, limits, now, ttl, name .. ' ' .. id)
  return true
end
-- Puts jobs that may begin now back in line, before all others of their priority. Counts the wake-ups that their queues need.
local function wake(queues, base, now, wakeups)
  local woken = 0
  while true do
    local note = redis.call('LINDEX', base .. ':waiting', 0)
    if not note then return true end
    local name, class, id, concurrency, rate = unpack(cjson.decode(note))
    local free, due = freeOf(base, concurrency or nil, rate or nil, now)
    if free <= woken then return false, due end
    redis.call('LPOP', base .. ':waiting')
    local queue = queues .. name .. ':waiting-'
    if redis.call('HEXISTS', queue .. 'jobs', id) == 1 then
      redis.call('ZADD', queue .. class, redis.call('HGET', queue .. 'turns', class) or 0, id)
      redis.call('PEXPIRE', queue .. class, 86400000)
      wakeups[name] = (wakeups[name] or 0) + 1
      woken = woken + 1
    end
  end
end
local function report(wakeups, due)
  local reply = { due }
  for name, count in pairs(wakeups) do
    reply[#reply + 1] = name
    reply[#reply + 1] = count
  end
  return reply
end
`;

/** ARGV prefix of queues, prefix of limits, member, then bases. Ends the job and wakes the jobs that waited for it. */
const endScript = script(`${LIMIT_LUA}
local now, wakeups, due = nowMs(), {}, -1
for i = 4, #ARGV do
  redis.call('ZREM', ARGV[i] .. ':running', ARGV[3])
  local none, free = wake(ARGV[1], ARGV[i], now, wakeups)
  if none then redis.call('SREM', string.sub(ARGV[2], 1, -2), ARGV[i]) end
  if free and (due < 0 or free < due) then due = free end
end
return report(wakeups, due)
`);

/** KEYS the set of limits for which jobs wait; ARGV prefix of queues. Wakes jobs that time or a death has freed. O(limits for which jobs wait). */
const sweepScript = script(`${LIMIT_LUA}
local now, wakeups, due = nowMs(), {}, -1
for _, base in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  local none, free = wake(ARGV[1], base, now, wakeups)
  if none then redis.call('SREM', KEYS[1], base) end
  if free and (due < 0 or free < due) then due = free end
end
return report(wakeups, due)
`);

/** ARGV time to live in ms, then base and member of each slot that is still in use. */
const renewScript = script(`${LIMIT_LUA}
local lost = nowMs() + tonumber(ARGV[1])
for i = 2, #ARGV, 2 do redis.call('ZADD', ARGV[i] .. ':running', 'XX', lost, ARGV[i + 1]) end
return 0
`);

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
