--[[
ARGV time to live in ms, then base and member of each slot that is still in use.
]]
local lost = nowMs() + tonumber(ARGV[1])
for i = 2, #ARGV, 2 do redis.call('ZADD', ARGV[i] .. ':running', 'XX', lost, ARGV[i + 1]) end
return 0
