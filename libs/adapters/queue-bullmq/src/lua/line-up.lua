--[[
KEYS jobs, turns, five lines, BullMQ's wait and active lists, limits' waiting keys, reserve, and whether it is wanted; ARGV identity,
tenant, priority, job, and so on. Returns how many jobs need wake-ups: each new job, or all that wait when there is no wake-up, since the
process that was to send them died. O(jobs × log waiting).
]]
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
