--[[
A holder's beat is a key `AT TTL STALL N STANDING`: Redis' time in ms, how long it counts without and with a connection, the version of its
leases, and the coordinators it is connected to. Leases lie in a key of their own, written when they change. Coordinators are members of a
sorted set by the end of their advert. Their reports lie in a hash by coordinator, each as `AT WORD`; one without a recent one counts as dead.

KEYS marker, holders, coordinators, words; ARGV a new marker, its ttl in ms, key prefix of beats, own advert (empty: none), its ttl in
ms, own id, own word, its ttl in ms. Returns the current marker, Redis' time in ms, the adverts that have not expired, then pairs of
coordinator and word, and pairs of holder and beat. The own word is written before all are read, so of several coordinators that report one holder the last
sees all. O(living holders), in chunks of 1,000 because of Lua's stack.
]]
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or ''
local marker = redis.call('GET', KEYS[1])
if not marker or string.sub(marker, 1, #run) ~= run then marker = run .. ARGV[1] end
redis.call('SET', KEYS[1], marker, 'PX', ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[4] ~= '' then
  redis.call('ZADD', KEYS[3], now + ARGV[5], ARGV[4])
  redis.call('HSET', KEYS[4], ARGV[6], string.format('%.0f', now) .. ' ' .. ARGV[7])
  redis.call('PEXPIRE', KEYS[4], ARGV[8])
end
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
local words = {}
local known = redis.call('HGETALL', KEYS[4])
for i = 1, #known, 2 do
  local at = tonumber(string.match(known[i + 1], '^%d+'))
  if at and now - at <= tonumber(ARGV[8]) then
    words[#words + 1] = known[i]
    words[#words + 1] = known[i + 1]
  else
    redis.call('HDEL', KEYS[4], known[i])
  end
end
local beats = {}
local holders = redis.call('ZRANGE', KEYS[2], 0, -1)
for first = 1, #holders, 1000 do
  local last = math.min(first + 999, #holders)
  local keys = {}
  for i = first, last do keys[#keys + 1] = ARGV[3] .. holders[i] end
  local texts = redis.call('MGET', unpack(keys))
  for i = first, last do
    local text = texts[i - first + 1]
    if text then
      beats[#beats + 1] = holders[i]
      beats[#beats + 1] = text
    else
      redis.call('ZREM', KEYS[2], holders[i])
    end
  end
end
return { marker, string.format('%.0f', now), redis.call('ZRANGE', KEYS[3], 0, -1), words, beats }
