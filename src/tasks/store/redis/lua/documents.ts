import { MAX_DROPPED } from '../../documents.ts';

/**
 * Documents: `[version, parent, due, names, body]`, with the body as JSON text. Changes are applied one after the other and
 * undone if one of them is refused. Other clients do not see the states in between.
 */
export const DOCUMENTS = `local function document(kind, id)
  local text = call('HGET', P .. 'D:' .. kind, id)
  return text and unpacked(text)
end
local function putDocument(kind, id, old, new)
  if old then
    for i = 1, #old[4] do call('HDEL', P .. 'N', old[4][i]) end
    if not new or new[2] ~= old[2] then call('ZREM', P .. 'P:' .. kind .. ':' .. old[2], id) end
    if old[3] and not (new and new[3]) then call('ZREM', P .. 'Z', kind .. '|' .. id) end
  end
  if not new then
    call('HDEL', P .. 'D:' .. kind, id)
    call('ZREM', P .. 'A:' .. kind, id)
    return
  end
  call('HSET', P .. 'D:' .. kind, id, pack(new))
  for i = 1, #new[4] do call('HSET', P .. 'N', new[4][i], kind .. '|' .. id) end
  if not old then call('ZADD', P .. 'A:' .. kind, 0, id) end
  if not old or old[2] ~= new[2] then call('ZADD', P .. 'P:' .. kind .. ':' .. new[2], 0, id) end
  if new[3] then call('ZADD', P .. 'Z', ms(new[3]), kind .. '|' .. id) end
end
local undo = {}
local function change(kind, id, old, new)
  local bucket = kind == 'worker' and not new and call('GET', P .. 'B:' .. id)
  undo[#undo + 1] = { kind, id, old, new, bucket }
  putDocument(kind, id, old, new)
  if bucket then call('DEL', P .. 'B:' .. id) end
end
local function takeBack()
  for i = #undo, 1, -1 do
    local kind, id, old, new, bucket = unpack(undo[i], 1, 5)
    putDocument(kind, id, new, old)
    if bucket then call('SET', P .. 'B:' .. id, bucket) end
  end
end
local function putRefusal(c, old)
  if c.expect == 'absent' then
    if old then return 'exists' end
  elseif c.expect ~= 'any' then
    if not old then return 'missing' end
    if old[1] ~= c.expect then return 'version' end
  end
  for i = 1, #c.unique do
    local owner = call('HGET', P .. 'N', c.unique[i])
    if owner and owner ~= c.kind .. '|' .. c.id then return 'name_taken' end
  end
  if not old and c.atMost and call('ZCARD', P .. 'P:' .. c.kind .. ':' .. c.parent) >= c.atMost then
    return 'too_many'
  end
end
local function deleteRefusal(c, old)
  if not old then return 'missing' end
  if c.expect ~= 'any' and old[1] ~= c.expect then return 'version' end
  if c.noOpenTasksOf then
    for status = 0, 3 do
      if call('ZCARD', P .. 'w:' .. c.noOpenTasksOf .. ':' .. status) > 0 then return 'has_tasks' end
    end
  end
end
local function deleteChildren(kind, parent)
  local ids = call('ZRANGE', P .. 'P:' .. kind .. ':' .. parent, 0, -1)
  for i = 1, #ids do change(kind, ids[i], document(kind, ids[i]), nil) end
end
local function dropOldest(c)
  local list = P .. 'P:' .. c.kind .. ':' .. c.parent
  local excess = math.min(call('ZCARD', list) - c.keepNewest, ${MAX_DROPPED})
  if excess <= 0 then return end
  local ids = call('ZRANGE', list, 0, excess - 1)
  for i = 1, #ids do change(c.kind, ids[i], document(c.kind, ids[i]), nil) end
end
local function applyAll(changes)
  local versions = {}
  for i = 1, #changes do
    local c = changes[i]
    local old = document(c.kind, c.id)
    local reason
    if c.op == 'put' then reason = putRefusal(c, old) else reason = deleteRefusal(c, old) end
    if reason then
      takeBack()
      return nil, i - 1, reason
    end
    if c.op == 'put' then
      local version = (old and old[1] or 0) + 1
      change(c.kind, c.id, old, { version, c.parent, c.dueAt, c.unique, c.body })
      versions[i] = version
      if not old and c.keepNewest then dropOldest(c) end
    else
      change(c.kind, c.id, old, nil)
      if c.children then deleteChildren(c.children, c.id) end
      versions[i] = 0
    end
  end
  return versions
end
`;

