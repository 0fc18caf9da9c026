import {
  FORMS,
  RUNS_TO_ANY,
  SINGLE_TO_BUCKETS,
  SINGLE_TO_COUNTS,
  SINGLE_TO_WINDOWS,
} from './admission-loops.ts';
import { PACKED_REPLY, refundAndAdd, script, TELL } from './scripts.ts';
import { NO_STATE, STATES } from './state-functions.ts';

/**
 * The scripts for batches with sliding windows and token buckets. They calculate with the same operations on the same
 * doubles as `counters/admission`, so the answers of the requests can be computed from the levels before the batch.
 *
 * The numbers are one argument, packed as MessagePack, because Redis needs three times as long for a separate argument as
 * for a packed number.
 */

/**
 * Applies the changes of plain counters, then the requests to sliding windows and token buckets.
 *
 *     KEYS    plain counters, then the others
 *     ARGV    for each plain counter as in the refund script; then the packed numbers: time in milliseconds, and for each
 *             group of keys with the same terms: its form, the number of its keys, length of the window in seconds (0 for a
 *             bucket, -1 for a fixed window), capacity, scale and drain, for keys with a penalty its `after`, length,
 *             factor, maximum, the length of a window, and the end of the fixed window, else 0; then what
 *             `admission-loops.ts` says of the form, before the first key and for each key
 *     returns for each plain counter the count before; for each bucket and fixed window the level before; for each sliding
 *             window the level before, the part that cannot be given back, and the hits of the previous window; with a
 *             penalty, then its four numbers before; then the first error
 */
export const ADMIT_SCRIPT = `${STATES}
local results = {}
local failure = false
local plain = (#ARGV - 1) / 5
${refundAndAdd('plain')}
local numbers = cmsgpack.unpack(ARGV[#ARGV])
local now = numbers[1]
local keys, values = KEYS, command('MGET', unpack(KEYS, plain + 1))
local unread = values.err or false
local at, n, done = 2, plain, plain
while done < #keys do
  local form, last = numbers[at], done + numbers[at + 1]
  local length, capacity, scale, drain = numbers[at + 2], numbers[at + 3], numbers[at + 4], numbers[at + 5]
  local first = length > 0 and windowStart(now, length)
  local room, size, window, closes = capacity, 2
  at = at + 6
  if form == ${FORMS.singleReserved} then
    form, room, at = ${FORMS.single}, capacity - numbers[at], at + 1
    window, closes, at = numbers[at], numbers[at + 1], at + 2
  elseif form == ${FORMS.reserved} then
    size, window, closes, at = 3, numbers[at], numbers[at + 1], at + 2
  end
  if form == ${FORMS.single} and first then
    ${SINGLE_TO_WINDOWS}
  elseif form == ${FORMS.single} and length == 0 then
    ${SINGLE_TO_BUCKETS}
  elseif form == ${FORMS.single} then
    ${SINGLE_TO_COUNTS}
  else
    local penalty = form == ${FORMS.penalized} and termsAt(numbers, at)
    if penalty then window, closes, at = penalty.window, penalty.closes, at + 6 end
    ${RUNS_TO_ANY}
  end
  done = last
end
results[n + 1] = failure
${PACKED_REPLY}`;

/** What the script for batches with leases adds to the one without, by place: see `lease-script.ts`. */
interface LeaseFragments {
  /** The number of keys without leases, which come first. */
  readonly keys: string;
  readonly functions: string;
  /** Reads the keys with leases. */
  readonly open: string;
  /** Decides what the ops of a request do to leases, and does what cannot be refused. */
  readonly choose: string;
  /** The hits that are added to the limit of an op before it, as a term of a sum. */
  readonly besides: string;
  /** Whether an op is refused that would fit alone, as an alternative. */
  readonly refuses: string;
  /** Applies an op that fits. */
  readonly apply: string;
  /** Writes the keys with leases. */
  readonly keep: string;
  /** Appends what the batch learns of leases to the results. */
  readonly results: string;
}

