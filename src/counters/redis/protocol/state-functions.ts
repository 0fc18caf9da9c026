import { DIGIT } from '../../admission/sliding-window.ts';
import { NO_PENALTY_STATE, PENALTIES } from './penalty-functions.ts';
import { CLOCK_SKEW_S } from './scripts.ts';

/** Products up to this number are exact. */
export const MOST_EXACT = Number.MAX_SAFE_INTEGER;

/**
 * Lua functions for the states of limits, in the scripts that admit requests.
 *
 * The state of a limit is one string:
 *
 *     token bucket      `full` or `full rest`             `TokenBucket`: milliseconds, units
 *     sliding window    `start previous current`          `SlidingWindow`: seconds, hits, hits
 *     fixed window      `end count`                       seconds, hits: only for limits with a penalty or with classes
 *
 * A penalty follows after `;`: see `penalty-functions.ts`.
 *
 * If the state is of a later time, another process may have written it whose clock is ahead. The limit then counts as
 * used up to its state, which is kept. A state that is later by more than such a difference shows that the clock was set
 * back. It is replaced by one of the present time, even if nothing is admitted; otherwise, requests would be refused until
 * the time that was set back has passed.
 */
export const STATES = `local ceil, floor, max, min = math.ceil, math.floor, math.max, math.min
local match, format, sub = string.match, string.format, string.sub
local command = redis.pcall
${PENALTIES}
-- The hits of the current window, its end, and whether the clock was set back.
local function countAt(value, now, length, ends)
  if not value then return 0, ends end
  local stored, count = match(value, '^(%d+) (%d+)$')
  if not stored then return nil end
  stored = tonumber(stored)
  local second = (now - now % 1000) / 1000
  if stored <= second then return 0, ends end
  if stored > second + 2 * length + ${CLOCK_SKEW_S} then return 0, ends, true end
  return tonumber(count), stored
end

local function bucketAt(value, now, drain, capacity)
  if not value then return 0, nil, 0 end
  local full, rest = match(value, drain > 1 and '^(%d+) (%d+)$' or '^%d+$')
  if not full then
    full, rest = match(value, '^(%d+) ?(%d*)$')
    if not full then return nil end
  end
  full = tonumber(full)
  rest = min(tonumber(rest or 0) or 0, max(drain - 1, 0))
  local level = (full - now) * drain + rest
  if level <= 0 then return 0, full, 0 end
  local excess = level - capacity
  if excess <= 0 then return level, full, 0 end
  if excess > ${CLOCK_SKEW_S} * 1000 * drain then return capacity, full, 0, true end
  return capacity, full, excess
end

local function windowStart(now, length)
  local second = (now - now % 1000) / 1000
  return second - second % length
end

-- Divides digit by digit, so that no number is larger than 2^53.
local function weightOf(hits, restMs, lengthMs)
  local product = hits * restMs
  if product <= ${MOST_EXACT} then return ceil(product / lengthMs) end
  local part = hits % lengthMs
  local quotient, left = 0, 0
  for place = 2, 0, -1 do
    local sum = left * ${DIGIT} + part * (floor(restMs / ${DIGIT} ^ place) % ${DIGIT})
    left = sum % lengthMs
    quotient = quotient * ${DIGIT} + (sum - left) / lengthMs
  end
  return (hits - part) / lengthMs * restMs + quotient + (left > 0 and 1 or 0)
end

local function windowAt(value, now, start, length)
  if not value then return 0, 0, 0, start end
  local stored, previous, current = match(value, '^(%d+) (%d+) (%d+)$')
  if not stored then return nil end
  previous, current = tonumber(previous), tonumber(current)
  local ahead = tonumber(stored) - start
  local reset = false
  local restMs, lengthMs = length * 1000, length * 1000
  if ahead <= 0 then restMs = lengthMs - (now - start * 1000) end
  if ahead < 0 then
    previous = ahead == -length and current or 0
    current = 0
  elseif ahead <= max(length, ${CLOCK_SKEW_S}) then
    start = start + ahead
  else
    reset = true
  end
  local base = weightOf(previous, restMs, lengthMs)
  return base + current, base, previous, start, ahead >= 0 and not reset, reset
end

local function refunded(level, base, units)
  return max(min(level, base), level - units)
end

-- A text of the same length is replaced in place, which takes half the time of SET, if its time to live is sufficient.
-- NX, because MGET finds no value in a key of another type.
local function keep(key, value, text, lives, ttl)
  local reply
  if suffix ~= '' then text, lives, ttl, suffix = text .. suffix, false, max(ttl, least), '' end
  if lives and #text == #value then
    reply = command('SETRANGE', key, '0', text)
  elseif value then
    reply = command('SET', key, text, 'EX', ttl)
  else
    reply = command('SET', key, text, 'EX', ttl, 'NX')
    if not reply then reply = command('GET', key) end
  end
  return type(reply) == 'table' and reply.err
end

-- MGET finds no value in a key of another type.
local function errorOf(key)
  local reply = command('GET', key)
  return type(reply) == 'table' and reply.err
end

-- A bucket lives for at least a minute longer than the minute in which it will be full.
local function keepBucket(key, value, now, level, drain, before)
  local full, text
  if drain > 1 then
    local rest = level % drain
    full = now + (level - rest) / drain
    text = format('%d %d', full, rest)
  else
    full = now + level
    text = format('%d', full)
  end
  local minute = full - full % 60000
  local lives = before and before - before % 60000 == minute
  return keep(key, value, text, lives, minute / 1000 + 120 - (now - now % 1000) / 1000)
end

local function keepWindow(key, value, now, start, previous, current, lives, life)
  local text = format('%d %d %d', start, previous, current)
  return keep(key, value, text, lives, start + life - (now - now % 1000) / 1000)
end

-- The terms of a penalty: six numbers.
local function termsAt(numbers, at)
  return { after = numbers[at], first = numbers[at + 1], factor = numbers[at + 2], most = numbers[at + 3],
    window = numbers[at + 4], closes = numbers[at + 5] }
end
`;

/** The error for a value that another program has stored. */
export const NO_STATE = {
  window: 'ERR value is not the state of a sliding window',
  bucket: 'ERR value is not the state of a token bucket',
  penalty: NO_PENALTY_STATE,
  count: 'ERR value is not the state of a fixed window with classes',
} as const;
