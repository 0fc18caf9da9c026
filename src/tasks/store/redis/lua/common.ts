import { FINAL_STATUSES, HISTORY_FIRST_KEPT, HISTORY_LAST_KEPT } from '../../../model/task.ts';
import { MAX_CALLBACK_RESULT } from '../../documents.ts';
import { EVENT_NUMBER as E } from './records.ts';

const STATUS_WORDS = FINAL_STATUSES.map(status => `'${status}'`).join(', ');

/**
 * Begins every script. Names of statuses (`RUNNING`) and of fields (`F_status`) are replaced by numbers in the text of the
 * script, because local variables would cost more than most scripts.
 *
 *     KEYS    the prefix of all keys of the tenant, and another name in the same slot. No key has either name. With two
 *             missing keys, Redis Cluster rejects the script while the slot is being migrated (ASK from the old node,
 *             TRYAGAIN from the new one). Otherwise the script would see only a part of the keys
 *     ARGV    first: the time in milliseconds, or empty for the time of Redis
 *
 * Keys, after the prefix (`<w>`: id of a worker, `<s>`: number of a status):
 *
 *     k:<task>  record        b:<task>  body [payload, headers, result]       h:<task>, g:<task>  history: first, last
 *     s:<s>, w:<w>:<s>, c:<schedule>:<s>  sorted by id: tasks of a status, also of a worker or of a schedule
 *     d:<w>:<band>  by due time, of tasks without a group; d:<w>:<band>:<group> of one group, d:<w>:g of all groups
 *     l  by end of lease     x  by expiresAt      e:s, e:o  by end: succeeded, others
 *     L:<lease>  task        u:<w>:<key>  [holder, free at]      q:<task>  tasks held by it      i:<scope>:<key>  answer
 *     y  sorted: `key id` of each task that has a key
 *     f:<w>:<group>  waiting tasks of a group by runAt     r:<w>:<group>  those that run
 *     G:<w>  groups by the time at which a claim must read them, never later than they have a task to start     F:<w>  groups
 *     with due tasks at their limit, by that limit: they are not in G until one of their tasks ends
 *     B:<w>  [throttled until, tokens, at]     T  [tokens, at]
 *     U:<length>:<start>  usage of an interval by worker
 *     D:<kind>  documents by id     A:<kind>, P:<kind>:<parent>  ids     N  names     Z  `kind|id` by due time
 *
 * All counts are ZCARDs of these keys, so no counter can be wrong.
 */
export const BEGIN = `local call, pack, unpacked, P = redis.call, cmsgpack.pack, cmsgpack.unpack, KEYS[1]
local now = tonumber(ARGV[1])
local ticks = not now
if ticks then
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local function ms(time) return string.format('%d', time) end
`;

/**
 * Reads and writes tasks and their places in the indexes. `hints` returns the hints to set in other slots: the earliest
 * lease end or expiry that was set, workers with the times at which to wake them, and the due time of written callbacks.
 */
