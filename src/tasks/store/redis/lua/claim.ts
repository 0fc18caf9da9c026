import { BAND_PENALTIES_MS, PRIORITIES } from '../../../model/task-content.ts';
import { READ_BYTES } from '../../task-store.ts';
import { EVENT_NUMBER as E } from './records.ts';

/** Maximum number of expired tasks that one step removes from the queues, so that a call does not block others for long. */
const MAX_ASIDE = 5_000;

/** Maximum number of groups that one claim reads for tasks to start. */
const MAX_GROUPS = 32;
/** Maximum number of groups that one claim reads for the next due time, or to find a full one. */
const MAX_CHECKED = 8;

/** Maximum number of expired tasks at the beginning of the line of a group that a read skips. */
const MAX_EXPIRED_SKIPPED = 1_000;

/** Reads waiting tasks of a worker in the order of due time. Expired tasks are removed from the queues. */
const WAITING = `local queues = P .. 'd:' .. worker .. ':'
local mayExpire = call('EXISTS', P .. 'x') == 1
local aside = 0
local behind = false
local function waiting(queue, from, to, count)
  while true do
    local found = call('ZRANGE', queue, from, to, 'BYSCORE', 'LIMIT', 0, count, 'WITHSCORES')
    if not mayExpire or #found == 0 then return found end
    if aside >= ${MAX_ASIDE} then
      behind = true
      return {}
    end
    local ids = {}
    for i = 1, #found, 2 do ids[#ids + 1] = found[i] end
    local expiries = call('ZMSCORE', P .. 'x', unpack(ids))
    local over = {}
    for i = 1, #ids do
      if expiries[i] and tonumber(expiries[i]) <= now then over[#over + 1] = ids[i] end
    end
    if #over == 0 then return found end
    call('ZREM', queue, unpack(over))
    aside = aside + #over
  end
end
local function earliest(ofGroup)
  local least = false
  for band = 0, ${PRIORITIES.length - 1} do
    local at = tonumber(waiting(queues .. band .. ofGroup, '-inf', '+inf', 1)[2])
    if at and (not least or at < least) then least = at end
  end
  return least
end
local function sooner(a, b)
  if a and b then return math.min(a, b) end
  return a or b or false
end
local GROUPS, FULL = P .. 'G:' .. worker, P .. 'F:' .. worker
`;

/** Computes the tokens of a bucket at the current time. */
const FILLED = `local function filled(tokens, at, limit, perMs, burst)
  if not tokens then return burst end
  -- If the clock was set back, for example by a failover, no tokens are removed.
  return math.min(burst, tokens + (math.max(0, now - at) * limit) / perMs)
end
`;

/**
 * Reads the groups of a worker. `look` returns `candidates` (by band, id and due time in turns), or `full`, or when the next
 * task is due (`due`) and when to read the group again (`at`), which is earlier if that task expires first.
 */
