import { TELL } from './scripts.ts';
import { MOST_EXACT, NO_STATE } from './state-functions.ts';

/**
 * The loops of the script that admits requests, each over consecutive keys with the same terms. `done` is the index of the
 * key before the first one, `last` that of the last one, and `at` the index of the first number about them.
 */

/** What the numbers of a group of keys contain. */
export const FORMS = {
  /** A single request for each key. Nearly all keys of a batch are in such groups, so their loops are short. */
  single: 0,
  runs: 1,
  /** Runs, and the terms of a penalty. */
  penalized: 2,
  /**
   * Runs with reserves. Before the first key: the length of the window in seconds and the end of the window, which only
   * fixed windows need.
   */
  reserved: 3,
  /** As `single`, with the same reserve for all keys. It comes before the first key, and then the same as for `reserved`. */
  singleReserved: 4,
} as const;

/** Admits a single request to each token bucket. The numbers: the hits for each key, at least 1. */
export const SINGLE_TO_BUCKETS = `local isWhole = drain == 1
    local text = isWhole and '%d' or '%d %d'
    local pattern = isWhole and '^(%d+)$' or '^(%d+) (%d+)$'
    local second = (now - now % 1000) / 1000
    for i = done + 1, last do
      local value = values[i - plain]
      local units = numbers[at] * scale
      local level, full, excess, reset, rest
      local err = unread
      if value then full, rest = match(value, pattern) end
      if full then
        full = tonumber(full)
        level = (full - now) * drain + (rest or 0)
      end
      if level and level > 0 and level + units <= room and (isWhole or rest + 0 < drain) then
        local after = level + units
        local left = after % drain
        local fills = now + (after - left) / drain
        local minute = fills - fills % 60000
        err = keep(keys[i], value, format(text, fills, left), full - full % 60000 == minute, minute / 1000 + 120 - second)
        if err then level = false end
      else
        level, full, excess, reset = bucketAt(value, now, drain, capacity)
        if not level then
          err = err or '${NO_STATE.bucket}'
        elseif err then
          level = false
        else
          if level + units > room then
            units = 0
            if not value then err = errorOf(keys[i]) end
          end
          if units > 0 or reset then
            err = keepBucket(keys[i], value, now, level + units + excess, drain, full)
          end
          if err then level = false end
        end
      end
      at = at + 1
      n = n + 1
      results[n] = level or false
      failure = failure or err or false
    end`;

/**
 * Admits a single request to each sliding window. The numbers: for each key the seconds that the state lives after the start
 * of the window, and the hits, at least 1. Most states are of the present window; their text begins with its start.
 */
export const SINGLE_TO_WINDOWS = `local head = format('%d ', first)
    local lengthMs = length * 1000
    local restMs = lengthMs - (now - first * 1000)
    for i = done + 1, last do
      local value = values[i - plain]
      local life, hits = numbers[at], numbers[at + 1]
      local level, base, previous, start, lives, reset, before, current
      local err = unread
      if value and sub(value, 1, #head) == head then
        before, current = match(value, '^(%d+) (%d+)$', #head + 1)
      end
      if current then
        previous, current = tonumber(before), tonumber(current)
        local product = previous * restMs
        base = product == 0 and 0 or product <= ${MOST_EXACT} and ceil(product / lengthMs)
          or weightOf(previous, restMs, lengthMs)
        level = base + current
        if level + hits <= room then
          local text = head .. before .. format(' %d', current + hits)
          err = keep(keys[i], value, text, true, first + life - (now - now % 1000) / 1000)
          if err then level = false end
        end
      else
        level, base, previous, start, lives, reset = windowAt(value, now, first, length)
        if not level then
          err = err or '${NO_STATE.window}'
        elseif err then
          level = false
        else
          if level + hits > room then
            hits = 0
            if not value then err = errorOf(keys[i]) end
          end
          if hits > 0 or reset then
            err = keepWindow(keys[i], value, now, start, previous, level + hits - base, lives, life)
          end
          if err then level = false end
        end
      end
      at = at + 2
      results[n + 1] = level or false
      results[n + 2] = base or 0
      results[n + 3] = previous or 0
      n = n + 3
      failure = failure or err or false
    end`;

