import { EVENT_NUMBER as E } from './records.ts';

/** Maximum number of attempts of a task that are not counted. */
const MAX_DEFERRALS = 100;
/**
 * How long an ended lease is kept. A repeated settlement within this time gets the same answer; later ones are `lost`. A kept
 * lease needs a tenth of the memory of a finished task.
 */
export const SETTLED_LEASE_KEPT_MS = 3_600_000;

const LEASED = `local function leased(lease)
  local id = call('GET', P .. 'L:' .. lease)
  local x = id and open(id)
  if x and x.f[F_lease] == lease then return x end
end
`;

/**
 *     ARGV    time; then for each: `[lease, event, delayMs, last, throttleMs, error, http, actor, result]` (JSON)
 *     returns hints; then for each: `s` (settled), `a` (already) or `l` (lost), id, record, start of the attempt or 0
 */
export const SETTLE = `${LEASED}
local function outcome(f, event, last)
  if event == ${E.succeeded} then return SUCCEEDED, event end
  if event == ${E.canceled} or f[F_cancel] then return CANCELED, ${E.canceled} end
  if event == ${E.no_retry} then return FAILED, event end
  if event == ${E.deferred} or event == ${E.released} then
    f[F_deferrals] = f[F_deferrals] + 1
    if f[F_deferrals] <= ${MAX_DEFERRALS} then return RETRY, event, true end
  end
  return (last or f[F_attempt] >= f[F_maxAttempts]) and FAILED or RETRY, event
end
local function throttle(worker, untilAt)
  local name = P .. 'B:' .. worker
  local text = call('GET', name)
  local bucket = text and unpacked(text) or { 0, false, false }
  if untilAt > bucket[1] then
    bucket[1] = untilAt
    call('SET', name, pack(bucket))
  end
end
local reply = { false }
local function answer(kind, id, text, began)
  local at = #reply
  reply[at + 1], reply[at + 2], reply[at + 3], reply[at + 4] = kind, id or '', text or '', tonumber(began) or 0
end
local function settle(lease, event, delayMs, last, throttleMs, failure, http, actor, result)
  local x = leased(lease)
  if not x then return answer('l') end
  local f = x.f
  if x.status ~= RUNNING then
    if f[F_settled] == event then return answer('a', x.id, pack(f)) end
    return answer('l')
  end
  if event == ${E.lease_expired} and f[F_leaseUntil] > now then return answer('l') end
  if throttleMs > 0 then throttle(f[F_worker], now + throttleMs) end
  local attempt = f[F_attempt]
  local status, told, uncounted = outcome(f, event, last)
  if uncounted then f[F_attempt] = attempt - 1 end
  if failure and status ~= SUCCEEDED then
    f[F_error] = failure
    f[F_errorAt] = now
  end
  f[F_settled], f[F_leaseUntil], f[F_leaseCap] = event, false, false
  if ticks then call('PEXPIRE', P .. 'L:' .. lease, '${SETTLED_LEASE_KEPT_MS}') end
  if status == SUCCEEDED and result then
    local parts = body(x.id)
    parts[3] = result
    saveBody(x.id, parts)
  end
  touch(x)
  if status == RETRY then
    f[F_status], f[F_due] = RETRY, now + delayMs
  else
    finish(x, status)
  end
  log(x, told, attempt, actor, string.sub(lease, -4), http, failure)
  answer('s', x.id, save(x), f[F_began])
  if status == RETRY then return wake(f) end
  release(x)
  if f[F_onFinish] then callBack(x) end
end
-- All arguments are decoded before the first write, because Redis does not roll back a script that fails.
local settlements = {}
for i = 2, #ARGV do settlements[i - 1] = cjson.decode(ARGV[i]) end
for i = 1, #settlements do settle(unpack(settlements[i])) end
reply[1] = hints()
return reply
`;

/**
 *     ARGV    time, lease, ms or empty, `1` if there is progress, percent or empty, `1` if there is a note, the note,
 *             actor
 *     returns hints; if the attempt runs: the end of its lease, and 1 if the task has a cancel request
 */
export const EXTEND = `${LEASED}
local x = leased(ARGV[2])
if not x or x.status ~= RUNNING then return { false } end
local f = x.f
local ms = tonumber(ARGV[3])
local changed = false
if ms then
  local last = math.max(f[F_leaseUntil], math.min(now + ms, f[F_leaseCap]))
  changed = last ~= f[F_leaseUntil]
  f[F_leaseUntil] = last
end
if ARGV[4] ~= '' then
  record(x, {
    now, ${E.heartbeat_progress}, RUNNING, RUNNING, f[F_attempt], ARGV[8], false, false, false, false, false,
    tonumber(ARGV[5]) or false, ARGV[6] == '1' and ARGV[7],
  })
  changed = true
end
if changed then save(x) end
return { hints(), f[F_leaseUntil], f[F_cancel] and 1 or 0 }
`;

/** ARGV: time, lease. Returns id and record of the task with a running attempt, or nothing. */
export const FIND_LEASED = `${LEASED}
local x = leased(ARGV[2])
if not x or x.status ~= RUNNING then return {} end
return { x.id, pack(x.f) }
`;