/**
 * Counts requests that stop counting when over limit, as the script without sliding windows and token buckets. The limit
 * of such a key is full if the hits do not fit, and then they are not added.
 *
 *     KEYS    plain counters, then the others
 *     ARGV    the packed numbers: time in milliseconds, number of plain counters, number of requests; for each plain counter
 *             seconds to live, minimum seconds to live (0 if the key is not shared); for each other key: length of the
 *             window in seconds (0 for a bucket, -1 for a fixed window), capacity, scale, drain, the seconds that the state
 *             lives after the start of the window (of a fixed window, from now on), and the terms of its penalty as above,
 *             or 0 and of a fixed window the length of the window and its end; for each request: 1 if none of its hits are
 *             added, else 0, the number of its ops, and for each op: index of its key (from 1), hits, limit (-1 if the hits
 *             are a refund); then, if any op has a reserve, the packed reserves of all ops
 *     returns for each op: the count or level afterwards; 1 if its hits were held back, 2 if they were not admitted, 3 if the
 *             key is penalized, else 0; then for each window the part that cannot be given back and the hits of the previous
 *             window, and for each key with a penalty the four numbers of the penalty; then the first error
 */
export function admitHoldingBack({ keys, ...leases }: LeaseFragments): string {
  return `${STATES}${leases.functions}
local numbers = cmsgpack.unpack(ARGV[1])
local now, plain, requests = numbers[1], numbers[2], numbers[3]
local reserves = ARGV[2] and cmsgpack.unpack(ARGV[2]) or {}
local at = 4
local failure = false
local keys = {}
for i = 1, ${keys} do
  local value = redis.pcall('GET', KEYS[i])
  local err = type(value) == 'table' and value.err
  if err then value = nil end
  local state = { value = value, plain = i <= plain }
  keys[i] = state
  if state.plain then
    state.ttl, state.least = numbers[at], numbers[at + 1]
    at = at + 2
    state.count = not value and 0 or tonumber(match(value, '^-?%d+$') or '')
    if not state.count then err = err or 'ERR value is not an integer or out of range' end
  else
    local length, capacity, drain = numbers[at], numbers[at + 1], numbers[at + 3]
    state.length, state.capacity, state.drain = length, capacity, drain
    state.scale, state.life = numbers[at + 2], numbers[at + 4]
    at = at + 5
    state.base, state.previous = 0, 0
    local window, closes
    if numbers[at] > 0 then
      local terms = termsAt(numbers, at)
      at = at + 6
      window, closes = terms.window, terms.closes
      local record
      value, record = divided(value)
      state.value, state.terms, state.record = value, terms, penaltyAt(record, now, terms)
      if not state.record then
        err = err or '${NO_STATE.penalty}'
        state.record = penaltyAt(nil, now, terms)
      end
    else
      at = at + 1
      if length < 0 then window, closes, at = numbers[at], numbers[at + 1], at + 2 end
    end
    if length < 0 then
      state.count, state.full, state.reset = countAt(value, now, window, closes)
      if not state.count then err = err or (state.terms and '${NO_STATE.penalty}' or '${NO_STATE.count}') end
    elseif length > 0 then
      local start = windowStart(now, length)
      state.count, state.base, state.previous, state.start, state.lives, state.reset =
        windowAt(value, now, start, length)
      if not state.count then err = err or '${NO_STATE.window}' end
    else
      state.count, state.full, state.excess, state.reset = bucketAt(value, now, drain, capacity)
      if not state.count then err = err or '${NO_STATE.bucket}' end
    end
  end
  if err then state.count = nil end
  state.before, state.change = state.count, 0
  failure = failure or err or false
end
${leases.open}local function isPenalized(state)
  return state.record and now < state.record.ends * 1000
end
local function isFull(state, hits, limit, reserve)
  if not state.count or limit == math.huge then return false end
  if state.plain then return state.count + hits > limit end
  if isPenalized(state) then return true end
  return state.count + max(hits, 1) * state.scale > state.capacity - (reserve or 0)
end
local results = {}
local used = {}
for request = 1, requests do
  local hold = numbers[at] == 1
  local first, last = at + 2, at + 1 + 3 * numbers[at + 1]
  local done = #used + 1
  local any = hold
  local full = {}
  local after = {}
  for op = first, last, 3 do
    local state = keys[numbers[op]]
    if numbers[op + 2] < 0 and state.count then
      local hits = numbers[op + 1]
      local left
      if state.plain then left = state.count - min(hits, max(state.count, 0))
      else left = refunded(state.count, state.base, hits * state.scale) end
      state.lowered = state.lowered or left < state.count
      state.change = state.change + left - state.count
      state.count = left
      after[op] = left
    end
  end
${leases.choose}  for op = first, last, 3 do
    local reserve = reserves[done + (op - first) / 3]
    if numbers[op + 2] >= 0 and not hold and isFull(keys[numbers[op]], numbers[op + 1]${leases.besides}, numbers[op + 2], reserve) then
      full[op] = true
      any = true
    end
  end
  for op = first, last, 3 do
    local state = keys[numbers[op]]
    local isRefund = numbers[op + 2] < 0
    local held = any and not full[op] and not isRefund
    local code = held and 1 or 0
    if not isRefund then
      state.opens = true
      if state.count and not held then
        local hits = numbers[op + 1]
        if not state.plain then
          if isFull(state, hits, nil, reserves[done + (op - first) / 3])${leases.refuses} then code = 2 end
          if code == 2 and state.record then
            if hits > 0 and not isPenalized(state) then reject(state.record, now, state.terms) end
            if isPenalized(state) then code = 3 end
          end
          hits = code > 1 and 0 or hits * state.scale
        end
        state.count = state.count + hits
        state.change = state.change + hits
${leases.apply}      end
    end
    used[#used + 1] = state
    results[#results + 1] = after[op] or state.count or false
    results[#results + 1] = code
  end
  at = last + 1
end
for i = 1, ${keys} do
  local state = keys[i]
  local err = false
  if state.count and state.plain and (state.change ~= 0 or state.opens) then
    local reply = redis.pcall('INCRBY', KEYS[i], format('%.0f', state.change))
    err = type(reply) == 'table' and reply.err
    if not err and state.opens and
      (not state.value or (state.least > 0 and redis.call('TTL', KEYS[i]) < state.least)) then
      redis.call('EXPIRE', KEYS[i], state.ttl)
    end
  elseif state.count and not state.plain and
    (state.count ~= state.before or state.reset or state.record and state.record.changed) then
    if state.record then append(state.record, now, state.terms) end
    if state.length < 0 then
      err = keep(KEYS[i], state.value, format('%d %d', state.full, state.count), false, state.life)
    elseif state.length > 0 then
      local current = state.count - state.base
      local start, previous, lives = state.start, state.previous, state.lives
      err = keepWindow(KEYS[i], state.value, now, start, previous, current, lives, state.life)
    else
      err = keepBucket(KEYS[i], state.value, now, state.count + state.excess, state.drain, state.full)
    end
  end
  if err then state.count = nil
  elseif state.lowered and state.count then ${TELL} end
  failure = failure or err or false
end
${leases.keep}for op = 1, #used do
  if not used[op].count then results[2 * op - 1] = false end
end
for i = plain + 1, ${keys} do
  if keys[i].length > 0 then
    results[#results + 1] = keys[i].base or 0
    results[#results + 1] = keys[i].previous or 0
  end
  local record = keys[i].record
  if record then
    results[#results + 1] = record.violations
    results[#results + 1] = record.penalties
    results[#results + 1] = record.closes
    results[#results + 1] = record.ends
  end
end
${leases.results}results[#results + 1] = failure
${PACKED_REPLY}`;
}

export const ADMIT = script(ADMIT_SCRIPT);
export const ADMIT_HOLDING_BACK = script(
  admitHoldingBack({
    keys: '#KEYS',
    functions: '',
    open: '',
    choose: '',
    besides: '',
    refuses: '',
    apply: '',
    keep: '',
    results: '',
  }),
);
