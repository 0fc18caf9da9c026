import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { LIMIT_FLAG } from '../../rules/layout.ts';
import {
  type DecisionBatch,
  endOfLimits,
  firstLimit,
  heldAfter,
  hitsOf,
  KIND,
  PENALIZED,
  usedAfter,
} from '../batch.ts';
import type { BatchObserver } from '../batch-observer.ts';
import type { RuleGeneration } from '../statistics/rule-statistics.ts';
import { type KeyIdentity, ObservedKey } from './observed-key.ts';
import { RefusalBudget } from './refusal-budget.ts';
import { Sampler } from './sampler.ts';
import type { Seat, Seats } from './seats.ts';
import { bucketOfKey, bucketOfRule, noteInterval, type Slice } from './span-sketch.ts';

interface ObserverParts extends KeyIdentity {
  readonly seats: Seats;
  readonly threadId: number;
  /** Returns a random number, 0 inclusive to 1 exclusive. */
  readonly random: () => number;
}

/**
 * Records the keys with the most hits, and the last refusals, in a seat of the shared memory. If other threads have all
 * seats at the moment, the batch is not recorded.
 */
export class HotKeyObserver implements BatchObserver {
  readonly #parts: ObserverParts;
  readonly #sampler: Sampler;
  readonly #budget = new RefusalBudget();
  readonly #key: ObservedKey;

  constructor(parts: ObserverParts) {
    this.#parts = parts;
    this.#sampler = new Sampler(parts.random);
    this.#key = new ObservedKey(parts);
  }

  observe(batch: DecisionBatch, { rules }: RuleGeneration): void {
    const rows = batch.requests.descriptorRows;
    const sampled = this.#sampler.begin(rows, batch.nowS);
    const over = nextOver(batch, 0);
    const seat = sampled < rows || over < rows ? this.#lock(batch) : null;
    if (seat === null) {
      this.#sampler.end(rows, Math.max(sampled, rows));
      return;
    }
    try {
      this.#sampleRows(batch, rules, seat, sampled);
      for (let row = over; row < rows; row = nextOver(batch, row + 1)) {
        if (!this.#isSpent(batch, rules, row)) this.#recordRefusal(batch, rules, seat, row);
      }
    } finally {
      this.#key.release();
      seat.unlock();
    }
  }

  #lock({ nowMs }: DecisionBatch): Seat | null {
    return this.#parts.seats.lock(this.#parts.threadId, nowMs);
  }

