import { Fault } from '../base/fault.ts';
import { isUnit, secondsUntilReset, windowLengthS } from '../counters/window.ts';
import { HEADER, LIMIT, LIMIT_FLAG } from '../rules/layout.ts';
import { Matcher } from '../rules/matcher.ts';
import { RULE_STAT } from '../stats/names.ts';
import { type DecisionBatch, KIND } from './batch.ts';
import { type CacheKeys, sharePatterns } from './cache-key.ts';
import { hasDynamicMetricKey, metricKey, overrideMetricKey } from './metric-key.ts';
import type { OverLimitCache } from './over-limit-cache.ts';
import { NO_NAME } from './statistics/named-rows.ts';
import { ROW_SLOTS, type RuleGeneration } from './statistics/rule-statistics.ts';
import { addTotal } from './statistics/shared-totals.ts';

/**
 * Maximum number of descriptors per request whose statistics get names made from request values. Creating a name, and
 * evicting another one for it, costs more than the decision. Hits of further descriptors are counted without a name.
 */
export const MAX_NAMES_PER_REQUEST = 128;

/** The parts of a {@link Planner}. */
interface PlannerParts {
  readonly cacheKeys: CacheKeys;
  /** The local cache; null if disabled. */
  readonly overLimit: OverLimitCache | null;
  /** Returns random seconds to add to a time to live, so that counters do not all expire at once. */
  readonly expiryJitterS: () => number;
}

/** First half of a decision, up to the store: matches rules, applies `replaces`, creates cache keys and ops. */
export class Planner {
  readonly #parts: PlannerParts;
  readonly #matcher = new Matcher();
  /** Names of the limits that the limits of the current request replace. */
  readonly #replaced = new Set<number>();
  /** Number of descriptors of the request whose statistics have names made from request values. */
  #named = 0;

  constructor(parts: PlannerParts) {
    this.#parts = parts;
  }

  /**
   * Plans every request of a decoded batch that has no fault yet.
   * @param generation the active rules; null before the first load, which is a fault of every request
   */
  plan(batch: DecisionBatch, generation: RuleGeneration | null): void {
    batch.keys.reset();
    batch.counters.reset(batch.nowMs);
    if (batch.size === 1) reserveKeys(batch);
    batch.decisions.reserve(batch.requests.descriptorRows);
    for (let request = 0; request < batch.size; request++) {
      batch.faults[request] ??= this.#planRequest(batch, generation, request);
    }
  }

  /** The order of the checks is that of envoyproxy/ratelimit: domain, descriptors, rules, match, replaces, count. */
  #planRequest(batch: DecisionBatch, generation: RuleGeneration | null, request: number): Fault | null {
    const { requests } = batch;
    const first = requests.firstDescriptor[request];
    const end = first + requests.descriptorCount[request];
    if (requests.domainStart[request] === requests.domainEnd[request]) {
      return new Fault('bad_request', '`domain` is empty; set it to the domain of the rules');
    }
    if (first === end) {
      return new Fault('bad_request', '`descriptors` is empty; send at least one descriptor');
    }
    if (generation === null) {
      return new Fault('no_rules', 'no rules are loaded yet; see the log of the service');
    }
    const level = generation.rules.domainLevel(
      requests.bytes,
      requests.domainStart[request],
      requests.domainEnd[request],
    );
    if (level < 0) {
      batch.decisions.kind.fill(KIND.none, first, end);
      const domain = requests.text(requests.domainStart[request], requests.domainEnd[request]);
      batch.named.domainNotFound(domain, end - first);
      return null;
    }
    // Clearing a set that is in the old space allocates memory there, and the old space is rarely collected.
    if (this.#replaced.size > 0) this.#replaced.clear();
    this.#named = 0;
    for (let row = first; row < end; row++) {
      const fault = this.#planDescriptor(batch, generation, { request, row, level });
      if (fault !== null) return fault;
    }
    if (this.#replaced.size > 0) this.#dropReplaced(batch, generation, first, end);
    this.#addOps(batch, first, end);
    return null;
  }

  /** Whether another descriptor of the request may have statistics under a name made from request values. */
  #mayName(): boolean {
    return this.#named++ < MAX_NAMES_PER_REQUEST;
  }

