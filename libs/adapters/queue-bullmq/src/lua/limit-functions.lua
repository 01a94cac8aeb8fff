--[[
Functions shared by the scripts of limits of workflows and of the waiting line; times in milliseconds, by the server's clock.

A job is in one of three places. In line: a member of its priority's sorted set, by its turn. Aside: a note at the end of the list of the limit
that was reached when its turn came; it holds no turn and no worker. At work: a member of the sorted set of each of its limits, scored by when
its slot is lost unless its process renews it, and for a rate an entry in the list of those that began.
  in line -> at work: it is dealt, or picked for a reserved slot, and each of its limits has room.
  in line -> aside: it is dealt, and one limit has none.
  aside -> in line, before all others of its priority: a slot of that limit ends or is lost, or its rate's period passes.
  at work -> gone: its handler ends, or its slot is lost with its process.
]]
local function nowMs()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function limitsOf(job)
  if not string.find(job, '"limits"', 1, true) then return nil end
  local packed = cjson.decode(job)
  return type(packed[6]) == 'table' and packed[6].limits or nil, packed[2]
end
local function baseOf(prefix, tenant, limit)
  return prefix .. (limit.scope == 'fleet' and '' or tenant) .. '\n' .. limit.key
end
-- Returns how many more may begin, and if only time is missing, in how many ms one may.
local function freeOf(base, concurrency, rate, now)
  local free, due = math.huge, nil
  if concurrency then
    redis.call('ZREMRANGEBYSCORE', base .. ':running', '-inf', now)
    free = concurrency - redis.call('ZCARD', base .. ':running')
  end
  if rate then
    local begun = redis.call('LRANGE', base .. ':begun', 0, rate.count - 1)
    local recent = 0
    for _, at in ipairs(begun) do if now - tonumber(at) < rate.perMs then recent = recent + 1 end end
    if rate.count - recent < free then
      free = rate.count - recent
      if free <= 0 then due = tonumber(begun[rate.count]) + rate.perMs - now end
    end
  end
  return free, due
end
local function heldBy(prefix, tenant, limits, now)
  for _, limit in ipairs(limits or {}) do
    local free, due = freeOf(baseOf(prefix, tenant, limit), limit.concurrency, limit.rate, now)
    if free <= 0 then return limit, due end
  end
  return nil
end
local function setAside(prefix, tenant, limit, name, class, id)
  local base = baseOf(prefix, tenant, limit)
  local note = { name, class, id, limit.concurrency or false, limit.rate or false }
  redis.call('RPUSH', base .. ':waiting', cjson.encode(note))
  redis.call('PEXPIRE', base .. ':waiting', 86400000)
  redis.call('SADD', string.sub(prefix, 1, -2), base)
end
local function begin(prefix, tenant, limits, now, ttl, member)
  for _, limit in ipairs(limits or {}) do
    local base = baseOf(prefix, tenant, limit)
    redis.call('ZADD', base .. ':running', now + ttl, member)
    redis.call('PEXPIRE', base .. ':running', 86400000)
    if limit.rate then
      redis.call('LPUSH', base .. ':begun', now)
      redis.call('LTRIM', base .. ':begun', 0, limit.rate.count - 1)
      redis.call('PEXPIRE', base .. ':begun', limit.rate.perMs + 1000)
    end
  end
end
-- Begins a job that was taken out of line, or sets it aside for a limit that is reached. Returns whether it has begun; if not, in how many
-- ms time alone frees it.
local function beginOrSetAside(prefix, name, jobs, class, id, job, now, ttl)
  local limits, tenant = limitsOf(job)
  local held, due = heldBy(prefix, tenant, limits, now)
  if held then
    setAside(prefix, tenant, held, name, class, id)
    return false, due
  end
  redis.call('HDEL', jobs, id)
  begin(prefix, tenant, limits, now, ttl, name .. ' ' .. id)
  return true
end
-- Puts jobs that may begin now back in line, before all others of their priority. Counts the wake-ups that their queues need.
local function wake(queues, base, now, wakeups)
  local woken = 0
  while true do
    local note = redis.call('LINDEX', base .. ':waiting', 0)
    if not note then return true end
    local name, class, id, concurrency, rate = unpack(cjson.decode(note))
    local free, due = freeOf(base, concurrency or nil, rate or nil, now)
    if free <= woken then return false, due end
    redis.call('LPOP', base .. ':waiting')
    local queue = queues .. name .. ':waiting-'
    if redis.call('HEXISTS', queue .. 'jobs', id) == 1 then
      redis.call('ZADD', queue .. class, redis.call('HGET', queue .. 'turns', class) or 0, id)
      redis.call('PEXPIRE', queue .. class, 86400000)
      wakeups[name] = (wakeups[name] or 0) + 1
      woken = woken + 1
    end
  end
end
local function report(wakeups, due)
  local reply = { due }
  for name, count in pairs(wakeups) do
    reply[#reply + 1] = name
    reply[#reply + 1] = count
  end
  return reply
end
