import { ACTION, LEASE, LEASE_MODE, STEP } from '../../leases/lease.ts';

/** Actions that take back what an op of the same batch has done, because the hits of its request are held back. */
export const UNDO = { take: 5, spend: 6 } as const;

/**
 * Lua functions that decide what a call does, with the same operations as `LeaseStep`. They return the step and its hits.
 *
 * A call is `{ action, hits, isRefund, isNamed }`, a record has `state` and `hits`, and the terms are fields of the state of
 * the limit. Needs `max` and `min`, which are the functions of Lua.
 */
export const LEASE_DECISIONS = `local function takeStep(terms, hits)
  if hits == 0 then return ${STEP.ask}, 0 end
  local isSlot = terms.mode == ${LEASE_MODE.concurrency} and terms.settles
  return ${STEP.take}, isSlot and min(hits, 1) or hits
end

local function settleStep(terms, record, hits)
  local spent = terms.mode == ${LEASE_MODE.reserve} and hits or 0
  if record.state == ${LEASE.none} and spent == 0 then return ${STEP.nothing}, 0 end
  return ${STEP.settle}, spent
end

local function extendStep(terms, record)
  if record.state == ${LEASE.live} then return ${STEP.extend}, 0 end
  if record.state == ${LEASE.expired} then return takeStep(terms, record.hits) end
  return ${STEP.ask}, 0
end

local function stepWithoutHolder(terms, call)
  if terms.mode == ${LEASE_MODE.concurrency} then
    if call.isRefund then return ${STEP.nothing}, 0 end
    return takeStep(terms, call.hits)
  end
  if call.isRefund then return ${STEP.giveBack}, call.hits end
  return call.hits == 0 and ${STEP.ask} or ${STEP.spend}, call.hits
end

local function refundStep(terms, call, record)
  if not terms.hasHolders then return ${STEP.giveBack}, call.hits end
  if record.state ~= ${LEASE.live} and record.state ~= ${LEASE.expired} then return ${STEP.nothing}, 0 end
  if terms.mode == ${LEASE_MODE.concurrency} and not terms.settles and call.hits < record.hits then
    return ${STEP.free}, call.hits
  end
  return ${STEP.settle}, terms.mode == ${LEASE_MODE.reserve} and max(record.hits - call.hits, 0) or 0
end

local function stepWithoutHits(terms, record)
  if not terms.hasHolders or record.state == ${LEASE.none} then return takeStep(terms, terms.estimate) end
  if record.state == ${LEASE.settled} then return ${STEP.ask}, 0 end
  if terms.zeroSettles then return ${STEP.settle}, 0 end
  return extendStep(terms, record)
end

local function stepWithHits(terms, call, record)
  local isOpen = record.state == ${LEASE.live} or record.state == ${LEASE.expired}
  if not terms.hasHolders or isOpen and terms.settles then return settleStep(terms, record, call.hits) end
  if record.state == ${LEASE.settled} and record.hits == call.hits then return ${STEP.repeat}, 0 end
  return takeStep(terms, call.hits)
end

local function stepOf(terms, call, record)
  local action = call.action
  local isTaking = action == ${ACTION.reserve} or action == ${ACTION.settle}
  if action == ${ACTION.any} or call.isRefund and isTaking then
    if terms.hasHolders and not call.isNamed then return stepWithoutHolder(terms, call) end
    if call.isRefund then return refundStep(terms, call, record) end
    if call.hits == 0 then return stepWithoutHits(terms, record) end
    return stepWithHits(terms, call, record)
  end
  if action == ${ACTION.end} then
    local isKnown = record.state == ${LEASE.live} or record.state == ${LEASE.expired}
    local ends = call.isRefund or call.hits > 0 and terms.settles
    if not isKnown or not ends or not call.isNamed then return ${STEP.nothing}, 0 end
    if call.isRefund then return refundStep(terms, call, record) end
    return settleStep(terms, record, call.hits)
  end
  if action == ${ACTION.reserve} then return takeStep(terms, call.hits == 0 and terms.estimate or call.hits) end
  if action == ${ACTION.extend} then return extendStep(terms, record) end
  if action == ${UNDO.take} then return record.state == ${LEASE.live} and ${STEP.free} or ${STEP.nothing}, call.hits end
  if action == ${UNDO.spend} then return ${STEP.giveBack}, call.hits end
  if action == ${ACTION.release} or action == ${ACTION.revoke} then
    return record.state == ${LEASE.live} and ${STEP.settle} or ${STEP.nothing}, 0
  end
  if record.state == ${LEASE.settled} then return ${STEP.nothing}, 0 end
  return settleStep(terms, record, call.hits)
end
`;
