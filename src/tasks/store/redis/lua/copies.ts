import { HISTORY_FIRST_KEPT } from '../../../model/task.ts';
import { PAGE_SIZES } from '../../copies.ts';
import { READ_BYTES } from '../../task-store.ts';

/**
 * Reads documents of some kinds, each sorted by id.
 *
 *     ARGV    time, id after which to begin in the first kind, kinds…
 *     returns for each: kind, id, document, and for workers and the account the text of their bucket or false; the last
 *             value is 1 if these are not all
 */
export const COPY_DOCUMENTS = `local reply, count, bytes = {}, 0, 0
local function bucketOf(kind, id)
  return kind == 'worker' and call('GET', P .. 'B:' .. id) or kind == 'account' and call('GET', P .. 'T')
end
for i = 3, #ARGV do
  local kind = ARGV[i]
  local from = i == 3 and '(' .. ARGV[2] or '-'
  local ids = call('ZRANGE', P .. 'A:' .. kind, from, '+', 'BYLEX', 'LIMIT', 0, ${PAGE_SIZES.document} - count)
  for j = 1, #ids do
    local text = call('HGET', P .. 'D:' .. kind, ids[j])
    local at = #reply
    reply[at + 1], reply[at + 2], reply[at + 3], reply[at + 4] = kind, ids[j], text, bucketOf(kind, ids[j])
    count, bytes = count + 1, bytes + #text
    if count == ${PAGE_SIZES.document} or bytes >= ${READ_BYTES} then
      reply[#reply + 1] = 1
      return reply
    end
  end
end
reply[#reply + 1] = 0
return reply
`;

/**
 * Reads tasks, up to the one that reaches the size that one call may read.
 *
 *     ARGV    time, ids…
 *     returns for each: id, record, body or false, holder of its key or false, history: first entries, last entries
 */
export const COPY_TASKS = `local reply, bytes = {}, 0
for i = 2, #ARGV do
  local id = ARGV[i]
  local text = call('GET', P .. 'k:' .. id)
  if text then
    local f = unpacked(text)
    local body = call('GET', P .. 'b:' .. id)
    local first, last = call('LRANGE', P .. 'h:' .. id, 0, -1), call('LRANGE', P .. 'g:' .. id, 0, -1)
    local at = #reply
    reply[at + 1], reply[at + 2], reply[at + 3] = id, text, body
    reply[at + 4] = f[F_key] and call('GET', P .. 'u:' .. f[F_worker] .. ':' .. f[F_key])
    reply[at + 5], reply[at + 6] = first, last
    bytes = bytes + #text + (body and #body or 0)
    for _, entries in ipairs({ first, last }) do
      for j = 1, #entries do bytes = bytes + #entries[j] end
    end
    if bytes >= ${READ_BYTES} then break end
  end
end
return reply
`;

/** ARGV: time, intervals as `length:start`. Returns for each that has usage: its place in the list, workers and pairs. */
export const COPY_USAGE = `local reply = {}
for i = 2, #ARGV do
  local found = call('HGETALL', P .. 'U:' .. ARGV[i])
  if #found > 0 then
    reply[#reply + 1] = i - 2
    reply[#reply + 1] = found
  end
end
return reply
`;

/**
 * Writes copies. What exists stays as it is.
 *
 *     ARGV    time; then for each copy its kind and its values (JSON), see \`copyText\`
 *     returns hints
 */
export const COPY_IN = `local writers = {}
function writers.document(kind, id, version, parent, due, unique, text, throttledUntil, tokens, at)
  if document(kind, id) then return end
  putDocument(kind, id, nil, { version, parent, due, unique, text })
  if kind == 'account' then
    if tokens then call('SET', P .. 'T', pack({ tokens, at })) end
  elseif tokens or throttledUntil then
    call('SET', P .. 'B:' .. id, pack({ throttledUntil or 0, tokens, at }))
  end
end
function writers.task(id, f, parts, entries, lease, leaseKept, holdsKey, freeAt)
  if call('EXISTS', P .. 'k:' .. id) == 1 then return end
  saveBody(id, parts)
  call('DEL', P .. 'h:' .. id, P .. 'g:' .. id)
  for i = 1, #entries do
    call('RPUSH', P .. (i <= ${HISTORY_FIRST_KEPT} and 'h:' or 'g:') .. id, pack(entries[i]))
  end
  if f[F_held] then call('ZADD', P .. 'q:' .. f[F_held], 0, id) end
  if f[F_key] then
    call('ZADD', P .. 'y', 0, f[F_key] .. ' ' .. id)
    if holdsKey and not (freeAt and freeAt <= now) then
      hold(f, id, freeAt)
      if ticks and freeAt then call('PEXPIREAT', P .. 'u:' .. f[F_worker] .. ':' .. f[F_key], ms(freeAt)) end
    end
  end
  if lease and not (ticks and leaseKept and leaseKept <= now) then
    call('SET', P .. 'L:' .. lease, id)
    if ticks and leaseKept then call('PEXPIREAT', P .. 'L:' .. lease, ms(leaseKept)) end
  end
  if f[F_group] and f[F_status] == RUNNING then call('SADD', P .. 'r:' .. f[F_worker] .. ':' .. f[F_group], id) end
  save({ id = id, f = f })
  wake(f)
end
function writers.usage(length, start, worker, figures, over)
  if over <= now then return end
  local name = P .. 'U:' .. length .. ':' .. ms(start)
  call('HSETNX', name, worker, pack(figures))
  if ticks then call('PEXPIREAT', name, ms(over)) end
end
function writers.answer(name, fingerprint, over, note, results)
  if over <= now then return end
  for i = 1, #results do
    if results[i][3] then results[i][3] = pack(results[i][3]) end
  end
  local text = pack({ fingerprint, over, note, #results > 0 and pack(results) or '' })
  if call('SET', P .. 'i:' .. name, text, 'NX') and ticks then call('PEXPIREAT', P .. 'i:' .. name, ms(over)) end
end
-- All arguments are decoded before the first write, because Redis does not roll back a script that fails.
local copies = {}
for i = 2, #ARGV do copies[i - 1] = cjson.decode(ARGV[i]) end
for i = 1, #copies do writers[copies[i][1]](unpack(copies[i], 2)) end
return { hints() }
`;