  #sampleRows(batch: DecisionBatch, rules: CompiledRules, seat: Seat, first: number): void {
    const { requests, faults, nowMs } = batch;
    const rows = requests.descriptorRows;
    let row = first;
    let request = 0;
    if (row < rows) {
      const minute = seat.spans.minute.at(nowMs);
      const hour = seat.spans.hour.at(nowMs);
      for (; row < rows; row = this.#sampler.after(row)) {
        while (row >= requests.firstDescriptor[request] + requests.descriptorCount[request]) request++;
        if (faults[request] !== null || !isCounted(batch, row)) continue;
        this.#key.descriptor(request, row);
        this.#count(batch, rules, minute, hour);
      }
    }
    this.#sampler.end(rows, row);
  }

  /** Counts the hits of the current descriptor in the two slices. */
  #count(batch: DecisionBatch, rules: CompiledRules, minute: Slice, hour: Slice): void {
    const { decisions } = batch;
    const key = this.#key;
    const { interval } = this.#sampler;
    noteInterval(minute, interval);
    noteInterval(hour, interval);
    const end = endOfLimits(decisions, key.row);
    for (let row = firstLimit(decisions, key.row); row < end; row++) {
      if (!isOfLimit(decisions.kind[row])) continue;
      key.limited(batch, rules, row, interval);
      const keyBucket = bucketOfKey(key);
      const ruleBucket = bucketOfRule(key.ruleA);
      minute.byKey.add(keyBucket, key);
      minute.byRule.add(ruleBucket, key);
      hour.byKey.add(keyBucket, key);
      hour.byRule.add(ruleBucket, key);
    }
  }

  /** Whether a refusal would not be recorded: in a flood, this is true of most, so it must cost nearly nothing. */
  #isSpent({ decisions, nowMs }: DecisionBatch, rules: CompiledRules, row: number): boolean {
    if (decisions.kind[row] !== KIND.limited) return false;
    return this.#budget.isSpent(this.#key.ruleOf(rules, decisions.limit[row]), nowMs);
  }

  /** Records all exceeded limits of a descriptor. */
  #recordRefusal(batch: DecisionBatch, rules: CompiledRules, seat: Seat, descriptor: number): void {
    const { decisions } = batch;
    const request = requestOf(batch, descriptor);
    // The rows of a request with a fault were not evaluated, and have values of an earlier batch.
    if (batch.faults[request] !== null || decisions.kind[descriptor] === KIND.none) return;
    const key = this.#key;
    key.descriptor(request, descriptor);
    if (decisions.kind[descriptor] === KIND.banned) {
      key.banned(batch, rules);
      this.#addRefusal(batch, rules, seat, descriptor);
      return;
    }
    const end = endOfLimits(decisions, descriptor);
    for (let row = firstLimit(decisions, descriptor); row < end; row++) {
      if (decisions.isOver[row] === 0 || decisions.kind[row] !== KIND.limited) continue;
      key.limited(batch, rules, row, 1);
      this.#addRefusal(batch, rules, seat, row);
    }
  }

  /** Records the current key as rejected by the limit of a row, or banned. */
  #addRefusal(batch: DecisionBatch, rules: CompiledRules, seat: Seat, row: number): void {
    const { decisions, nowMs } = batch;
    const key = this.#key;
    if (!this.#budget.allows(key.ruleA, nowMs)) return;
    const isBanned = decisions.kind[row] === KIND.banned;
    const origin = batch.replies[key.request].origin;
    const terms = isBanned ? null : decisions.terms[row];
    const requestsPerUnit = isBanned ? ruleLimit(rules, key.limit) : decisions.requestsPerUnit[row];
    seat.refusals.add({
      timeMs: nowMs,
      ruleA: key.ruleA,
      ruleB: key.ruleB,
      path: key.limit < 0 ? '' : rules.path(key.limit),
      text: key.text,
      hits: isBanned ? hitsOf(batch, key.request, row) : decisions.hits[row],
      count: isBanned ? Number.NaN : usedAfter(batch, row),
      held: isBanned ? Number.NaN : heldAfter(batch, row),
      requestsPerUnit,
      most: terms === null ? requestsPerUnit : terms.most / terms.scale,
      isShadow: !isBanned && (decisions.flags[row] & LIMIT_FLAG.shadow) !== 0,
      isPenalized: !isBanned && (decisions.flags[row] & PENALIZED) !== 0,
      isBanned,
      peer: origin?.peer ?? null,
      traceId: origin?.traceId ?? null,
    });
  }
}

/** The number of the rule; 0 if there is no rule, as for a ban alone. */
function ruleLimit(rules: CompiledRules, limit: number): number {
  return limit < 0 ? 0 : rules.requestsPerUnit(limit);
}

/** The next descriptor from a row that is over its limit; the number of rows if there is none. */
function nextOver({ requests, decisions }: DecisionBatch, from: number): number {
  const { isOver } = decisions;
  const rows = requests.descriptorRows;
  let row = from;
  while (row < rows && isOver[row] === 0) row++;
  return row;
}

/**
 * Whether a descriptor adds hits to limits. Hits that are given back are not subtracted, because no summary allows it.
 * Descriptors that are banned or passed are not counted against limits.
 */
function isCounted({ decisions, requests }: DecisionBatch, row: number): boolean {
  if (requests.isRefund[row] === 1 || decisions.hits[row] <= 0) return false;
  return decisions.kind[row] === KIND.several || isOfLimit(decisions.kind[row]);
}

function isOfLimit(kind: number): boolean {
  return kind === KIND.limited || kind === KIND.unlimited;
}

/** The request of a descriptor. */
function requestOf({ requests }: DecisionBatch, row: number): number {
  let low = 0;
  let high = requests.requestCount - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (requests.firstDescriptor[middle] <= row) low = middle;
    else high = middle - 1;
  }
  return low;
}
