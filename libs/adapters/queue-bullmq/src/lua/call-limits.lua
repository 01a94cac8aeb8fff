--[[
Owns what calls to the outside share, by scope (a provider, a model, an effect, a declared key): limits, a line, and a circuit breaker.
A scope has a hash of figures and three sorted sets: the turns of tenants, the places of calls that wait, and the calls under way by when
they count as lost. All of it expires, and a flushed server begins from nothing: calls then pass until something is learned again.

The line (after weighted fair queuing: Demers, Keshav, Shenker 1989). `v` is how far it has come, in milliseconds of line: it moves on with
the time, shared by the tenants that wait, whether those whose turn comes are there or not. A call that can't pass gets a place, which is one call behind its
tenant's last; it is told when the line comes to it, and keeps the place when it comes back.

The rate (generic cell rate algorithm: ATM Forum TM 4.0). Who comes in turn passes if the calls before it left room (`tat`); late ones that
come together are spread again. Who finds no room within the wait that it may be granted goes to the end of the line.

The circuit. Closed: `opens` is 0. Faults in a row, or a wait that the receiver asks for, open it until `open`: nothing passes, and the line
stands. Then it is half open: whoever comes first is the trial, and the others wait until it has ended. An answer closes it; a fault opens it again, for
twice as long. After that the line moves on at the declared rate, or at one that is learned: slow at first, faster with each answer, half as fast when the
receiver says that it is called too often.

KEYS for each scope: figures, turns, places, running; last, the set of troubled scopes.
ARGV 'ask', 'end' or 'renew'; the rules and what is asked, as JSON; now in ms (empty: by the server's clock).
Returns { 'pass', ms } or { 'wait', ms, the scope's number, ms of the fault, why }; for an end nothing. O(tenants in line) for each scope.
]]
local rules, asked = cjson.decode(ARGV[2]), cjson.decode(ARGV[3])
local now = tonumber(ARGV[4])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + time[2] / 1000
end
local troubled = KEYS[#KEYS]

local function num(value) return tonumber(value) or 0 end
local FIGURES = { 'v', 'at', 'tat', 'opens', 'open', 'since', 'learned', 'slow', 'cut', 'mean', 'trouble' }

local function load(index)
  local scope = { asked = asked.scopes[index], index = index, figures = KEYS[4 * index - 3] }
  scope.turns, scope.places, scope.running = KEYS[4 * index - 2], KEYS[4 * index - 1], KEYS[4 * index]
  local values = redis.call('HMGET', scope.figures, unpack(FIGURES))
  scope.isKnown = values[1] and true or false
  for at, name in ipairs(FIGURES) do scope[name] = num(values[at]) end
  if not scope.isKnown then
    scope.at, scope.tat, scope.cut = now, now, -1e15
  end
  scope.trial = redis.call('HGET', scope.figures, 'trial') or ''
  scope.why = redis.call('HGET', scope.figures, 'why') or ''
  return scope
end

local function isDeclared(limits) return (limits.rate or limits.tokens or limits.concurrency) ~= nil end

local function save(scope)
  local fields = { 'trial', scope.trial, 'why', scope.why }
  for _, name in ipairs(FIGURES) do
    fields[#fields + 1] = name
    fields[#fields + 1] = string.format('%.17g', scope[name])
  end
  redis.call('HSET', scope.figures, unpack(fields))
  -- What nobody declared is kept for as long as it is in trouble; what is declared, at least until its next call may be made.
  local kept = isDeclared(scope.asked) and rules.keptMs or 2 * rules.troubleMs
  kept = math.ceil(math.max(kept, scope.tat - now + 1000))
  for _, key in ipairs({ scope.figures, scope.turns, scope.places, scope.running }) do
    redis.call('PEXPIRE', key, kept)
  end
  if scope.trouble > now then
    redis.call('ZADD', troubled, scope.trouble, scope.asked.key)
    redis.call('PEXPIRE', troubled, rules.keptMs)
  end
end

local function ahead(scope) return redis.call('ZCOUNT', scope.turns, '(' .. string.format('%.17g', scope.v), '+inf') end

local function advance(scope)
  local rest = scope.opens > 0 and 0 or math.max(0, now - scope.at)
  scope.at = math.max(now, scope.at)
  while rest > 0 do
    local count = ahead(scope)
    local next = redis.call('ZRANGEBYSCORE', scope.turns, '(' .. string.format('%.17g', scope.v), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    local needed = count > 0 and (tonumber(next[2]) - scope.v) * count
    if needed and needed <= rest then
      scope.v = tonumber(next[2])
      rest = rest - needed
    else
      scope.v = scope.v + rest / math.max(1, count)
      rest = 0
    end
  end
  redis.call('ZREMRANGEBYSCORE', scope.turns, '-inf', string.format('%.17g', scope.v))
  redis.call('ZREMRANGEBYSCORE', scope.places, '-inf', string.format('%.17g', scope.v - rules.troubleMs))
  redis.call('ZREMRANGEBYSCORE', scope.running, '-inf', string.format('%.17g', now))
end

local function costOf(scope, tokens)
  local limits, cost = scope.asked, {}
  local call = limits.rate and limits.rate.perMs / limits.rate.count or 0
  cost.rate = math.max(call, limits.tokens and tokens * limits.tokens.perMs / limits.tokens.count or 0)
  local burst = limits.rate and math.max(0, math.floor(limits.rate.count * rules.burstShare) - 1) * call or math.huge
  local tokenBurst = limits.tokens and limits.tokens.perMs * rules.burstShare or math.huge
  local isPaced = cost.rate > 0 or scope.learned > 0
  cost.slack = (scope.learned > cost.rate or not isPaced) and 0 or math.min(burst, tokenBurst)
  cost.space = math.max(cost.rate, scope.learned)
  local slot = limits.concurrency and scope.mean / limits.concurrency or 0
  cost.plan = math.max(cost.rate, slot, math.min(scope.learned, rules.learnedPlanMaxMs))
  cost.planSlack = isPaced and cost.slack or scope.mean
  return cost
end

local function faultOf(scope)
  if scope.opens == 0 then return 0 end
  if now < scope.open then
    return math.max(scope.open - now, math.min(rules.askedMaxMs, (now - scope.since) * rules.outageShare))
  end
  if not redis.call('ZSCORE', scope.running, scope.trial) then return 0 end
  return math.min(math.max(rules.openFirstMs, scope.mean), rules.trialWaitMaxMs)
end

local function say(scope)
  advance(scope)
  local limits = scope.asked
  scope.cost = costOf(scope, asked.tokens)
  local own = tonumber(redis.call('ZSCORE', scope.places, asked.who) or nil)
  local turn = tonumber(redis.call('ZSCORE', scope.turns, asked.tenant) or nil)
  scope.isNew = not own
  scope.last = turn or 0
  scope.place = own or math.max(scope.last, scope.v)
  scope.tenants = ahead(scope) + (turn and 0 or 1)
  local isFull = limits.concurrency and redis.call('ZCARD', scope.running) >= limits.concurrency
  scope.fault = faultOf(scope)
  -- The first to come is the trial of an open circuit. Who came back for a slot that is free takes it: how long calls take is a guess.
  local isFirst = (scope.opens > 0 and scope.fault == 0) or (own and limits.concurrency and not isFull and scope.cost.space == 0)
  scope.line = isFirst and 0 or math.max(0, scope.place - scope.v - scope.cost.planSlack) * scope.tenants
  scope.room = math.max(0, scope.tat - scope.cost.slack - now)
  scope.full = isFull and math.max(rules.fullWaitMinMs, scope.mean / limits.concurrency) or 0
end

local function take(scope, at)
  redis.call('ZREM', scope.places, asked.who)
  if scope.isNew then redis.call('ZADD', scope.turns, string.format('%.17g', scope.place + scope.cost.plan), asked.tenant) end
  if scope.cost.space > 0 then scope.tat = math.max(scope.tat, at) + scope.cost.space end
  redis.call('ZADD', scope.running, string.format('%.17g', at + asked.lostMs), asked.call)
  if scope.opens > 0 then scope.trial = asked.call end
end

local function placed(scope)
  local room = math.max(scope.room, scope.full)
  if scope.fault + scope.line + room == 0 then return 0 end
  -- Its turn has come, and there is no room for it: the end of the line is where there is.
  local isPutBack = scope.fault + scope.line == 0 and room > asked.waitMaxMs
  if isPutBack then
    scope.place = math.max(scope.last, scope.v + room / scope.tenants)
    scope.line = (scope.place - scope.v) * scope.tenants
  end
  if scope.isNew or isPutBack then
    redis.call('ZADD', scope.places, string.format('%.17g', scope.place), asked.who)
    redis.call('ZADD', scope.turns, string.format('%.17g', scope.place + scope.cost.plan), asked.tenant)
  end
  return math.max(scope.fault + scope.line, room)
end

local function ask()
  local scopes, isFree, into = {}, true, 0
  for index = 1, #asked.scopes do
    local scope = load(index)
    if scope.trouble <= now then
      scope.opens, scope.learned = 0, 0
      redis.call('ZREM', troubled, scope.asked.key)
    end
    if isDeclared(scope.asked) or (scope.isKnown and scope.trouble > now) then
      say(scope)
      isFree = isFree and scope.fault + scope.line + scope.full == 0
      into = math.max(into, scope.room)
      scopes[#scopes + 1] = scope
    end
  end
  local isPassing, most, wait = isFree and into <= asked.waitMaxMs, nil, -1
  for _, scope in ipairs(scopes) do
    if isPassing then
      take(scope, now + into)
    else
      local own = placed(scope)
      if own > wait then most, wait = scope, own end
    end
    save(scope)
  end
  if isPassing then return { 'pass', string.format('%.17g', into) } end
  return { 'wait', math.ceil(wait), most.index, string.format('%.17g', most.fault), most.why }
end

local function settle(scope, more)
  scope.tat = scope.tat + more
  if more < 0 then scope.v = scope.v - more / math.max(1, ahead(scope)) end
end

local function answered(scope, ended, rate)
  scope.opens = 0
  scope.mean = scope.mean + (ended.tookMs - scope.mean) * (scope.mean == 0 and 1 or rules.meanWeight)
  if ended.tokens and scope.asked.tokens then settle(scope, costOf(scope, ended.tokens).rate - rate) end
  scope.learned = scope.learned * (scope.slow > 0 and rules.slowStartFactor or rules.fasterFactor)
  if scope.learned <= math.max(rate, rules.learnedMinMs) then scope.learned = 0 end
end

local function failed(scope, ended, rate, isTrial, isTrip)
  scope.why = ended.why
  scope.trouble = now + rules.troubleMs
  local isAsked = ended.askedMs
  if isAsked or isTrial or (isTrip and scope.opens == 0) then
    if scope.opens == 0 then
      scope.since = now
      if scope.learned == 0 and rate == 0 then scope.learned, scope.slow = rules.learnedFirstMs, 1 end
    end
    if not isAsked or scope.opens == 0 then scope.opens = scope.opens + 1 end
    local open = isAsked and math.min(ended.askedMs, rules.askedMaxMs)
      or math.min(rules.openFirstMs * 2 ^ math.min(scope.opens - 1, 10), rules.openMaxMs)
    scope.open = math.max(scope.open, now + open)
    scope.trouble = math.max(scope.trouble, scope.open + rules.troubleMs)
  end
  if ended.isLimited and now - scope.cut >= math.max(rules.openFirstMs, scope.learned) then
    local known = math.max(scope.slow > 0 and 0 or scope.learned, rate)
    scope.learned = math.min(rules.learnedMaxMs, 2 * (known > 0 and known or rules.limitedFirstMs))
    scope.slow, scope.cut = 0, now
  end
end

local function finish()
  for index = 1, #asked.scopes do
    local scope, ended = load(index), asked.ends[index]
    local isTrouble = ended.kind == 'fault' and (asked.trips[index] or ended.isLimited or ended.askedMs)
    if scope.isKnown or isTrouble then
      advance(scope)
      redis.call('ZREM', scope.running, asked.call)
      local isTrial = asked.call ~= '' and scope.trial == asked.call
      if isTrial then scope.trial = '' end
      local cost = costOf(scope, asked.tokens)
      local rate = cost.rate
      if ended.kind == 'unmade' then
        settle(scope, -cost.space)
      elseif ended.kind == 'answered' then
        answered(scope, ended, rate)
      elseif ended.kind == 'fault' then
        failed(scope, ended, rate, isTrial, asked.trips[index])
      end
      save(scope)
    end
  end
end

-- Calls under way count as lost after a while, unless their process says again that they are. KEYS are those of running calls alone.
local function renew()
  local lost = string.format('%.17g', now + asked.lostMs)
  for at, calls in ipairs(asked.calls) do
    for _, call in ipairs(calls) do redis.call('ZADD', KEYS[at], 'XX', lost, call) end
  end
end

if ARGV[1] == 'ask' then return ask() end
if ARGV[1] == 'end' then return finish() end
return renew()
