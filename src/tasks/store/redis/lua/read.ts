import { HISTORY_FIRST_KEPT, HISTORY_LAST_KEPT, TASK_STATUSES } from '../../../model/task.ts';
import { PRIORITIES } from '../../../model/task-content.ts';
import { MAX_DUE, MAX_DUE_WORKERS, READ_BYTES } from '../../task-store.ts';

/** Number of tasks of a schedule that one step reads to find those of one worker, which can be rare. */
const MAX_LOOKED_AT = 500;

/**
 * Lists tasks by id. Merges one sorted list for each status.
 *
 *     ARGV    time, prefix of the lists, worker to which the result is limited or empty, first bound, last bound, order,
 *             limit, `1` for ids only; statuses…
 *     returns the id after which to continue if not all were read, or false; then id and record of each, or ids
 */
export const LIST = `local reverse = ARGV[6] == 'desc'
local limit = tonumber(ARGV[7])
local size = ARGV[3] == '' and limit or math.max(limit, ${MAX_LOOKED_AT})
local function page(from)
  local heads = {}
  for i = 9, #ARGV do
    local ids
    local name = P .. ARGV[2] .. ARGV[i]
    if reverse then
      ids = call('ZRANGE', name, from, ARGV[5], 'BYLEX', 'REV', 'LIMIT', 0, size)
    else
      ids = call('ZRANGE', name, from, ARGV[5], 'BYLEX', 'LIMIT', 0, size)
    end
    if #ids > 0 then heads[#heads + 1] = { ids, 1 } end
  end
  if #heads == 1 then return heads[1][1] end
  local merged = {}
  while #merged < size and #heads > 0 do
    local best, least = 1, heads[1][1][heads[1][2]]
    for i = 2, #heads do
      local id = heads[i][1][heads[i][2]]
      if reverse and id > least or not reverse and id < least then best, least = i, id end
    end
    merged[#merged + 1] = least
    heads[best][2] = heads[best][2] + 1
    if heads[best][2] > #heads[best][1] then table.remove(heads, best) end
  end
  return merged
end
local ids = page(ARGV[4])
local found = { false }
if ARGV[8] == '1' then
  for i = 1, #ids do found[i + 1] = ids[i] end
  return found
end
if #ids == 0 then return found end
local names = {}
for i = 1, #ids do names[i] = P .. 'k:' .. ids[i] end
local records = call('MGET', unpack(names))
local most = 2 * limit + 1
for i = 1, #ids do
  if #found < most and (ARGV[3] == '' or unpacked(records[i])[F_worker] == ARGV[3]) then
    found[#found + 1] = ids[i]
    found[#found + 1] = records[i]
  end
end
if ARGV[3] ~= '' and #found < most and #ids == size then found[1] = ids[#ids] end
return found
`;

/**
 * Reads the history: the first entries, one entry for all that were dropped, and the last ones.
 *
 *     ARGV    time, id, after or empty, limit, order
 *     returns the number of dropped entries; then number and text of each entry (for the dropped ones: the text of the
 *             entry before them); nothing if the task does not exist
 */
export const HISTORY = `local text = call('GET', P .. 'k:' .. ARGV[2])
if not text then return {} end
local total = unpacked(text)[F_entries]
local first = ${HISTORY_FIRST_KEPT}
local gone = math.max(0, total - first - ${HISTORY_LAST_KEPT})
local places = gone > 0 and first + 1 + ${HISTORY_LAST_KEPT} or total
local after, limit = tonumber(ARGV[3]), tonumber(ARGV[4])
local function number(place)
  if gone == 0 or place <= first + 1 then return place end
  return place - 1 + gone
end
local low, high = 1, places
if ARGV[5] == 'desc' then
  while after and high >= 1 and number(high) >= after do high = high - 1 end
  low = math.max(1, high - limit + 1)
else
  while after and low <= places and number(low) <= after do low = low + 1 end
  high = math.min(places, low + limit - 1)
end
local reply = { gone }
local head = call('LRANGE', P .. 'h:' .. ARGV[2], 0, -1)
local shift = gone > 0 and first + 1 or first
local tail = {}
if high > shift then
  local from = math.max(low, shift + 1)
  tail = call('LRANGE', P .. 'g:' .. ARGV[2], from - shift - 1, high - shift - 1)
  shift = from - 1
end
local step = ARGV[5] == 'desc' and -1 or 1
for place = step < 0 and high or low, step < 0 and low or high, step do
  reply[#reply + 1] = number(place)
  reply[#reply + 1] = place > first + (gone > 0 and 1 or 0) and tail[place - shift] or head[math.min(place, first)]
end
return reply
`;

