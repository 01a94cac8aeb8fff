/**
 * Owns the scripts of Liveness on Redis. The holder's beat is a key `AT TTL STALL N STANDING`: Redis' time in ms, how long it
 * counts without and with a connection, the number of its leases' version, and the coordinators it is connected to. Leases lie in a key
 * of their own, written when they change. Coordinators are members of a sorted set by the end of their advert.
 */

import { script } from './script.ts';

/**
 * KEYS beat, leases, holders, coordinators; ARGV holder, ttl in ms, stall in ms, number of the leases, standing
 * connections, leases (empty: as before). Returns 1 when the leases are wanted, else 0, then the adverts that stand.
 */
export const beatScript = script(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('SET', KEYS[1], string.format('%.0f', now) .. ' ' .. table.concat(ARGV, ' ', 2, 5), 'PX', ARGV[3])
redis.call('ZADD', KEYS[3], now + ARGV[3], ARGV[1])
local wanted = 0
if ARGV[6] ~= '' then redis.call('SET', KEYS[2], ARGV[6], 'PX', ARGV[3])
elseif redis.call('PEXPIRE', KEYS[2], ARGV[3]) == 0 then wanted = 1 end
local reply = redis.call('ZRANGEBYSCORE', KEYS[4], now, '+inf')
table.insert(reply, 1, wanted)
return reply
`);

/**
 * KEYS marker, holders, coordinators; ARGV a new marker, its ttl in ms, key prefix of beats, own advert (empty: none), its
 * ttl in ms. Returns the marker that stands, Redis' time in ms, how many adverts stand, these, then holder and beat in
 * turn. O(living holders), in chunks of 1,000 because of Lua's stack.
 */
export const viewScript = script(`
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or ''
local marker = redis.call('GET', KEYS[1])
if not marker or string.sub(marker, 1, #run) ~= run then marker = run .. ARGV[1] end
redis.call('SET', KEYS[1], marker, 'PX', ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[4] ~= '' then redis.call('ZADD', KEYS[3], now + ARGV[5], ARGV[4]) end
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
local adverts = redis.call('ZRANGE', KEYS[3], 0, -1)
local reply = { marker, string.format('%.0f', now), #adverts }
for i = 1, #adverts do reply[#reply + 1] = adverts[i] end
local holders = redis.call('ZRANGE', KEYS[2], 0, -1)
for first = 1, #holders, 1000 do
  local last = math.min(first + 999, #holders)
  local keys = {}
  for i = first, last do keys[#keys + 1] = ARGV[3] .. holders[i] end
  local beats = redis.call('MGET', unpack(keys))
  for i = first, last do
    local beat = beats[i - first + 1]
    if beat then
      reply[#reply + 1] = holders[i]
      reply[#reply + 1] = beat
    else
      redis.call('ZREM', KEYS[2], holders[i])
    end
  end
end
return reply
`);