export const TASKS = `local reapAt, wakes, callbacksAt = false, {}, false
local function hints()
  if not reapAt and #wakes == 0 and not callbacksAt then return false end
  return pack({ reapAt, wakes, callbacksAt })
end
local function wake(f)
  if f[F_wake] and f[F_due] and f[F_status] ~= PAUSED then
    wakes[#wakes + 1] = f[F_worker]
    wakes[#wakes + 1] = f[F_due]
  end
end
local function place(x)
  local f = x.f
  local status = f[F_status]
  local waits = status == SCHEDULED or status == RETRY
  return status, waits and f[F_due], f[F_band], waits and f[F_expires],
    status == RUNNING and f[F_leaseUntil], status >= SUCCEEDED and f[F_finished]
end
local function open(id, text)
  text = text or call('GET', P .. 'k:' .. id)
  if not text then return nil end
  local x = { id = id, f = unpacked(text) }
  x.status, x.due, x.band, x.expires, x.lease, x.ended = place(x)
  return x
end
local function inLists(x, command, status, ...)
  local f = x.f
  call(command, P .. 's:' .. status, ...)
  call(command, P .. 'w:' .. f[F_worker] .. ':' .. status, ...)
  if f[F_schedule] then call(command, P .. 'c:' .. f[F_schedule] .. ':' .. status, ...) end
end
local function sooner(at)
  if at and (not reapAt or at < reapAt) then reapAt = at end
end
local function endKey(status) return P .. (status == SUCCEEDED and 'e:s' or 'e:o') end
local function lookAt(worker, group, at)
  if call('ZSCORE', P .. 'F:' .. worker, group) then return end
  call('ZADD', P .. 'G:' .. worker, 'LT', ms(at), group)
end
local function tail(f)
  return f[F_group] and ':' .. f[F_group] or ''
end
-- Must run before save updates the places of the task in x.
local function followGroup(x, status, due)
  local f, id = x.f, x.id
  local worker, group = f[F_worker], f[F_group]
  local name = worker .. ':' .. group
  local ran, runs = x.status == RUNNING, status == RUNNING
  -- In a fifo group, the next task may start when one leaves the line or moves back in it.
  local madeWay = x.due and not runs and not due
  if x.due and due then madeWay = tonumber(call('ZSCORE', P .. 'f:' .. name, id) or f[F_runAt]) < f[F_runAt] end
  if due then
    call('ZADD', P .. 'f:' .. name, ms(f[F_runAt]), id)
    call('ZADD', P .. 'd:' .. worker .. ':g', ms(due), id)
  elseif x.due then
    call('ZREM', P .. 'f:' .. name, id)
    call('ZREM', P .. 'd:' .. worker .. ':g', id)
  end
  if not x.status then
    if due then lookAt(worker, group, due) end
  elseif runs then
    if not ran then call('SADD', P .. 'r:' .. name, id) end
  else
    if ran then
      call('SREM', P .. 'r:' .. name, id)
      call('ZREM', P .. 'F:' .. worker, group)
    end
    if f[F_wake] and (ran or madeWay) then
      wakes[#wakes + 1] = worker
      wakes[#wakes + 1] = now
    end
    if call('EXISTS', P .. 'f:' .. name) == 1 then lookAt(worker, group, now)
    else
      call('ZREM', P .. 'F:' .. worker, group)
      call('ZREM', P .. 'G:' .. worker, group)
    end
  end
end
local function save(x)
  local f, id = x.f, x.id
  local text = pack(f)
  call('SET', P .. 'k:' .. id, text)
  local status, due, band, expires, lease, ended = place(x)
  if status ~= x.status then
    if x.status then inLists(x, 'ZREM', x.status, id) end
    inLists(x, 'ZADD', status, '0', id)
  end
  local queue = P .. 'd:' .. f[F_worker] .. ':'
  local ofGroup = tail(f)
  if x.due and (not due or band ~= x.band) then call('ZREM', queue .. x.band .. ofGroup, id) end
  -- A claim may have removed it from the queue as expired. With a new expiry it is added again.
  if due and (due ~= x.due or band ~= x.band or expires ~= x.expires) then call('ZADD', queue .. band .. ofGroup, ms(due), id) end
  if f[F_group] then followGroup(x, status, due) end
  if expires ~= x.expires then
    if expires then
      call('ZADD', P .. 'x', ms(expires), id)
      sooner(expires)
    elseif x.expires then call('ZREM', P .. 'x', id) end
  end
  if lease ~= x.lease then
    if lease then
      call('ZADD', P .. 'l', ms(lease), id)
      sooner(lease)
    elseif x.lease then call('ZREM', P .. 'l', id) end
  end
  if ended ~= x.ended then
    if x.ended then call('ZREM', endKey(x.status), id) end
    if ended then call('ZADD', endKey(status), ms(ended), id) end
  end
  x.status, x.due, x.band, x.expires, x.lease, x.ended = status, due, band, expires, lease, ended
  return text
end
local function record(x, entry)
  local f, id, size = x.f, x.id, #entry
  while not entry[size] do
    entry[size] = nil
    size = size - 1
  end
  local entries = f[F_entries] + 1
  f[F_entries] = entries
  if entries <= ${HISTORY_FIRST_KEPT} then
    call('RPUSH', P .. 'h:' .. id, pack(entry))
  else
    call('RPUSH', P .. 'g:' .. id, pack(entry))
    if entries > ${HISTORY_FIRST_KEPT + HISTORY_LAST_KEPT} then call('LTRIM', P .. 'g:' .. id, -${HISTORY_LAST_KEPT}, -1) end
  end
end
local function log(x, event, attempt, actor, suffix, http, failure, changed)
  local f = x.f
  record(x, {
    now, event, x.status or false, f[F_status], attempt, actor,
    suffix or false, http or false, failure or false, f[F_due], changed or false,
  })
end
local function touch(x)
  local f = x.f
  f[F_version] = f[F_version] + 1
  f[F_updated] = now
end
local function body(id)
  local text = call('GET', P .. 'b:' .. id)
  return text and unpacked(text) or { false, false, false }
end
local function saveBody(id, parts)
  if parts[1] or parts[2] or parts[3] then
    call('SET', P .. 'b:' .. id, pack(parts))
  else
    call('DEL', P .. 'b:' .. id)
  end
end
local function forgetLease(f)
  if f[F_lease] then call('DEL', P .. 'L:' .. f[F_lease]) end
  f[F_lease], f[F_leaseUntil], f[F_leaseCap], f[F_settled] = false, false, false, false
end
local function holderOf(f)
  local text = call('GET', P .. 'u:' .. f[F_worker] .. ':' .. f[F_key])
  if not text then return nil end
  local holder = unpacked(text)
  return holder[1], holder[2]
end
local function hold(f, id, freeAt)
  call('SET', P .. 'u:' .. f[F_worker] .. ':' .. f[F_key], pack({ id, freeAt }))
end
`;

