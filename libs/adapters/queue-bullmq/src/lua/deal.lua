--[[
KEYS jobs, turns, five lines; ARGV prefix of limits, prefix of queues, this queue's name, jobs wanted, most to read, time to live of a
slot in ms. Takes the next jobs that may begin; those whose limit is reached wait aside under its key. Returns how many were read, how
many are left in line, in how many ms a limit is free again by time alone (-1: none), then the jobs. O(read × log waiting).
]]
local prefix, name = ARGV[1], ARGV[3]
local wanted, most = tonumber(ARGV[4]), tonumber(ARGV[5])
local now = nowMs()
local looked, due, taken = 0, -1, {}
for class = 1, 5 do
  local served
  while #taken < wanted and looked < most do
    local first = redis.call('ZPOPMIN', KEYS[2 + class])
    if #first == 0 then break end
    looked = looked + 1
    served = first[2]
    local id = first[1]
    local job = redis.call('HGET', KEYS[1], id)
    if job then
      local begun, free = beginOrSetAside(prefix, name, KEYS[1], class, id, job, now, tonumber(ARGV[6]))
      if begun then taken[#taken + 1] = job end
      if free and (due < 0 or free < due) then due = free end
    end
  end
  if served then redis.call('HSET', KEYS[2], tostring(class), served) end
end
local left = 0
for class = 1, 5 do left = left + redis.call('ZCARD', KEYS[2 + class]) end
if left == 0 then redis.call('DEL', KEYS[2]) end
table.insert(taken, 1, due)
table.insert(taken, 1, left)
table.insert(taken, 1, looked)
return taken
