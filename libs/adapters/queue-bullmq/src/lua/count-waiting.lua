--[[
KEYS jobs, set of routes; ARGV the route's name in it. Jobs are in line before their route is named, so none is forgotten that has some.
]]
local count = redis.call('HLEN', KEYS[1])
if count == 0 then redis.call('SREM', KEYS[2], ARGV[1]) end
return count
