/**
 * Owns the index of waiting jobs: a hash per route from a job's identity to its parcel. It exists so that a job is
 * not added twice though parcels carry many. It is a hint as well: an entry counts only while its parcel exists, or for
 * `reservationMs` after it was made; so an enqueuer that dies between index and parcel blocks nobody, and a flushed
 * server starts from nothing. Entries leave when their jobs are taken.
 */

import type { Redis } from 'ioredis';
import { script } from './script.ts';

/**
 * KEYS index; ARGV key prefix of parcels, parcel tag, reservation in ms, most jobs a parcel, least parcels a burst,
 * then identities. Returns the parcels' common id prefix, jobs a parcel, and the indexes of the identities that are new.
 * O(identities). A parcel's id begins with 13 digits of the server's clock.
 */
const reserveScript = script(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local standing, fresh, seen = {}, {}, {}
for i = 6, #ARGV do
  local id = ARGV[i]
  local held = redis.call('HGET', KEYS[1], id)
  if held and standing[held] == nil then
    local made = tonumber(string.sub(held, 1, 13)) or 0
    standing[held] = now - made < tonumber(ARGV[3]) or redis.call('EXISTS', ARGV[1] .. held) == 1
  end
  if not (held and standing[held]) and not seen[id] then
    seen[id] = true
    fresh[#fresh + 1] = i - 6
  end
end
local size = math.max(1, math.min(math.ceil(#fresh / tonumber(ARGV[5])), tonumber(ARGV[4])))
local name = string.format('%013.0f', now) .. '.' .. ARGV[2] .. '.'
for k, index in ipairs(fresh) do
  redis.call('HSET', KEYS[1], ARGV[index + 6], name .. math.floor((k - 1) / size))
end
if #fresh > 0 then redis.call('PEXPIRE', KEYS[1], 86400000) end
table.insert(fresh, 1, size)
table.insert(fresh, 1, name)
return fresh
`);

/**
 * KEYS index, wait list, active list; ARGV reservation in ms. Returns the number of jobs waiting. With both lists empty
 * whatever is left in the index was left behind by a death: it is removed.
 */
const depthScript = script(`
if redis.call('LLEN', KEYS[2]) + redis.call('LLEN', KEYS[3]) > 0 then return redis.call('HLEN', KEYS[1]) end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local entries, count = redis.call('HGETALL', KEYS[1]), 0
for i = 1, #entries, 2 do
  local made = tonumber(string.sub(entries[i + 1], 1, 13)) or 0
  if now - made < tonumber(ARGV[1]) then count = count + 1 else redis.call('HDEL', KEYS[1], entries[i]) end
end
return count
`);

export interface Reservation {
  /** A parcel's id is this and its number, 0, 1, 2 … */
  readonly parcelIdPrefix: string;
  readonly jobsPerParcel: number;
  /** Indexes into the given identities of those that were not waiting, in order. */
  readonly fresh: readonly number[];
}

export interface ReserveOptions {
  readonly indexKey: string;
  readonly parcelKeyPrefix: string;
  /** Tells this call's parcels from those of every other made in the same millisecond. */
  readonly tag: string;
  readonly reservationMs: number;
  readonly jobsPerParcelMax: number;
  readonly parcelsPerBurstMin: number;
}

export async function reserve(redis: Redis, options: ReserveOptions, identities: string[]): Promise<Reservation> {
  const { parcelKeyPrefix, tag, reservationMs, jobsPerParcelMax, parcelsPerBurstMin } = options;
  const settings = [parcelKeyPrefix, tag, reservationMs, jobsPerParcelMax, parcelsPerBurstMin];
  const reply = (await reserveScript.run(redis, [options.indexKey], [...settings, ...identities])) as unknown[];
  const [parcelIdPrefix, jobsPerParcel, ...fresh] = reply as [string, number, ...number[]];
  return { parcelIdPrefix, jobsPerParcel, fresh };
}

/** The jobs are taken, or were never added. */
export async function release(redis: Redis, indexKey: string, identities: readonly string[]): Promise<void> {
  if (identities.length > 0) await redis.hdel(indexKey, ...identities);
}

export async function waitingCount(
  redis: Redis,
  keys: { indexKey: string; waitKey: string; activeKey: string },
  reservationMs: number,
): Promise<number> {
  return (await depthScript.run(redis, [keys.indexKey, keys.waitKey, keys.activeKey], [reservationMs])) as number;
}
