--[[
KEYS the set of limits for which jobs wait; ARGV prefix of queues. Wakes jobs that time or a death has freed. O(limits for which jobs wait).
]]
local now, wakeups, due = nowMs(), {}, -1
for _, base in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  local none, free = wake(ARGV[1], base, now, wakeups)
  if none then redis.call('SREM', KEYS[1], base) end
  if free and (due < 0 or free < due) then due = free end
end
return report(wakeups, due)