/**
 * Admits a single request to each fixed window. The numbers: for each key the seconds that a new count lives, and the hits,
 * at least 1.
 */
export const SINGLE_TO_COUNTS = `for i = done + 1, last do
      local value = values[i - plain]
      local hits = numbers[at + 1]
      local err = unread
      local level, ends, reset = countAt(value, now, window, closes)
      if not level then
        err = err or '${NO_STATE.count}'
      elseif err then
        level = false
      else
        if level + hits > room then
          hits = 0
          if not value then err = errorOf(keys[i]) end
        end
        if hits > 0 or reset then
          err = keep(keys[i], value, format('%d %d', ends, level + hits), level > 0, numbers[at])
        end
        if err then level = false end
      end
      at = at + 2
      n = n + 1
      results[n] = level or false
      failure = failure or err or false
    end`;

/**
 * Applies runs of requests to keys of any kind. The numbers for each key: the seconds that the state lives after the start
 * of the window (of a fixed window, from now on), the number of runs, and for each run hits, requests (negative for
 * refunds), and the reserve if the form has reserves.
 */
export const RUNS_TO_ANY = `for i = done + 1, last do
      local key = keys[i]
      local value = values[i - plain]
      local err = unread
      local level, base, previous, start, lives, reset, full, excess, record, state, before
      if penalty then
        if not err then value, record = divided(value) end
        state = not err and penaltyAt(record, now, penalty)
        before = state and { state.violations, state.penalties, state.closes, state.ends } or { 0, 0, 0, 0 }
        if not state then
          err = err or '${NO_STATE.penalty}'
          value = ''
        end
      end
      if length > 0 then
        level, base, previous, start, lives, reset = windowAt(value, now, first, length)
      elseif length == 0 then
        level, full, excess, reset = bucketAt(value, now, drain, capacity)
        base = 0
      else
        level, full, reset = countAt(value, now, window, closes)
        base = 0
      end
      local runs = numbers[at + 1]
      local after = level
      for run = at + 2, level and at + size * runs or 0, size do
        local hits, requests = numbers[run], numbers[run + 1]
        if requests < 0 then
          after = refunded(after, base, -requests * hits * scale)
        elseif hits > 0 and not (state and now < state.ends * 1000) then
          local room = capacity - (size == 3 and numbers[run + 2] or 0) - after
          local units = hits * scale
          local admitted = 0
          if room >= units then admitted = min(requests, (room - room % units) / units) end
          after = after + admitted * hits * scale
          if state and admitted < requests then reject(state, now, penalty) end
        end
      end
      if not level then
        err = err or (length > 0 and '${NO_STATE.window}' or length == 0 and '${NO_STATE.bucket}' or
          penalty and '${NO_STATE.penalty}' or '${NO_STATE.count}')
      elseif err then
        level = false
      elseif after ~= level or reset or state and state.changed then
        if state then append(state, now, penalty) end
        if length > 0 then
          err = keepWindow(key, value, now, start, previous, after - base, lives, numbers[at])
        elseif length < 0 then
          err = keep(key, value, format('%d %d', full, after), false, numbers[at])
        else
          err = keepBucket(key, value, now, after + excess, drain, full)
        end
        if err then level = false elseif after < level then ${TELL} end
      elseif not value then
        err = errorOf(key)
        if err then level = false end
      end
      at = at + 2 + size * runs
      n = n + 1
      results[n] = level or false
      if length > 0 then
        results[n + 1] = base or 0
        results[n + 2] = previous or 0
        n = n + 2
      end
      if penalty then
        for i = 1, 4 do results[n + i] = before[i] end
        n = n + 4
      end
      failure = failure or err or false
    end`;
