--[[
KEYS beat, leases, holders, coordinators; ARGV holder, ttl in ms, stall in ms, version of the leases, standing connections, leases
(empty: as before). Returns 1 when the leases are wanted, else 0; then the adverts of coordinators that have not expired.
]]
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