const GROUP_LINES = `local limit, fifo = false, false
if groups then limit, fifo = groups[1], groups[2] end
local hasGroups = call('EXISTS', GROUPS, FULL) > 0
local function expiryOf(id)
  return mayExpire and tonumber(call('ZSCORE', P .. 'x', id) or nil)
end
local function lookAtFirst(group, room)
  local line = P .. 'f:' .. worker .. ':' .. group
  while true do
    local id = call('ZRANGE', line, 0, 0)[1]
    if not id then return {} end
    local expires = expiryOf(id)
    if expires and expires <= now then
      call('ZREM', line, id)
      aside = aside + 1
    else
      local f = open(id).f
      local due = f[F_due]
      if due > now then return { due = due, at = math.min(due, expires or due) } end
      if room == 0 then return { full = true } end
      return { candidates = { [f[F_band]] = { id, due } } }
    end
  end
end
local function lookAtAll(group, room)
  local candidates, any = {}, false
  for band = 0, ${PRIORITIES.length - 1} do
    local found = waiting(queues .. band .. ':' .. group, '-inf', now, math.max(1, room))
    if #found > 0 then
      candidates[band] = found
      any = true
    end
  end
  if any and room == 0 then return { full = true } end
  if any then return { candidates = candidates, room = room } end
  local due = earliest(':' .. group)
  return { due = due, at = due }
end
local function look(group)
  local room = want + 1
  if limit then
    local running = call('SCARD', P .. 'r:' .. worker .. ':' .. group)
    room = math.min(room, math.max(0, limit - running))
  end
  local found = fifo and lookAtFirst(group, room) or lookAtAll(group, room)
  if found.candidates then call('ZADD', GROUPS, ms(now), group)
  elseif found.at then call('ZADD', GROUPS, ms(found.at), group)
  else call('ZREM', GROUPS, group) end
  if found.full then call('ZADD', FULL, limit, group) else call('ZREM', FULL, group) end
  return found
end
local function dueGroups()
  -- No limit is stored as 0. No group can be full at a limit of 0.
  local others = call('ZRANGE', FULL, '-inf', '(' .. (limit or 0), 'BYSCORE')
  for _, group in ipairs(call('ZRANGE', FULL, '(' .. (limit or 0), '+inf', 'BYSCORE')) do others[#others + 1] = group end
  for _, group in ipairs(others) do
    call('ZREM', FULL, group)
    call('ZADD', GROUPS, ms(now), group)
  end
  local found = {}
  for _, group in ipairs(call('ZRANGE', GROUPS, '-inf', now, 'BYSCORE', 'LIMIT', 0, ${MAX_GROUPS})) do
    local at = call('ZSCORE', GROUPS, group)
    local line = look(group)
    if line.candidates then
      -- The place of a group in the line changes only when it is served.
      call('ZADD', GROUPS, at, group)
      found[group] = line
    end
  end
  return found
end
local function nextOfGroups()
  local full, at = false, false
  local known = call('ZRANGE', FULL, 0, ${MAX_CHECKED - 1})
  for _, group in ipairs(known) do
    if look(group).full then
      full = true
      break
    end
  end
  full = full or #known == ${MAX_CHECKED}
  local found = call('ZRANGE', GROUPS, 0, ${MAX_CHECKED - 1}, 'WITHSCORES')
  for i = 1, #found, 2 do
    local atMost = tonumber(found[i + 1])
    if at and atMost >= at then break end
    if i == ${2 * MAX_CHECKED - 1} or atMost <= now then return math.max(atMost, now), full end
    at = sooner(at, look(found[i]).due)
  end
  return at, full
end
`;

/**
 *     ARGV    time, `[worker, concurrency, rate, tenantInFlight, tenantPerSecond, push, ms, actor, groups]` (JSON), leases…
 *     returns hints, now, time of the next claim, what blocked; then for each task: id, record, body, end of lease, due
 */
