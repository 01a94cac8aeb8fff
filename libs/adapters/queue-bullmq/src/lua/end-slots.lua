--[[
ARGV prefix of queues, prefix of limits, member, then bases. Ends the job and wakes the jobs that waited for it.
]]
local now, wakeups, due = nowMs(), {}, -1
for i = 4, #ARGV do
  redis.call('ZREM', ARGV[i] .. ':running', ARGV[3])
  local none, free = wake(ARGV[1], ARGV[i], now, wakeups)
  if none then redis.call('SREM', string.sub(ARGV[2], 1, -2), ARGV[i]) end
  if free and (due < 0 or free < due) then due = free end
end
return report(wakeups, due)
