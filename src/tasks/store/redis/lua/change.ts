import { TASK_STATUSES } from '../../../model/task.ts';
import { EVENT_NUMBER as E } from './records.ts';

/**
 *     ARGV    time, id, `[action, version or false, actor, patch]` (JSON), payload
 *     returns hints, `done` or `unchanged` or the reason of a refusal, record or nothing
 */
export const CHANGE = `local action, expected, actor, patch = unpack(cjson.decode(ARGV[3]))
resolveTimes(patch)
local x = open(ARGV[2])
if not x then return { false, 'missing' } end
local f = x.f
if expected and expected ~= f[F_version] then return { false, 'version', pack(f) } end
local waits = x.status == SCHEDULED or x.status == RETRY
local isFinal = x.status >= SUCCEEDED

local function refuse(reason) return { false, reason, pack(f) } end
local function unchanged() return { false, 'unchanged', pack(f) } end
local function done(event, changed)
  touch(x)
  log(x, event, f[F_attempt], actor, nil, nil, nil, changed)
  local text = save(x)
  wake(f)
  return { hints(), 'done', text }
end
local function ended(event, status)
  finish(x, status)
  touch(x)
  log(x, event, f[F_attempt], actor)
  local text = save(x)
  release(x)
  if f[F_onFinish] then callBack(x) end
  return { hints(), 'done', text }
end

local actions = {}
function actions.update()
  if isFinal then return refuse('status') end
  if x.status == RUNNING then
    patch.retry = nil
    local p = patch
    local parts = (p.payload or p.headers ~= nil) and body(x.id)
    local function differs(field, value) return value ~= nil and f[field] ~= value end
    if differs(F_type, p.type) or differs(F_band, p.band) or differs(F_runAt, p.runAt)
      or differs(F_expires, p.expiresAt) or differs(F_timeout, p.timeoutMs)
      or p.payload and parts[1] ~= (p.hasPayload and ARGV[4])
      or p.headers ~= nil and parts[2] ~= p.headers then
      return refuse('status')
    end
  end
  local runAt = f[F_runAt]
  local changed = edit(x, patch, patch.hasPayload and ARGV[4])
  if #changed == 0 then return unchanged() end
  if f[F_runAt] ~= runAt and not f[F_held] then f[F_due] = f[F_runAt] end
  return done(${E.updated}, table.concat(changed, ','))
end
function actions.pause()
  if x.status == PAUSED then return unchanged() end
  if not waits then return refuse('status') end
  f[F_status] = PAUSED
  return done(${E.paused})
end
function actions.resume()
  if waits then return unchanged() end
  if x.status ~= PAUSED then return refuse('status') end
  f[F_status] = f[F_started] and RETRY or SCHEDULED
  return done(${E.resumed})
end
function actions.cancel()
  if x.status == CANCELED then return unchanged() end
  if isFinal then return refuse('status') end
  if x.status == RUNNING then
    if f[F_cancel] then return unchanged() end
    f[F_cancel] = now
    return done(${E.cancel_requested})
  end
  return ended(${E.canceled}, CANCELED)
end
function actions.replay()
  if not isFinal or call('HEXISTS', P .. 'D:worker', f[F_worker]) == 0 then return refuse('status') end
  if f[F_key] then
    local holder, freeAt = holderOf(f)
    if holder and holder ~= x.id and (not freeAt or freeAt > now) then return refuse('key_taken') end
    hold(f, x.id, false)
  end
  local changed = edit(x, patch, patch.hasPayload and ARGV[4])
  f[F_status], f[F_due], f[F_attempt], f[F_deferrals] = SCHEDULED, patch.runAt or now, 0, 0
  f[F_cancel], f[F_started], f[F_finished] = false, false, false
  if f[F_expires] and f[F_expires] <= now then f[F_expires] = false end
  forgetLease(f)
  local parts = body(x.id)
  if parts[3] then
    parts[3] = false
    saveBody(x.id, parts)
  end
  return done(${E.replayed}, #changed > 0 and table.concat(changed, ',') or nil)
end
function actions.run()
  if not waits or f[F_held] then return refuse('status') end
  f[F_due] = now
  return done(${E.updated}, 'run_at')
end
function actions.expire()
  if not waits or not f[F_expires] or f[F_expires] > now then return refuse('status') end
  return ended(${E.expired}, EXPIRED)
end
return actions[action]()
`;

/** ARGV: time, id, version or empty. Returns hints and the result. */
export const REMOVE = `local x = open(ARGV[2])
if not x then return { false, 'missing' } end
local expected = tonumber(ARGV[3])
if expected and expected ~= x.f[F_version] then return { false, 'version' } end
if x.status == RUNNING then return { false, 'running' } end
erase(x)
return { hints(), 'removed' }
`;

/** Number of keys that one step scans. */
const SCANNED = 1_000;

/**
 * Removes the keys of a tenant without tasks, except its documents. Their names are not stored anywhere, so all keys of the
 * server are scanned, some in each step.
 *
 *     ARGV    time, place in the scan
 *     returns the next place, `0` at the end
 */
export const FORGET = `for status = 0, ${TASK_STATUSES.length - 1} do
  if call('EXISTS', P .. 's:' .. status) == 1 then return { '0' } end
end
local pattern = string.gsub(P, '[%*%?%[%]%^\\\\]', '\\\\%0') .. '*'
local found = call('SCAN', ARGV[2], 'MATCH', pattern, 'COUNT', ${SCANNED})
local documents = { A = true, D = true, N = true, P = true, Z = true }
for _, name in ipairs(found[2]) do
  if not documents[string.sub(name, #P + 1, #P + 1)] then call('UNLINK', name) end
end
return { found[1] }
`;

/** ARGV: time, how long succeeded tasks are kept, how long others are kept, max. Returns hints and the number removed. */
export const PURGE = `local count = 0
local function purge(list, keepMs)
  local left = tonumber(ARGV[4]) - count
  if left <= 0 then return end
  local ids = call('ZRANGE', P .. list, '-inf', '(' .. string.format('%.17g', now - keepMs), 'BYSCORE', 'LIMIT', 0, left)
  for i = 1, #ids do
    local x = open(ids[i])
    if x then erase(x) else call('ZREM', P .. list, ids[i]) end
    count = count + 1
  end
end
purge('e:s', tonumber(ARGV[2]))
purge('e:o', tonumber(ARGV[3]))
return { hints(), count }
`;