export const CLAIM = `local worker, concurrency, rate, tenantInFlight, tenantPerSecond, push, leaseMs, actor, groups =
  unpack(cjson.decode(ARGV[2]))
local want = #ARGV - 2
${WAITING}
${GROUP_LINES}
local penalties = { [0] = ${PRIORITIES.map(name => BAND_PENALTIES_MS[name]).join(', ')} }

-- Merges the heads of the five queues and of the queues of the groups.
local function candidates()
  local heads = {}
  for band = 0, ${PRIORITIES.length - 1} do
    local found = waiting(queues .. band, '-inf', now, want + 1)
    if #found > 0 then heads[#heads + 1] = { found, 1, tonumber(found[2]) + penalties[band] } end
  end
  local rooms, of = {}, {}
  if hasGroups then
    for group, line in pairs(dueGroups()) do
      rooms[group] = line.room or 1
      for band, found in pairs(line.candidates) do
        heads[#heads + 1] = { found, 1, tonumber(found[2]) + penalties[band], group }
      end
    end
  end
  local ids, dues = {}, {}
  while #ids <= want and #heads > 0 do
    local best = 1
    for i = 2, #heads do
      local a, b = heads[i], heads[best]
      if a[3] < b[3] or a[3] == b[3] and a[1][a[2]] < b[1][b[2]] then best = i end
    end
    local head = heads[best]
    local found, at, group = head[1], head[2], head[4]
    local due = tonumber(found[at + 1])
    if not group or rooms[group] > 0 then
      ids[#ids + 1] = found[at]
      dues[#dues + 1] = due
      if group then
        rooms[group] = rooms[group] - 1
        of[#ids] = group
      end
    end
    if found[at + 2] then
      head[2] = at + 2
      head[3] = tonumber(found[at + 3]) + head[3] - due
    else
      table.remove(heads, best)
    end
  end
  return ids, dues, of
end

${FILLED}local function nextToken(tokens, limit, perMs)
  return now + math.max(1, math.ceil(((1 - tokens) * perMs) / limit))
end

local ids, dues, of = candidates()
local more = #ids > want
local count = more and want or #ids
local started = 0
local blocked, nextAt = false, false
local ofWorker, ofTenant, throttledUntil
if #ids > 0 then
  local text = call('GET', P .. 'B:' .. worker)
  local bucket = text and unpacked(text) or { 0, false, false }
  throttledUntil = bucket[1]
  if rate then ofWorker = filled(bucket[2], bucket[3], rate[1], rate[2], rate[3]) end
  text = call('GET', P .. 'T')
  local tenant = text and unpacked(text) or { false, false }
  ofTenant = filled(tenant[1], tenant[2], tenantPerSecond, 1000, tenantPerSecond)
  local bounds = {
    { 'throttled', throttledUntil > now and 0 or math.huge },
    { 'concurrency', concurrency and math.max(0, concurrency - call('ZCARD', P .. 'w:' .. worker .. ':' .. RUNNING)) or math.huge },
    { 'rate', rate and math.floor(ofWorker) or math.huge },
    { 'tenant_in_flight', math.max(0, tenantInFlight - call('ZCARD', P .. 's:' .. RUNNING)) },
    { 'tenant_rate', math.floor(ofTenant) },
  }
  local least = bounds[1]
  for i = 2, #bounds do
    if bounds[i][2] < least[2] then least = bounds[i] end
  end
  local room = math.min(count, least[2])
  local bytes = 0
  while started < room and bytes < ${READ_BYTES} do
    started = started + 1
    bytes = bytes + call('STRLEN', P .. 'b:' .. ids[started])
  end
  more = more or started < room
  -- A claim without leases is blocked by what would block a claim of one task.
  if least[2] < math.max(1, count) and started == room then blocked = least[1] end
  if rate then
    ofWorker = ofWorker - started
    call('SET', P .. 'B:' .. worker, pack({ throttledUntil, ofWorker, now }))
  end
  ofTenant = ofTenant - started
  call('SET', P .. 'T', pack({ ofTenant, now }))
end

local reply = { false, now, false, false }
if started > 0 then
  local records, bodies = {}, {}
  for i = 1, started do
    records[i] = P .. 'k:' .. ids[i]
    bodies[i] = P .. 'b:' .. ids[i]
  end
  records = call('MGET', unpack(records))
  bodies = call('MGET', unpack(bodies))
  for i = 1, started do
    local id, lease = ids[i], ARGV[2 + i]
    local x = open(id, records[i])
    local f = x.f
    forgetLease(f)
    local last = now + f[F_timeout]
    f[F_lease] = lease
    if push then
      f[F_leaseCap] = last + leaseMs
      f[F_leaseUntil] = last + leaseMs
    else
      f[F_leaseCap] = last
      f[F_leaseUntil] = now + math.min(leaseMs, f[F_timeout])
    end
    f[F_began], f[F_wake] = now, push
    f[F_status], f[F_due], f[F_attempt] = RUNNING, false, f[F_attempt] + 1
    f[F_started] = f[F_started] or now
    touch(x)
    log(x, ${E.started}, f[F_attempt], actor, string.sub(lease, -4))
    call('SET', P .. 'L:' .. lease, id)
    local at = #reply
    reply[at + 1] = id
    reply[at + 2] = save(x)
    reply[at + 3] = bodies[i]
    reply[at + 4] = f[F_leaseUntil]
    reply[at + 5] = dues[i]
  end
end

if hasGroups then
  local served = {}
  for i = 1, started do
    local group = of[i]
    if group and not served[group] then
      served[group] = true
      look(group)
    end
  end
end

if blocked == 'throttled' then
  nextAt = throttledUntil
elseif blocked == 'rate' then
  nextAt = nextToken(ofWorker, rate[1], rate[2])
elseif blocked == 'tenant_rate' then
  nextAt = nextToken(ofTenant, tenantPerSecond, 1000)
elseif blocked then
  nextAt = now + 1000
else
  local full
  if not more then
    nextAt = earliest('')
    if hasGroups then
      local at
      at, full = nextOfGroups()
      nextAt = sooner(nextAt, at)
    end
  end
  if more or behind then nextAt = now end
  if full and not (nextAt and nextAt <= now) then
    blocked = 'group'
    nextAt = sooner(nextAt, now + 1000)
  end
end
reply[1], reply[3], reply[4] = hints(), nextAt, blocked
return reply
`;