/**
 * Idempotency records: `[fingerprint, until, note, results]`. `idem` is `[scope and key, fingerprint, keepMs, note]`, or
 * false.
 */
export const IDEMPOTENCY = `local function recalled(idem)
  local text = idem and call('GET', P .. 'i:' .. idem[1])
  local record = text and unpacked(text)
  return record and record[2] > now and record
end
local function remember(idem, results)
  local name = P .. 'i:' .. idem[1]
  call('SET', name, pack({ idem[2], now + idem[3], idem[4], results }))
  if ticks then call('PEXPIRE', name, idem[3]) end
end
`;

/**
 *     ARGV    time, changes (JSON), idempotency (JSON) or empty
 *     returns `refused`, index, reason · `replayed`, note · `reused` · `done`, versions…
 */
export const APPLY = `local idem = ARGV[3] ~= '' and cjson.decode(ARGV[3])
local known = recalled(idem)
if known then
  if known[1] ~= idem[2] then return { 'reused' } end
  return { 'replayed', known[3] }
end
local versions, index, reason = applyAll(cjson.decode(ARGV[2]))
if not versions then return { 'refused', index, reason } end
if idem then remember(idem, '') end
table.insert(versions, 1, 'done')
return versions
`;

/** ARGV: time, idempotency (JSON). Returns `new`, `reused`, or `replayed` and the note. */
export const RECALL = `local idem = cjson.decode(ARGV[2])
local known = recalled(idem)
if not known then return { 'new' } end
if known[1] ~= idem[2] then return { 'reused' } end
return { 'replayed', known[3] }
`;

/** ARGV: time, idempotency (JSON). */
export const REMEMBER = `remember(cjson.decode(ARGV[2]), '')
return 'OK'
`;

/** ARGV: time, name. Returns kind, id and the document, or nothing. */
export const FIND_DOCUMENT = `local owner = call('HGET', P .. 'N', ARGV[2])
if not owner then return {} end
local bar = string.find(owner, '|', 1, true)
local kind, id = string.sub(owner, 1, bar - 1), string.sub(owner, bar + 1)
return { kind, id, call('HGET', P .. 'D:' .. kind, id) }
`;

/** ARGV: time, kind, index, first bound, last bound, order, limit. Returns id and document of each. */
export const LIST_DOCUMENTS = `local order = ARGV[6] == 'desc' and 'REV' or nil
local found = {}
local ids
if order then
  ids = call('ZRANGE', P .. ARGV[3], ARGV[4], ARGV[5], 'BYLEX', 'REV', 'LIMIT', 0, ARGV[7])
else
  ids = call('ZRANGE', P .. ARGV[3], ARGV[4], ARGV[5], 'BYLEX', 'LIMIT', 0, ARGV[7])
end
for i = 1, #ids do
  found[2 * i - 1] = ids[i]
  found[2 * i] = call('HGET', P .. 'D:' .. ARGV[2], ids[i])
end
return found
`;

/** ARGV: time, maximum number, maximum bytes. Returns kind, id and document of each due document. */
export const DUE_DOCUMENTS = `local due = call('ZRANGE', P .. 'Z', '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[2])
local found, bytes = {}, 0
for i = 1, #due do
  local bar = string.find(due[i], '|', 1, true)
  local kind, id = string.sub(due[i], 1, bar - 1), string.sub(due[i], bar + 1)
  found[#found + 1] = kind
  found[#found + 1] = id
  found[#found + 1] = call('HGET', P .. 'D:' .. kind, id)
  bytes = bytes + #found[#found]
  if bytes >= tonumber(ARGV[3]) then break end
end
return found
`;
