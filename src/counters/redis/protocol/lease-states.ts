import { ACTION, LEASE, LEASE_MODE, SETTLED_S, STEP } from '../../leases/lease.ts';
import { CLOCK_SKEW_S } from './scripts.ts';

/** The last letters of the names of the two keys of a limit: `a` for the account, `e` for the ends of leases. */
export const ACCOUNT = 97;
export const ENDS = 101;

/** The most leases of a key, and the most leases that a key remembers after they have ended. */
const MOST_LEASES = 100_000;

/** The most leases of a key that end with a call, unless their hits are needed. Redis serves nobody meanwhile. */
const MOST_ENDED = 5_000;

/** The same if their hits are needed. Requests are refused that need even more. */
const MOST_ENDED_AT_NEED = 4 * MOST_ENDED;

/** Most words of a command that a script sends, because Lua has a bound for them. Even, because fields have values. */
const MOST_WORDS = 1_000;

/** The numbers about a key in the packed leases. */
export const LEASE_TERMS = 11;

/** The error for a value that another program has stored. */
const NO_LEASE_STATE = 'ERR value is not the account of a limit with leases';

/**
 * Lua functions for the states of limits with leases. A limit has two keys in the same hash slot:
 *
 *     {l:<key>}a    hash with the field '' for the account, `window spent over held records lives`, and a field for each record
 *     {l:<key>}e    sorted set of the names of the records: the score of a live lease is its end, that of a record which is
 *                   only remembered is the negative time at which it is forgotten
 *
 * `window` is the end of the window in seconds, by the clock of the caller; 0 without windows. `over` is the part of the
 * spent hits that takes no room, `records` the number of records, and `lives` the second until which both keys live at
 * least, which spares Redis to be asked. A record is `state hits ends window`: the state of `LEASE`, the end or the time
 * at which it is forgotten in milliseconds, by the clock of Redis, and the window in which the lease began. The hits of a
 * settled lease are those of the call that settled it, or -1 so that no call is the same. The record that a lease has
 * replaced follows, so that the lease can be taken back. Leases that have ended have the scores from the negative time to
 * the time. The names of holders begin with `=`, and those of leases without a holder with `#`.
 *
 * Records are changed in memory, and written once for each key. Redis refuses the first command that needs memory or nothing,
 * so the account is written first. Needs `clock`, the time of Redis in milliseconds.
 */
