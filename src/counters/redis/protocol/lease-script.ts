import { STEP } from '../../leases/lease.ts';
import { admitHoldingBack } from './admission-scripts.ts';
import { LEASE_DECISIONS, UNDO } from './lease-functions.ts';
import { LEASE_STATES, LEASE_TERMS } from './lease-states.ts';
import { script } from './scripts.ts';

/** The limit of an op that is not held back. The script without leases uses it for refunds. */
const CANNOT_BE_REFUSED = -1;

/**
 * Counts requests of which at least one has a lease, as the script without leases, of which this one is a variant.
 *
 *     KEYS    as there; then for each limit with leases its two keys
 *     ARGV    as there, with the numbers and always the reserves, where ops of limits with leases have the index that follows
 *             those of the other keys; then the packed leases: the number of limits with leases; for each of them the
 *             mode, the length of a lease in milliseconds, whether there are holders, the estimate, whether hits settle,
 *             whether calls without hits settle, whether overdrafts are allowed (1 or 0), the capacity, the length of the
 *             window in seconds, the end of the window, and the seconds to live (0 if nothing is written); for each op of
 *             such a limit the action, 1 if its hits are a refund, 1 if the name is that of a holder, and the length of
 *             the name; then all names
 *     returns as there; before the first error for each op with a lease the step, its hits, the spent hits and the held
 *             hits; then for each limit with leases the level, the hits that are held, the milliseconds until the first
 *             lease ends, and the hits of leases that have expired
 */
export const LEASE_SCRIPT = admitHoldingBack({
  keys: 'singles',
  functions: `
local leases, names = cmsgpack.unpack(ARGV[3]), ARGV[4]
local singles = #KEYS - 2 * leases[1]
local time = command('TIME')
local clock = time.err and 0 or time[1] * 1000 + floor(time[2] / 1000)
${LEASE_DECISIONS}
${LEASE_STATES}`,
  open: `for i = 1, leases[1] do
  local at = 2 + ${LEASE_TERMS} * (i - 1)
  local state = { leased = true, scale = 1, change = 0,
    account = KEYS[singles + 2 * i - 1], ends = KEYS[singles + 2 * i],
    mode = leases[at], lengthMs = leases[at + 1], hasHolders = leases[at + 2] == 1, estimate = leases[at + 3],
    settles = leases[at + 4] == 1, zeroSettles = leases[at + 5] == 1, allowsOverdraft = leases[at + 6] == 1,
    capacity = leases[at + 7], length = leases[at + 8], closes = leases[at + 9], life = leases[at + 10] }
  local err = openLeases(state, now, time)
  failure = failure or err or false
  keys[singles + i] = state
end
local calls, called = {}, {}
local nextCall, nextName = 2 + ${LEASE_TERMS} * leases[1], 1
-- The next op with a lease, and what it does.
local function choose(state, hits)
  local at, length = nextCall, leases[nextCall + 3]
  local call = { action = leases[at], hits = hits, isRefund = leases[at + 1] == 1, isNamed = leases[at + 2] == 1,
    name = sub(names, nextName, nextName + length - 1), step = ${STEP.nothing}, stepHits = 0, spent = 0, held = 0 }
  nextCall, nextName = at + 4, nextName + length
  calls[#calls + 1] = call
  if not state.count then return call end
  call.target = call.name
  if call.isNamed or call.action == ${UNDO.take} or call.action == ${UNDO.spend} then
    call.record = recordOf(state, call.name)
  elseif state.hasHolders then
    call.record = blank()
  else
    call.target, call.record = firstLease(state)
  end
  state.count = levelOf(state)
  call.step, call.stepHits = stepOf(state, call, call.record)
  if call.step <= ${STEP.spend} then makeRoom(state, call.stepHits) end
  return call
end
`,
  choose: `  local pending = {}
  for op = first, last, 3 do keys[numbers[op]].pending = 0 end
  for op = first, last, 3 do
    local state = keys[numbers[op]]
    if state.leased then
      local call = choose(state, numbers[op + 1])
      called[op] = call
      if call.step > ${STEP.spend} then
        numbers[op + 2] = ${CANNOT_BE_REFUSED}
        applyStep(state, call)
        after[op] = state.count
      elseif call.step == ${STEP.take} and isAtMost(state, call.name) then
        numbers[op + 1] = math.huge
      else
        numbers[op + 1] = call.stepHits
        if call.step ~= ${STEP.ask} then
          pending[op] = state.pending
          state.pending = state.pending + call.stepHits
        end
      end
    end
  end
`,
  besides: ' + (pending[op] or 0)',
  refuses: ' or state.leased and full[op]',
  apply: `        if state.leased and code == 0 then applyStep(state, called[op]) end
`,
  keep: `for i = 1, leases[1] do
  local state = keys[singles + i]
  local err = state.count and state.isChanged and state.life > 0 and keepLeases(state)
  if err then state.count = nil end
  failure = failure or err or false
end
`,
  results: `for _, call in ipairs(calls) do
  results[#results + 1] = call.step
  results[#results + 1] = call.stepHits
  results[#results + 1] = call.spent
  results[#results + 1] = call.held
end
for i = 1, leases[1] do
  local state = keys[singles + i]
  local first = state.count and firstEnd(state) or 0
  results[#results + 1] = state.count or false
  results[#results + 1] = state.count and state.held or 0
  results[#results + 1] = first
  results[#results + 1] = state.count and state.expired or 0
end
`,
});

/** The script for batches with leases. */
export const LEASE_HOLDING_BACK = script(LEASE_SCRIPT);
