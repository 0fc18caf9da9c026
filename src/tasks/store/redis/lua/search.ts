import { PRIORITIES } from '../../../model/task.ts';

/**
 * Tasks with a key, by id.
 *
 *     ARGV    time, key, bound where it begins, other bound, order, limit
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
 * Waiting tasks of a worker by due time, then by id, out of one sorted list for each priority and one for tasks
 * with a group, merged. Those that have
 * expired are left out: a claim may have put them aside, or not.
 *
 *     ARGV    time, worker, due time and id that all are behind or empty, due time and id that all are before or empty,
 *             order, limit
 *     returns due time and id of the last one that was looked at, or false twice at the end; then id and record of each
 */
export const LIST_DUE = `local worker, lowDue, lowId, highDue, highId = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local reverse, limit = ARGV[7] == 'desc', tonumber(ARGV[8])
-- How many of a list are before a place, or at it where the place itself counts.
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