/** ARGV: time, worker. Returns when the earliest waiting task of the worker is due, or false. */
export const PEEK_WORKER = `local worker = ARGV[2]
${WAITING}
local at = sooner(earliest(''), tonumber(call('ZRANGE', GROUPS, 0, 0, 'WITHSCORES')[2]))
if call('EXISTS', FULL) == 1 then at = sooner(at, now) end
return at
`;

/**
 * Returns what would block a claim of each worker. Changes nothing.
 *
 *     ARGV    time, `[tenantInFlight, tenantPerSecond]`, then for each worker `[worker, concurrency, rate, place]`
 *             (JSON), where the place is false or `[group, limit, fifo, task]`
 *     returns for each worker the name of the bound that leaves no room, or false
 */
export const BLOCKS = `${FILLED}
local tenantInFlight, tenantPerSecond = unpack(cjson.decode(ARGV[2]))
local text = call('GET', P .. 'T')
local bucket = text and unpacked(text) or { false, false }
local ofTenant = filled(bucket[1], bucket[2], tenantPerSecond, 1000, tenantPerSecond)
local running = call('ZCARD', P .. 's:' .. RUNNING)
-- Skips expired tasks, which a claim would remove.
local function firstOf(line)
  for from = 0, ${MAX_EXPIRED_SKIPPED - 100}, 100 do
    local ids = call('ZRANGE', line, from, from + 99)
    if #ids == 0 then return nil end
    local expiries = call('ZMSCORE', P .. 'x', unpack(ids))
    for i = 1, #ids do
      if not expiries[i] or tonumber(expiries[i]) > now then return ids[i] end
    end
  end
end
local function isHeldByGroup(worker, place)
  local group, limit, fifo, id = unpack(place)
  if call('SCARD', P .. 'r:' .. worker .. ':' .. group) >= limit then return true end
  local first = fifo and firstOf(P .. 'f:' .. worker .. ':' .. group)
  return first and first ~= id
end
local function blockOf(worker, concurrency, rate, place)
  if place and isHeldByGroup(worker, place) then return 'group' end
  text = call('GET', P .. 'B:' .. worker)
  bucket = text and unpacked(text) or { 0, false, false }
  if bucket[1] > now then return 'throttled' end
  if concurrency and call('ZCARD', P .. 'w:' .. worker .. ':' .. RUNNING) >= concurrency then return 'concurrency' end
  if rate and filled(bucket[2], bucket[3], rate[1], rate[2], rate[3]) < 1 then return 'rate' end
  if running >= tenantInFlight then return 'tenant_in_flight' end
  return ofTenant < 1 and 'tenant_rate'
end
local reply = {}
for i = 3, #ARGV do reply[i - 2] = blockOf(unpack(cjson.decode(ARGV[i]))) end
return reply
`;