  #planDescriptor(
    batch: DecisionBatch,
    generation: RuleGeneration,
    at: { readonly request: number; readonly row: number; readonly level: number },
  ): Fault | null {
    const { requests, decisions, keys } = batch;
    const { request, row } = at;
    decisions.kind[row] = KIND.none;
    decisions.keyStart[row] = keys.length;
    this.#parts.cacheKeys.begin(keys, requests, request);
    if (requests.hasOverride[row] === 1) {
      const fault = this.#planOverride(batch, request, row);
      if (fault !== null) return fault;
    } else if (!this.#planRule(batch, generation, at)) {
      keys.length = decisions.keyStart[row];
      return null;
    }
    decisions.hits[row] = hitsOf(batch, request, row);
    if (decisions.kind[row] === KIND.limited)
      this.#parts.cacheKeys.end(keys, decisions.unit[row], batch.nowS);
    decisions.keyEnd[row] = keys.length;
    return null;
  }

  /** Plans a descriptor with a limit override: rules and their flags do not apply. */
  #planOverride(batch: DecisionBatch, request: number, row: number): Fault | null {
    const { requests, decisions } = batch;
    const unit = requests.overrideUnit[row];
    if (!isUnit(unit)) {
      const place = `descriptors[${row - requests.firstDescriptor[request]}].limit.unit`;
      // Protobuf enums are signed; the column holds the bits.
      const signed = unit | 0;
      return new Fault('bad_request', `\`${place}\` is ${signed}; use 1 (SECOND) to 6 (YEAR), or 7 (WEEK)`);
    }
    this.#matcher.writeAll(requests, row, batch.keys);
    decisions.kind[row] = KIND.limited;
    decisions.limit[row] = -1;
    decisions.requestsPerUnit[row] = requests.overrideRequestsPerUnit[row];
    decisions.unit[row] = unit;
    decisions.flags[row] = 0;
    const domain = requests.text(requests.domainStart[request], requests.domainEnd[request]);
    const name = this.#mayName() ? overrideMetricKey(requests, row, domain) : NO_NAME;
    decisions.statistics[row] = batch.named.rowFor(name);
    decisions.statisticsBase[row] = 0;
    return null;
  }

  /** Matches the rules; false if no limit applies to the descriptor. */
  #planRule(
    batch: DecisionBatch,
    generation: RuleGeneration,
    at: { readonly request: number; readonly row: number; readonly level: number },
  ): boolean {
    const { requests, decisions, keys } = batch;
    const { rules } = generation;
    const { request, row } = at;
    const matcher = this.#matcher;
    const limit = matcher.match(rules, at.level, requests, row, keys);
    if (limit < 0) return false;
    const flags = rules.limit(limit, LIMIT.flags);
    decisions.kind[row] = (flags & LIMIT_FLAG.unlimited) !== 0 ? KIND.unlimited : KIND.limited;
    decisions.limit[row] = limit;
    decisions.requestsPerUnit[row] = rules.requestsPerUnit(limit);
    decisions.unit[row] = rules.limit(limit, LIMIT.unit);
    decisions.flags[row] = flags;
    if (hasDynamicMetricKey(rules, matcher, requests, row)) {
      const domain = requests.text(requests.domainStart[request], requests.domainEnd[request]);
      const name = this.#mayName() ? metricKey(rules, matcher, requests, row, domain) : NO_NAME;
      decisions.statistics[row] = batch.named.rowFor(name);
      decisions.statisticsBase[row] = 0;
    } else {
      decisions.statistics[row] = generation.statistics;
      decisions.statisticsBase[row] = limit * ROW_SLOTS;
    }
    if (matcher.shared) sharePatterns(rules, matcher, requests, row, keys);
    const replaces = rules.limit(limit, LIMIT.replaces) + rules.words[HEADER.replaces];
    for (let i = 0; i < rules.limit(limit, LIMIT.replaceCount); i++)
      this.#replaced.add(rules.words[replaces + i]);
    return true;
  }

  /** Removes limits that another matched limit replaces by name. Unlimited rules can replace, but are not replaced. */
  #dropReplaced(batch: DecisionBatch, generation: RuleGeneration, first: number, end: number): void {
    const { decisions } = batch;
    for (let row = first; row < end; row++) {
      if (decisions.kind[row] !== KIND.limited || decisions.limit[row] < 0) continue;
      if (this.#replaced.has(generation.rules.limit(decisions.limit[row], LIMIT.name)))
        decisions.kind[row] = KIND.none;
    }
  }

  /**
   * Counts `total_hits` or `total_negative_hits`, looks up hits in the local cache, and adds an op for each remaining
   * descriptor, as one group.
   */
  #addOps(batch: DecisionBatch, first: number, end: number): void {
    const { requests, decisions, counters, keys, nowS } = batch;
    const { overLimit } = this.#parts;
    let anyKnownOver = false;
    for (let row = first; row < end; row++) {
      if (decisions.kind[row] === KIND.none) continue;
      const statistics = decisions.statistics[row];
      const base = decisions.statisticsBase[row];
      const hits = decisions.hits[row];
      const isRefund = requests.isRefund[row] === 1;
      addTotal(statistics, base + (isRefund ? RULE_STAT.totalNegativeHits : RULE_STAT.totalHits), hits);
      if (decisions.kind[row] === KIND.unlimited) {
        if (!isRefund) addTotal(statistics, base + RULE_STAT.withinLimit, hits);
        continue;
      }
      const start = decisions.keyStart[row];
      if (!isRefund && overLimit?.has(keys.bytes, start, decisions.keyEnd[row])) {
        decisions.op[row] = -1;
        anyKnownOver = true;
        continue;
      }
      const unit = decisions.unit[row];
      const op = counters.addOp(
        keys.bytes,
        { start, end: decisions.keyEnd[row] },
        {
          hits,
          isRefund,
          limit: decisions.requestsPerUnit[row],
          unit,
          ttlS: windowLengthS(unit) + this.#parts.expiryJitterS(),
          expiryS: nowS + secondsUntilReset(unit, nowS),
        },
      );
      decisions.op[row] = op;
      if (overLimit === null) continue;
      // Later hits, in this request and the following ones, must not be rejected because of a cache entry.
      if (isRefund && hits > 0) overLimit.marks.refunded(counters.markWord(op));
      decisions.mark[row] = overLimit.marks.of(counters.markWord(op));
    }
    counters.endGroup(anyKnownOver);
  }
}

/**
 * Reserves memory for the keys of one request, which are about as long as the request. With a request of megabytes, growing
 * the memory step by step would leave twice as much garbage.
 */
function reserveKeys({ keys, counters, requestBytes }: DecisionBatch): void {
  keys.reserve(requestBytes);
  counters.keys.reserve(requestBytes);
}

/**
 * The hits to count or give back: `hits_addend` of the descriptor, else of the request, else 1. A descriptor can set 0 to
 * check its limit without counting.
 */
export function hitsOf(batch: DecisionBatch, request: number, row: number): number {
  const own = batch.requests.descriptorHits[row];
  if (own >= 0) return own;
  const shared = batch.requests.requestHits[request];
  return shared === 0 ? 1 : shared;
}
