--[[
KEYS jobs, turns, five lines; ARGV prefix of limits, this queue's name, most jobs to read of each priority, time to live of a slot in ms,
then the tenants to skip. Takes the first job of another tenant that may begin; returns it, or nothing. O(read × log waiting).
]]
local passed = {}
for i = 5, #ARGV do passed[ARGV[i]] = true end
local now = nowMs()
for class = 1, 5 do
  local line = redis.call('ZRANGE', KEYS[2 + class], 0, tonumber(ARGV[3]) - 1, 'WITHSCORES')
  for i = 1, #line, 2 do
    local id, turn = line[i], line[i + 1]
    local job = redis.call('HGET', KEYS[1], id)
    local tenant = job and cjson.decode(job)[2]
    if job and not passed[tenant] then
      redis.call('ZREM', KEYS[2 + class], id)
      if beginOrSetAside(ARGV[1], ARGV[2], KEYS[1], class, id, job, now, tonumber(ARGV[4])) then
        local served = tonumber(redis.call('HGET', KEYS[2], tostring(class)) or 0)
        redis.call('HSET', KEYS[2], tostring(class), math.max(served, tonumber(turn)))
        return job
      end
    end
  end
end
return false
