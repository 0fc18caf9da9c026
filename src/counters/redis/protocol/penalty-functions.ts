import { MOST_COUNTED, SKEW_S } from '../../admission/penalty.ts';

/**
 * Lua functions for the penalties of keys, in the scripts that admit requests. They calculate with the same operations as
 * `Penalty`.
 *
 * The penalty of a key follows the state of its counter, in the same string, so that one step changes both:
 *
 *     <state of the counter>;<violations> <penalties> <end of the violated window> <end of the penalty>
 *
 * Needs `max`, `min`, `ceil` and `match`, which are the functions of Lua.
 */
export const PENALTIES = `local function divided(value)
  if not value then return false, nil end
  local counter, record = match(value, '^([^;]*);(.*)$')
  return counter or value, record
end

local function penaltyAt(record, now, terms)
  local state = { violations = 0, penalties = 0, closes = 0, ends = 0 }
  if not record then return state end
  local violations, penalties, closes, ends = match(record, '^(%d+) (%d+) (%d+) (%d+)$')
  if not violations then return nil end
  closes, ends = tonumber(closes), tonumber(ends)
  local second = (now - now % 1000) / 1000
  if max(closes, ends) + max(terms.most, terms.window) <= second then return state end
  state.violations, state.penalties = tonumber(violations), tonumber(penalties)
  state.closes, state.ends = closes, min(ends, second + 1 + terms.most)
  if closes > second + 2 * terms.window + ${SKEW_S} then state.closes = second + terms.window end
  state.changed = state.closes ~= closes or state.ends ~= ends
  return state
end

local function reject(state, now, terms)
  if now < state.closes * 1000 then return end
  local second = ceil(now / 1000)
  state.changed = true
  state.violations = state.violations + 1
  state.closes = terms.closes > 0 and terms.closes or second + terms.window
  if state.violations < terms.after then return end
  local length = terms.first
  for _ = 1, state.penalties do
    if length >= terms.most or terms.factor == 1 then break end
    length = length * terms.factor
  end
  state.ends = second + min(length, terms.most)
  state.violations = 0
  state.penalties = min(state.penalties + 1, ${MOST_COUNTED})
end

-- What is appended to the next state of a counter, and the least number of seconds that the key must live then.
local suffix, least = '', 0

local function append(state, now, terms)
  suffix = format(';%d %d %d %d', state.violations, state.penalties, state.closes, state.ends)
  least = max(state.closes, state.ends) + max(terms.most, terms.window) + ${SKEW_S} - (now - now % 1000) / 1000
end
`;

/** The error for a value that another program has stored. */
export const NO_PENALTY_STATE = 'ERR value is not the state of a limit with a penalty';