export const LEASE_STATES = `local function blank()
  return { state = ${LEASE.none}, hits = 0, ends = 0, window = 0 }
end

local function copyOf(record)
  return { state = record.state, hits = record.hits, ends = record.ends, window = record.window }
end

local parsed, textOf
function parsed(text)
  local kind, hits, ends, window, rest = match(text, '^(%d) (-?%d+) (%d+) (%d+)(.*)$')
  if not kind then return blank() end
  local record = { state = tonumber(kind), hits = tonumber(hits), ends = tonumber(ends), window = tonumber(window) }
  record.stored = true
  record.before = rest ~= '' and copyOf(parsed(sub(rest, 2))) or nil
  return record
end

function textOf(record)
  local text = format('%d %d %d %d', record.state, record.hits, record.ends, record.window)
  return record.before and text .. ' ' .. textOf(record.before) or text
end

local function levelOf(state)
  return state.spent - state.over + state.held
end

-- The hits of a lease that take room.
local function roomOf(state, record)
  local holds = record.state == ${LEASE.live} and state.mode ~= ${LEASE_MODE.once} and record.window == state.window
  return holds and record.hits or 0
end

-- Sets a record, which ends or is forgotten after some milliseconds.
local function setRecord(state, name, record, kind, hits, ms)
  record.state, record.hits, record.ends, record.before = kind, hits, clock + ms, nil
  state.records[name], state.changed[name] = record, record
end

-- Ends a lease whose time has come, or forgets a record.
local function endRecord(state, name, record)
  local left = record.ends + state.lengthMs - clock
  local isLive = record.state == ${LEASE.live}
  if isLive and state.mode ~= ${LEASE_MODE.once} then state.expired = state.expired + record.hits end
  state.held = max(state.held - roomOf(state, record), 0)
  record.stored = true
  if isLive and state.settles and state.hasHolders and left > 0 then
    setRecord(state, name, record, ${LEASE.expired}, record.hits, left)
  else
    setRecord(state, name, record, ${LEASE.none}, 0, 0)
  end
  state.isChanged = true
end

local function recordOf(state, name)
  local record = state.records[name]
  if not record then
    local text = name ~= '' and command('HGET', state.account, name)
    record = type(text) == 'string' and parsed(text) or blank()
    state.records[name] = record
    if record.stored and record.ends <= clock then endRecord(state, name, record) end
  end
  return record
end

-- The name and the record of the lease that ends first. The leases of this call end last.
local function firstLease(state)
  local queue = state.queue
  while true do
    if state.first > #queue and not state.isWhole then
      local found = command('ZRANGEBYSCORE', state.ends, '(' .. format('%d', clock), '+inf', 'LIMIT', #queue, 100)
      for _, name in ipairs(found) do queue[#queue + 1] = name end
      state.isWhole = #found < 100
      if state.isWhole then
        for _, name in ipairs(state.fresh) do queue[#queue + 1] = name end
        state.fresh = queue
      end
    end
    local name = queue[state.first]
    if not name then return '', blank() end
    local record = recordOf(state, name)
    if record.state == ${LEASE.live} then return name, record end
    state.first = state.first + 1
  end
end

-- Ends leases whose time has come, and forgets records. One call ends a bounded number; leases that it did not reach are
-- still held.
local function endLeases(state)
  local found = command('ZRANGEBYSCORE', state.ends, -clock, clock, 'LIMIT', state.ended, ${MOST_ENDED})
  if found.err then return found.err end
  for first = 1, #found, ${MOST_WORDS} do
    local last = min(first + ${MOST_WORDS} - 1, #found)
    local texts = command('HMGET', state.account, unpack(found, first, last))
    for i = first, last do
      local name = found[i]
      if not state.records[name] then endRecord(state, name, parsed(texts[i - first + 1] or '')) end
    end
  end
  state.ended = state.ended + #found
  state.hasMore = #found == ${MOST_ENDED}
end

-- Reads the account, and begins a new window if the stored one has ended.
local function readAccount(state, now)
  state.spent, state.over, state.held, state.window = 0, 0, 0, state.closes
  state.total, state.lives = 0, 0
  local text = command('HGET', state.account, '')
  if not text then return false end
  if type(text) == 'table' then return text.err end
  local window, spent, over, held, total, lives = match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
  if not window then return '${NO_LEASE_STATE}' end
  window, state.total, state.lives = tonumber(window), tonumber(total), tonumber(lives)
  local second = (now - now % 1000) / 1000
  local isPast = window <= second or window > second + 2 * state.length + ${CLOCK_SKEW_S}
  if state.mode == ${LEASE_MODE.concurrency} or not isPast then
    state.spent, state.over, state.held, state.window = tonumber(spent), tonumber(over), tonumber(held), window
  end
  return false
end

-- Reads the state of a limit. Returns why it cannot be read; The time is an error if the user may not ask for it.
local function openLeases(state, now, time)
  state.records, state.changed, state.queue, state.fresh, state.first = {}, {}, {}, {}, 1
  state.expired, state.ended = 0, 0
  local err = time.err or readAccount(state, now) or endLeases(state)
  if not err then state.count = levelOf(state) end
  return err
end

-- Ends further leases if hits do not fit without.
local function makeRoom(state, hits)
  while state.hasMore and state.ended < ${MOST_ENDED_AT_NEED} and state.count + max(hits, 1) > state.capacity do
    if endLeases(state) then return end
    state.count = levelOf(state)
  end
end

-- Whether the limit has as many leases as it can have, without one of this name.
local function isAtMost(state, name)
  if state.total + #state.fresh < ${MOST_LEASES} or recordOf(state, name).state == ${LEASE.live} then return false end
  if not state.live then state.live = command('ZCOUNT', state.ends, '(' .. format('%d', clock), '+inf') end
  return state.live >= ${MOST_LEASES}
end

local function spend(state, hits)
  state.spent = min(state.spent + hits, ${Number.MAX_SAFE_INTEGER})
end

local function giveBack(state, hits)
  state.spent = state.spent - min(hits, state.spent - state.over)
end

local function take(state, call)
  local name = call.name
  local record = recordOf(state, name)
  local isLive = record.state == ${LEASE.live}
  local hits = call.stepHits
  if state.mode == ${LEASE_MODE.once} then
    call.spent = hits
    spend(state, hits)
    hits = 0
  else
    call.held = hits
    state.held = state.held + hits
  end
  if isLive and record.window == state.window then hits = hits + record.hits end
  local before = not isLive and record.state ~= ${LEASE.none} and copyOf(record) or nil
  record.window = state.window
  setRecord(state, name, record, ${LEASE.live}, hits, state.lengthMs)
  record.before = before
  if isLive then return end
  state.fresh[#state.fresh + 1] = name
  if state.live then state.live = state.live + 1 end
end

-- A window that has ended does not matter any more, and nothing is overdrawn without a lease.
local function settle(state, call, name, record)
  local hits = call.stepHits
  local isKnown = record.state ~= ${LEASE.none}
  call.spent, call.held = hits, isKnown and record.hits or hits
  if record.state == ${LEASE.live} then
    state.held = state.held - roomOf(state, record)
    if state.live then state.live = state.live - 1 end
  end
  if not isKnown or record.window == state.window then
    spend(state, hits)
    if state.allowsOverdraft then state.over = min(state.over + max(hits - call.held, 0), state.spent) end
  end
  if state.settles and state.hasHolders and call.action == ${ACTION.revoke} then
    setRecord(state, name, record, ${LEASE.expired}, record.hits, state.lengthMs)
  elseif state.settles and state.hasHolders and (isKnown or call.isNamed) then
    local same = call.isRefund and -1 or call.hits
    setRecord(state, name, record, ${LEASE.settled}, same, min(${SETTLED_S}000, state.lengthMs))
  elseif isKnown then
    setRecord(state, name, record, ${LEASE.none}, 0, 0)
  end
end

local function free(state, call, name, record)
  local before = roomOf(state, record)
  local left = max(record.hits - call.stepHits, 0)
  if state.mode == ${LEASE_MODE.once} and record.window == state.window then giveBack(state, call.stepHits) end
  record.hits = left
  state.held = state.held - before + roomOf(state, record)
  if left > 0 then
    state.changed[name] = record
    return
  end
  if state.live then state.live = state.live - 1 end
  local before = record.before
  if before and before.ends > clock then
    record.window = before.window
    setRecord(state, name, record, before.state, before.hits, before.ends - clock)
  else
    setRecord(state, name, record, ${LEASE.none}, 0, 0)
  end
end

local function extend(state, name, record)
  setRecord(state, name, record, ${LEASE.live}, record.hits, state.lengthMs)
  if not state.hasHolders then
    state.fresh[#state.fresh + 1] = name
    state.first = state.first + 1
  end
end

-- Does what a call does to a limit, if it fits or cannot be refused.
local function applyStep(state, call)
  local step, name, record = call.step, call.target, call.record
  if step == ${STEP.ask} or step == ${STEP.nothing} then return end
  if step == ${STEP.take} then take(state, call)
  elseif step == ${STEP.spend} then
    call.spent = call.stepHits
    spend(state, call.stepHits)
  elseif step == ${STEP.giveBack} then giveBack(state, call.stepHits)
  elseif step == ${STEP.settle} then settle(state, call, name, record)
  elseif step == ${STEP.free} then free(state, call, name, record)
  elseif step == ${STEP.extend} then extend(state, name, record)
  else setRecord(state, name, record, ${LEASE.settled}, -1, record.ends - clock)
  end
  state.isChanged = true
  state.count = levelOf(state)
end

local function send(name, key, words)
  for first = 1, #words, ${MOST_WORDS} do
    local reply = command(name, key, unpack(words, first, min(first + ${MOST_WORDS} - 1, #words)))
    if type(reply) == 'table' and reply.err then return reply.err end
  end
end

-- Forgets the records that would be forgotten first, if there are too many of them.
local function boundRemembered(state)
  if state.total <= ${MOST_LEASES} then return end
  local excess = state.total - command('ZCOUNT', state.ends, '(0', '+inf') - ${MOST_LEASES}
  if excess <= 0 then return end
  local found = command('ZREVRANGEBYSCORE', state.ends, '(0', '-inf', 'LIMIT', 0, excess)
  send('HDEL', state.account, found)
  send('ZREM', state.ends, found)
  state.total = state.total - #found
end

local function writeAccount(state, words)
  words[1] = ''
  words[2] = format('%d %d %d %d %d %d', state.window, state.spent, state.over, state.held, state.total, state.lives)
  return send('HSET', state.account, words)
end

-- Both keys live for longer than the window and all records. Their time to live is set at most once a minute, and when the
-- one with the ends is new.
local function keepLeases(state)
  local texts, scores, gone = { '', '' }, {}, {}
  local before = state.total
  for name, record in pairs(state.changed) do
    if record.state ~= ${LEASE.none} then
      local isLive = record.state == ${LEASE.live}
      texts[#texts + 1] = name
      texts[#texts + 1] = textOf(record)
      scores[#scores + 1] = format('%d', isLive and record.ends or -record.ends)
      scores[#scores + 1] = name
      if not record.stored then state.total = state.total + 1 end
    elseif record.stored then
      gone[#gone + 1] = name
    end
  end
  state.total = max(state.total - #gone, 0)
  local second = floor(clock / 1000)
  local expires = second + state.life > state.lives
  if expires then state.lives = second + state.life + 60 end
  local err = writeAccount(state, texts) or send('ZADD', state.ends, scores) or
    send('HDEL', state.account, gone) or send('ZREM', state.ends, gone)
  if err then return err end
  if state.total > ${MOST_LEASES} then
    boundRemembered(state)
    writeAccount(state, {})
  end
  if expires then command('EXPIRE', state.account, state.lives - second) end
  if #scores > 0 and (expires or before == 0) then command('EXPIRE', state.ends, state.lives - second) end
end

-- The milliseconds until the first lease ends; 0 without leases.
local function firstEnd(state)
  local found = command('ZRANGEBYSCORE', state.ends, '(' .. format('%d', clock), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if found[2] then return found[2] - clock end
  -- Redis may have evicted the key with the ends.
  if state.held > 0 and state.life > 0 and not state.hasMore then
    state.held = 0
    writeAccount(state, {})
  end
  return 0
end
`;
