import { OWN_FIELDS } from '../../../model/task-content.ts';
import { EVENT_NUMBER as E, LATER_FIELDS } from './records.ts';

/** Changes the content of a task, for updates and for new tasks that replace one. Delays count from now. */
export const EDIT = `local function resolveTimes(p)
  if p.runIn then p.runAt = now + p.runIn end
  if p.expiresIn then p.expiresAt = now + p.expiresIn end
end
local function edit(x, p, payload)
  local f, id, changed = x.f, x.id, {}
  local function set(field, name, value)
    if value ~= nil and f[field] ~= value then
      f[field] = value
      changed[#changed + 1] = name
    end
  end
  set(F_type, 'type', p.type)
  if p.payload or p.headers ~= nil then
    local parts = body(id)
    local before = #changed
    if p.payload and parts[1] ~= payload then
      parts[1] = payload
      changed[#changed + 1] = 'payload'
    end
    if p.headers ~= nil and parts[2] ~= p.headers then
      parts[2] = p.headers
      changed[#changed + 1] = 'headers'
    end
    if #changed > before then saveBody(id, parts) end
  end
  set(F_band, 'priority', p.band)
  set(F_runAt, 'run_at', p.runAt)
  set(F_expires, 'expires_at', p.expiresAt)
  set(F_timeout, 'timeout', p.timeoutMs)
  if p.maxAttempts and (p.maxAttempts ~= f[F_maxAttempts] or p.retry and p.retry ~= f[F_retry]) then
    f[F_maxAttempts] = p.maxAttempts
    f[F_retry] = p.retry or f[F_retry]
    changed[#changed + 1] = 'retry'
  end
${OWN_FIELDS.filter(name => name !== 'type')
  .map(name => `  set(F_${name}, '${name}', p.${name})\n`)
  .join('')}  return changed
end
`;

/**
 *     ARGV    time, `[atomic, maxOpen, actor, idempotency, documents]` (JSON); then for each task: its fields (JSON) and its
 *             payload
 *     returns hints, `reused` · hints, `replayed`, results, note · hints, `documents`, index, reason · hints, `done`,
 *             results. Results are packed: for each task `[kind, id, record, key free at]`
 */
export const CREATE = `local atomic, maxOpen, actor, idem, changes = unpack(cjson.decode(ARGV[2]))
local known = recalled(idem)
if known then
  if known[1] ~= idem[2] then return { false, 'reused' } end
  return { false, 'replayed', known[4], known[3] }
end
-- All arguments are decoded before the first write, because Redis does not roll back a script that fails.
local items = {}
for i = 3, #ARGV, 2 do
  local item = cjson.decode(ARGV[i])
  resolveTimes(item)
  items[#items + 1] = item
end
if changes then
  local versions, index, reason = applyAll(changes)
  if not versions then return { false, 'documents', index, reason } end
end
local opened = 0
for status = SCHEDULED, PAUSED do opened = opened + call('ZCARD', P .. 's:' .. status) end

local function holder(item)
  local text = item.key and call('GET', P .. 'u:' .. item.worker .. ':' .. item.key)
  if not text then return nil end
  local id, freeAt = unpack(unpacked(text))
  if freeAt and freeAt <= now then return nil end
  return open(id), freeAt
end
local function workerMissing(item)
  return call('HEXISTS', P .. 'D:worker', item.worker) == 0
end
local function mayReplace(x)
  return x.status < SUCCEEDED and not x.f[F_started]
end

-- Finds refusals before the first write. A key that an earlier task of the request would take counts as held by a waiting
-- task.
local function refusals()
  local results, any, made, count = {}, false, {}, opened
  for i = 1, #items do
    local item = items[i]
    local result = { 'n' }
    local name = item.key and item.worker .. ':' .. item.key
    local x = holder(item)
    local planned = name and made[name]
    if workerMissing(item) then
      result = { 'w' }
    elseif (planned or x) and item.conflict == 'return' then
      result = { 'n' }
    elseif (planned or x) and item.conflict == 'reject' then
      result = { 'k', planned or x.id }
    elseif planned or x and mayReplace(x) then
      result = { 'n' }
    elseif count >= maxOpen then
      result = { 'q' }
    else
      count = count + 1
      if name then made[name] = item.id end
    end
    if result[1] ~= 'n' then any = true end
    results[#results + 1] = result
  end
  return any and results
end

local function replace(x, item, payload)
  local f = x.f
  local keepsTime = item.conflict == 'replace_keep_time'
  local runAt = item.runAt
  if keepsTime then item.runAt = nil end
  item.payload = true
  local changed = edit(x, item, payload)
  if not keepsTime and not f[F_held] then f[F_due] = runAt end
  f[F_wake] = item.wake
  touch(x)
  if #changed > 0 then
    log(x, ${E.updated}, f[F_attempt], actor, nil, nil, nil, table.concat(changed, ','))
  end
  local text = save(x)
  wake(f)
  return { 'r', x.id, text }
end

local function insert(item, payload, beside)
  local held = beside or item.held
  if held then
    local x = open(held)
    if not x or x.status >= SUCCEEDED then
      held = false
    elseif not x.f[F_holds] then
      x.f[F_holds] = true
      save(x)
    end
  end
  local f = {
    1, SCHEDULED, item.band, item.worker, item.runAt, not held and item.runAt, item.expiresAt, item.timeoutMs, 0, 0,
    item.maxAttempts, item.retry, item.key, item.keyTtl, held, false, false, now, false, false, false, false, item.schedule,
    false, false, false, false, false, 0, item.wake, item.type, item.tags, item.metadata, item.fixed, item.group,
    item.onFinish,${LATER_FIELDS.map(name => ` item.${name},`).join('')}
  }
  local id = item.id
  local x = { id = id, f = f }
  if payload or item.headers then saveBody(id, { payload, item.headers, false }) end
  if held then call('ZADD', P .. 'q:' .. held, '0', id) end
  if item.key then
    hold(f, id, false)
    call('ZADD', P .. 'y', '0', item.key .. ' ' .. id)
  end
  log(x, ${E.created}, 0, item.by)
  local text = save(x)
  wake(f)
  opened = opened + 1
  return { 'c', id, text }
end

local function make(item, payload)
  if workerMissing(item) then return { 'w' } end
  local x, freeAt = holder(item)
  if x then
    if item.conflict == 'return' then return { 'e', x.id, pack(x.f), freeAt or false } end
    if item.conflict == 'reject' then return { 'k', x.id } end
    if mayReplace(x) then return replace(x, item, payload) end
  end
  if opened >= maxOpen then return { 'q' } end
  return insert(item, payload, x and x.status < SUCCEEDED and x.id)
end

local results = atomic and refusals()
if results then
  if changes then takeBack() end
  return { false, 'done', pack(results) }
end
results = {}
local any = false
for i = 1, #items do
  local item = items[i]
  local result = make(item, item.hasPayload and ARGV[2 + 2 * i])
  local kind = result[1]
  any = any or kind == 'c' or kind == 'r' or kind == 'e'
  results[#results + 1] = result
end
results = pack(results)
if idem and any then remember(idem, results) end
return { hints(), 'done', results }
`;