/**
 * ARGV: time, ids. Returns the body of each task: empty if it has none, false if the task does not exist. The list ends
 * before the body that exceeds the size that one call may read.
 */
export const BODIES = `local reply, bytes = {}, 0
for i = 2, #ARGV do
  reply[i - 1] = false
  if call('EXISTS', P .. 'k:' .. ARGV[i]) == 1 then
    local size = call('STRLEN', P .. 'b:' .. ARGV[i])
    if bytes > 0 and bytes + size > ${READ_BYTES} then
      reply[i - 1] = nil
      break
    end
    bytes = bytes + size
    reply[i - 1] = size > 0 and call('GET', P .. 'b:' .. ARGV[i]) or ''
  end
end
return reply
`;

/** ARGV: time, prefix of the lists. Returns the number of tasks by status. */
export const COUNTS = `local reply = {}
for status = 0, ${TASK_STATUSES.length - 1} do reply[status + 1] = call('ZCARD', P .. ARGV[2] .. status) end
return reply
`;

/** ARGV: time, max. Returns the number of expired leases, ids and records of their tasks, then those of expired tasks. */
export const OVERDUE = `local max = tonumber(ARGV[2])
local reply = { 0 }
local function add(list, left)
  if left <= 0 then return 0 end
  local ids = call('ZRANGE', P .. list, '-inf', now, 'BYSCORE', 'LIMIT', 0, left)
  for i = 1, #ids do
    reply[#reply + 1] = ids[i]
    reply[#reply + 1] = call('GET', P .. 'k:' .. ids[i])
  end
  return #ids
end
reply[1] = add('l', max)
add('x', max - reply[1])
return reply
`;

/**
 * Computes the hints of a tenant from its data.
 *
 *     ARGV    time, `1` to include wake-ups and due tasks
 *     returns when the next lease ends or task expires, when the next document is due, number of accounts, number of due
 *             tasks; then each push worker and when its next task is due
 */
export const SURVEY = `local function first(list)
  return tonumber(call('ZRANGE', P .. list, 0, 0, 'WITHSCORES')[2])
end
local function sooner(a, b)
  if a and b then return math.min(a, b) end
  return a or b
end
local reply = { sooner(first('l'), first('x')) or false, first('Z') or false, call('HLEN', P .. 'D:account'), 0 }
-- A worker that cannot be decoded counts as a push worker, because a needless hint only costs a look.
local function isPushed(packed)
  local isRead, worker = pcall(cjson.decode, unpacked(packed)[5])
  return not isRead or worker.mode == 'push' and not worker.paused
end
if ARGV[2] == '1' then
  local workers = call('HGETALL', P .. 'D:worker')
  for i = 1, #workers, 2 do
    local at
    for band = 0, ${PRIORITIES.length - 1} do
      local queue = 'd:' .. workers[i] .. ':' .. band
      local head = first(queue)
      at = sooner(at, head)
      if head and head <= now then reply[4] = reply[4] + call('ZCOUNT', P .. queue, '-inf', now) end
    end
    at = sooner(at, first('G:' .. workers[i]))
    if call('EXISTS', P .. 'F:' .. workers[i]) == 1 then at = sooner(at, now) end
    reply[4] = reply[4] + call('ZCOUNT', P .. 'd:' .. workers[i] .. ':g', '-inf', now)
    if at and isPushed(workers[i + 1]) then
      reply[#reply + 1] = workers[i]
      reply[#reply + 1] = at
    end
  end
end
return reply
`;

/**
 * Counts the due tasks of a tenant.
 *
 *     ARGV    time
 *     returns their number, and the due time of the oldest one or false
 */