/**
 * Handles the end of a task: its key becomes free after some time or returns to the task that held it, and tasks that it
 * held are released. For a task with a callback (`F_onFinish`), a document is written.
 */
export const ENDING = `local function release(holder)
  if not holder.f[F_holds] then return end
  local id = holder.id
  local list = P .. 'q:' .. id
  local ids = call('ZRANGE', list, '0', '-1')
  call('DEL', list)
  for i = 1, #ids do
    local x = open(ids[i])
    if x and x.f[F_held] == id then
      local f = x.f
      f[F_held] = false
      f[F_due] = math.max(f[F_runAt], now)
      touch(x)
      log(x, ${E.updated}, f[F_attempt], 'system:store', nil, nil, nil, 'held_by')
      save(x)
      wake(f)
    end
  end
end
local function leave(x, freeAt)
  local f = x.f
  local holder = f[F_held]
  if holder then call('ZREM', P .. 'q:' .. holder, x.id) end
  if f[F_key] and holderOf(f) == x.id then
    local other = holder and open(holder)
    if other and other.f[F_key] == f[F_key] and other.f[F_worker] == f[F_worker] then
      hold(f, holder, false)
    elseif freeAt and freeAt > now then
      hold(f, x.id, freeAt)
      if ticks then call('PEXPIREAT', P .. 'u:' .. f[F_worker] .. ':' .. f[F_key], ms(freeAt)) end
    else
      call('DEL', P .. 'u:' .. f[F_worker] .. ':' .. f[F_key])
    end
  end
  f[F_held] = false
end
local function finish(x, status)
  local f = x.f
  f[F_status], f[F_due], f[F_finished] = status, false, now
  leave(x, now + f[F_keyTtl])
end
-- Writes the same document as callbackDocument. Must run after save.
local function callBack(x)
  local f, id, text = x.f, x.id, cjson.encode
  local bits, worker = string.match(f[F_onFinish], '^(%d+) (.+)$')
  local at = f[F_status] - SUCCEEDED
  if math.floor(bits / 2 ^ at) % 2 == 0 then return end
  local whole = body(id)
  local result, trace = at == 0 and whole[3], whole[2] and cjson.decode(whole[2])[':trace']
  local omitted = result and #result > ${MAX_CALLBACK_RESULT}
  if omitted then result = false end
  local told = table.concat({
    '{"taskId":', text(id), ',"workerId":', text(f[F_worker]), ',"worker":', text(cjson.decode(f[F_fixed])[1]),
    ',"type":', f[F_type] and text(f[F_type]) or 'null', ',"key":', f[F_key] and text(f[F_key]) or 'null',
    ',"tags":', f[F_tags] or '[]', ',"status":"', ({ ${STATUS_WORDS} })[at + 1], '","attempt":', ms(f[F_attempt]),
    ',"lastError":', f[F_error] and '{"at":' .. ms(f[F_errorAt]) .. ',' .. string.sub(f[F_error], 2) or 'null',
    ',"result":', result and text(result) or 'null', ',"resultOmitted":', omitted and 'true' or 'false',
    ',"finishedAt":', ms(f[F_finished]), trace and ',"trace":' .. text(trace) or '', '}',
  })
  local name = id .. '.' .. ms(f[F_version])
  call('HSET', P .. 'D:callback', name, pack({ 1, worker, f[F_finished], {}, told }))
  call('ZADD', P .. 'A:callback', '0', name)
  call('ZADD', P .. 'P:callback:' .. worker, '0', name)
  call('ZADD', P .. 'Z', ms(f[F_finished]), 'callback|' .. name)
  callbacksAt = f[F_finished]
end
local function erase(x)
  local f, id = x.f, x.id
  call('DEL', P .. 'k:' .. id, P .. 'b:' .. id, P .. 'h:' .. id, P .. 'g:' .. id)
  inLists(x, 'ZREM', x.status, id)
  if f[F_key] then call('ZREM', P .. 'y', f[F_key] .. ' ' .. id) end
  if x.due then call('ZREM', P .. 'd:' .. f[F_worker] .. ':' .. x.band .. tail(f), id) end
  if f[F_group] then followGroup(x, x.status, false) end
  if x.expires then call('ZREM', P .. 'x', id) end
  if x.ended then call('ZREM', endKey(x.status), id) end
  forgetLease(f)
  leave(x, false)
  release(x)
end
`;