export const DUE_OF = `local workers = call('ZRANGE', P .. 'A:worker', 0, ${MAX_DUE_WORKERS - 1})
local count, oldest = 0, false
for i = 1, #workers do
  local worker = workers[i]
  local lists = P .. 'w:' .. worker .. ':'
  if call('EXISTS', lists .. SCHEDULED, lists .. RETRY) > 0 then
    for band = 0, ${PRIORITIES.length} do
      local queue = P .. 'd:' .. worker .. ':' .. (band < ${PRIORITIES.length} and band or 'g')
      local at = tonumber(call('ZRANGE', queue, 0, 0, 'WITHSCORES')[2])
      if at and at <= now then
        count = count + call('ZCOUNT', queue, '-inf', ms(now))
        oldest = oldest and math.min(oldest, at) or at
      end
    end
  end
end
return { math.min(count, ${MAX_DUE}), oldest }
`;

/**
 * Lists tasks with a key, by id.
 *
 *     ARGV    time, key, first bound, last bound, order, limit
 *     returns id and record of each
 */
export const LIST_OF_KEY = `local reverse = ARGV[5] == 'desc'
local found
if reverse then
  found = call('ZRANGE', P .. 'y', ARGV[3], ARGV[4], 'BYLEX', 'REV', 'LIMIT', 0, ARGV[6])
else
  found = call('ZRANGE', P .. 'y', ARGV[3], ARGV[4], 'BYLEX', 'LIMIT', 0, ARGV[6])
end
local reply = {}
for i = 1, #found do
  local id = string.sub(found[i], #ARGV[2] + 2)
  reply[2 * i - 1] = id
  reply[2 * i] = call('GET', P .. 'k:' .. id)
end
return reply
`;

/**
 * Lists waiting tasks of a worker by due time, then by id. Merges one sorted list for each priority and one for tasks with a
 * group. Expired tasks are left out, because a claim may or may not have removed them.
 *
 *     ARGV    time, worker, due time and id of the lower bound or empty, due time and id of the upper bound or empty (both
 *             exclusive), order, limit
 *     returns due time and id of the last task that was read, or false twice at the end; then id and record of each
 */
export const LIST_DUE = `local worker, lowDue, lowId, highDue, highId = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local reverse, limit = ARGV[7] == 'desc', tonumber(ARGV[8])
-- Number of members before a place, including the place itself if counts is true.
local function before(queue, due, id, counts)
  local low = call('ZCOUNT', queue, '-inf', '(' .. due)
  if id == '' then return low end
  local high = low + call('ZCOUNT', queue, due, due)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local other = call('ZRANGE', queue, middle, middle)[1]
    if other < id or counts and other == id then low = middle + 1 else high = middle end
  end
  return low
end
local heads = {}
for band = 0, ${PRIORITIES.length} do
  local queue = P .. 'd:' .. worker .. ':' .. (band < ${PRIORITIES.length} and band or 'g')
  local first = lowDue == '' and 0 or before(queue, lowDue, lowId, true)
  local last = (highDue == '' and call('ZCARD', queue) or before(queue, highDue, highId, false)) - 1
  if reverse then first = math.max(first, last - limit + 1) else last = math.min(last, first + limit - 1) end
  if first <= last then
    local found = call('ZRANGE', queue, first, last, 'WITHSCORES')
    heads[#heads + 1] = { found, reverse and #found - 1 or 1 }
  end
end
local function isNext(a, b)
  local aDue, bDue = tonumber(a[1][a[2] + 1]), tonumber(b[1][b[2] + 1])
  if aDue ~= bDue then return (aDue < bDue) ~= reverse end
  return (a[1][a[2]] < b[1][b[2]]) ~= reverse
end
local ids, due = {}, false
while #ids < limit and #heads > 0 do
  local best = 1
  for i = 2, #heads do
    if isNext(heads[i], heads[best]) then best = i end
  end
  local head = heads[best]
  ids[#ids + 1], due = head[1][head[2]], head[1][head[2] + 1]
  head[2] = head[2] + (reverse and -2 or 2)
  if not head[1][head[2]] then table.remove(heads, best) end
end
local isWhole = #ids < limit
local reply = { not isWhole and due, not isWhole and ids[#ids] }
if #ids == 0 then return reply end
local mayExpire = call('EXISTS', P .. 'x') == 1
local expiries = mayExpire and call('ZMSCORE', P .. 'x', unpack(ids))
for i = 1, #ids do
  if not mayExpire or not expiries[i] or tonumber(expiries[i]) > now then
    reply[#reply + 1] = ids[i]
    reply[#reply + 1] = call('GET', P .. 'k:' .. ids[i])
  end
end
return reply
`;
