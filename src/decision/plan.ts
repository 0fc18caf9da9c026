import { empty } from '../base/bytes.ts';
import { SECOND_MS } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { ACTION } from '../counters/leases/lease.ts';
import { isUnit, secondsUntilReset } from '../counters/window.ts';
import type { CompiledRules } from '../rules/compiled-rules.ts';
import { HEADER, LIMIT, LIMIT_FLAG } from '../rules/layout.ts';
import { Matcher } from '../rules/matching/matcher.ts';
import { UNIT_NUMBERS } from '../rules/rule-set.ts';
import type { SteeringTable } from '../steering/steering-table.ts';
import { type DecisionBatch, type DecisionTable, hitsOf, KIND } from './batch.ts';
import type { CacheKeys } from './cache-key.ts';
import type { CountingTerms } from './limits/counting-terms.ts';
import type { LimitHolders } from './limits/limit-holders.ts';
import { hasDynamicMetricKey, metricKey, overrideMetricKey } from './metric-key.ts';
import type { OverLimitCache } from './over-limit-cache.ts';
import { OpPlanner } from './plan-ops.ts';
import { NO_NAME } from './statistics/named-rows.ts';
import { ROW_SLOTS, type RuleGeneration } from './statistics/rule-statistics.ts';
import { Steerer, type SteeringCounters } from './steer.ts';

/**
 * Maximum number of limits per request whose statistics get names made from request values. Creating a name, and evicting
 * another one for it, costs more than the decision. Hits of further limits are counted without a name.
 */
export const MAX_NAMES_PER_REQUEST = 128;

/** The parts of a {@link Planner}. */
interface PlannerParts {
  readonly cacheKeys: CacheKeys;
  /** The local cache; null if disabled. */
  readonly overLimit: OverLimitCache | null;
  /** Returns random seconds to add to a time to live. */
  readonly expiryJitterS: () => number;
  /** Whether a limit that is exceeded holds back the hits of the other descriptors of the request. */
  readonly holdsBack: boolean;
  readonly steering: SteeringCounters;
  /** Default: all descriptors are counted. */
  readonly selection?: RowSelection;
}

/** Chooses which descriptors of a request are counted. */
export interface RowSelection {
  /** Sets `decisions.kind` of other rows in `[first, end)` to `KIND.none`. */
  select(batch: DecisionBatch, first: number, end: number): void;
}

/** Where a descriptor is: its request, its row, and the top level of the rules for its request. */
interface Place {
  readonly request: number;
  readonly row: number;
  readonly level: number;
}

/** First half of a decision, up to the store: matches rules, applies `replaces`, creates cache keys and ops. */
export class Planner {
  readonly #cacheKeys: CacheKeys;
  readonly #ops: OpPlanner;
  readonly #steerer: Steerer;
  readonly #matcher = new Matcher();
  readonly #selection: RowSelection | null;
  /** Names of the limits that the limits of the current request replace. */
  readonly #replaced = new Set<number>();
  readonly #holdsBack: boolean;
  /** Number of limits of the request whose statistics have names made from request values. */
  #named = 0;
  /** The row of the descriptor that was matched last. */
  #descriptor = 0;
  /** Whether a limit of the request has leases. All hits of such a request are counted, or none. */
  #hasLeases = false;

  constructor({ cacheKeys, overLimit, expiryJitterS, holdsBack, steering, selection }: PlannerParts) {
    this.#cacheKeys = cacheKeys;
    this.#holdsBack = holdsBack;
    this.#selection = selection ?? null;
    this.#steerer = new Steerer(steering);
    this.#ops = new OpPlanner(overLimit, expiryJitterS, this.#steerer.leaseEnds);
  }

  /**
   * Plans every request of a decoded batch that has no fault yet.
   * @param generation the active rules; null before the first load, which is a fault of every request
   * @param steering the steering records; null if there are none
   */
  plan(batch: DecisionBatch, generation: RuleGeneration | null, steering: SteeringTable | null): void {
    this.#steerer.table = steering;
    empty(this.#steerer.leaseEnds);
    if (generation !== null) batch.ruleTotals = generation.statistics;
    batch.keys.reset();
    batch.counters.reset(batch.nowMs);
    if (batch.size === 1) reserveKeys(batch);
    batch.decisions.rows = batch.requests.descriptorRows;
    batch.decisions.reserve(batch.decisions.rows);
    for (let request = 0; request < batch.size; request++) {
      const before = batch.counters.opCount;
      batch.faults[request] ??= this.#planRequest(batch, generation, request);
      batch.asksStore[request] = batch.counters.opCount > before;
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
      if (this.#steerer.table !== null) this.#steerer.steer(batch, generation, request);
      this.#selection?.select(batch, first, end);
      return null;
    }
    // Clearing a set that is in the old space allocates memory there, and the old space is rarely collected.
    if (this.#replaced.size > 0) this.#replaced.clear();
    this.#named = 0;
    this.#hasLeases = false;
    for (let row = first; row < end; row++) {
      const fault = this.#planDescriptor(batch, generation, { request, row, level });
      if (fault !== null) return fault;
    }
    if (this.#replaced.size > 0) this.#dropReplaced(batch, generation, first, end);
    if (this.#steerer.table !== null) this.#steerer.steer(batch, generation, request);
    this.#selection?.select(batch, first, end);
    this.#ops.holdsBack = this.#holdsBack || this.#hasLeases;
    this.#ops.addGroup(batch, first, end);
    return null;
  }

  /** Whether another limit of the request may have statistics under a name made from request values. */
  #mayName(): boolean {
    return this.#named++ < MAX_NAMES_PER_REQUEST;
  }

  #planDescriptor(batch: DecisionBatch, generation: RuleGeneration, at: Place): Fault | null {
    const { requests, decisions, keys } = batch;
    const { request, row } = at;
    decisions.kind[row] = KIND.none;
    decisions.terms[row] = null;
    decisions.keyStart[row] = keys.length;
    this.#cacheKeys.begin(keys, requests, request);
    if (requests.hasOverride[row] === 1) {
      const fault = this.#planOverride(batch, generation, at);
      if (fault !== null) return fault;
    } else if (!this.#planRule(batch, generation, at)) {
      keys.length = decisions.keyStart[row];
      return null;
    }
    decisions.hits[row] = hitsOf(batch, request, row);
    if (decisions.kind[row] === KIND.limited) this.#endKey(batch, row);
    else if (decisions.kind[row] === KIND.several) this.#planParts(batch, row);
    decisions.keyEnd[row] = keys.length;
    return null;
  }

  /** Completes the cache key of a row, and sets when its window ends. */
  #endKey({ decisions, keys, nowS }: DecisionBatch, row: number): void {
    const terms = decisions.terms[row];
    if (terms === null) {
      const unit = decisions.unit[row];
      this.#cacheKeys.end(keys, unit, nowS);
      decisions.resetMs[row] = secondsUntilReset(unit, nowS) * SECOND_MS;
      return;
    }
    const { window } = terms;
    window.moveTo(nowS);
    keys.copy(window.keyEnd, 0, window.keyEnd.length);
    decisions.resetMs[row] = (window.endS - nowS) * SECOND_MS;
  }

  /** Plans a descriptor with a limit override: rules and their flags do not apply. */
  #planOverride(
    batch: DecisionBatch,
    { rules, terms }: RuleGeneration,
    { request, row }: Place,
  ): Fault | null {
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
    if (unit === UNIT_NUMBERS.month && rules.calendarMonth !== 0)
      decisions.terms[row] = terms.withRequests(-1, decisions.requestsPerUnit[row]);
    const domain = requests.text(requests.domainStart[request], requests.domainEnd[request]);
    const name = this.#mayName()
      ? overrideMetricKey(rules, { table: requests, descriptor: row, domain })
      : NO_NAME;
    decisions.statistics[row] = batch.named.rowFor(name);
    decisions.statisticsBase[row] = 0;
    return null;
  }

  /** Matches the rules; false if no limit applies to the descriptor. */
  #planRule(batch: DecisionBatch, generation: RuleGeneration, { request, row, level }: Place): boolean {
    const { requests, decisions, keys } = batch;
    const { rules } = generation;
    const matcher = this.#matcher;
    this.#descriptor = row;
    const limit = matcher.match(rules, level, requests, row, keys);
    if (limit < 0) return false;
    const isDynamic = hasDynamicMetricKey(rules, matcher, requests, row);
    const siblings = rules.limit(limit, LIMIT.siblings);
    if (siblings === 0) {
      this.#applyLimit(batch, generation, row, limit);
      if (isDynamic) this.#nameStatistics(batch, rules, { request, row }, row);
    } else {
      const first = addParts(decisions, row, siblings + 1);
      for (let part = 0; part <= siblings; part++) {
        this.#applyLimit(batch, generation, first + part, limit + part);
        if (isDynamic) this.#nameStatistics(batch, rules, { request, row }, first + part);
      }
    }
    return true;
  }

  /** Fills a row with a limit of the rules. */
  #applyLimit(batch: DecisionBatch, generation: RuleGeneration, row: number, limit: number): void {
    const { decisions } = batch;
    const { rules } = generation;
    const flags = rules.flags(limit);
    decisions.kind[row] = (flags & LIMIT_FLAG.unlimited) !== 0 ? KIND.unlimited : KIND.limited;
    decisions.limit[row] = limit;
    decisions.requestsPerUnit[row] = rules.requestsPerUnit(limit);
    decisions.unit[row] = rules.limit(limit, LIMIT.unit);
    decisions.flags[row] = flags;
    const terms = rules.limit(limit, LIMIT.terms) === 0 ? null : generation.terms.of(limit);
    decisions.terms[row] = terms;
    if (terms !== null) this.#applyTerms(batch, generation, row, terms);
    decisions.statistics[row] = generation.statistics;
    decisions.statisticsBase[row] = limit * ROW_SLOTS;
    const replaces = rules.limit(limit, LIMIT.replaces) + rules.words[HEADER.replaces];
    for (let i = 0; i < rules.limit(limit, LIMIT.replaceCount); i++)
      this.#replaced.add(rules.words[replaces + i]);
  }

  /** Sets the class and the lease of a row with a limit of the current match, and where its further statistics are. */
  #applyTerms(batch: DecisionBatch, generation: RuleGeneration, row: number, terms: CountingTerms): void {
    if (terms.holders !== null) this.#applyHolder(batch, row, terms.holders);
    if (!terms.hasExtras) return;
    const { requests, decisions } = batch;
    const number = terms.classes === null ? 0 : terms.classes.numberOf(requests, this.#matcher);
    const extraRow = generation.rules.firstExtraRow(decisions.limit[row]) + number;
    decisions.terms[row] = terms.inClass(number);
    decisions.extraBase[row] = extraRow * ROW_SLOTS;
  }

  /** Sets whose lease the request is about, for a row with a limit of the current match. */
  #applyHolder({ requests, decisions }: DecisionBatch, row: number, holders: LimitHolders): void {
    const descriptor = this.#descriptor;
    this.#hasLeases = true;
    if (requests.leaseCount > 0 && requests.leaseEnd[descriptor] > requests.leaseStart[descriptor]) {
      decisions.holderStart[row] = requests.leaseStart[descriptor];
      decisions.holderEnd[row] = requests.leaseEnd[descriptor];
      decisions.leaseAction[row] = requests.leaseAction[descriptor];
      return;
    }
    const entry = holders.entryOf(requests, this.#matcher);
    decisions.holderStart[row] = entry < 0 ? 0 : requests.valueStart[entry];
    decisions.holderEnd[row] = entry < 0 ? 0 : requests.valueEnd[entry];
    decisions.leaseAction[row] = entry < 0 ? ACTION.any : holders.actionOf(requests, this.#matcher);
  }

  /** Gives a row with a limit of the current match statistics whose name contains request values. */
  #nameStatistics(
    batch: DecisionBatch,
    rules: CompiledRules,
    { request, row }: { readonly request: number; readonly row: number },
    limitRow: number,
  ): void {
    const { requests, decisions } = batch;
    let name = NO_NAME;
    if (this.#mayName()) {
      const domain = requests.text(requests.domainStart[request], requests.domainEnd[request]);
      const limit = decisions.limit[limitRow];
      name = metricKey(rules, this.#matcher, { table: requests, descriptor: row, domain }, limit);
    }
    decisions.statistics[limitRow] = batch.named.rowFor(name);
    decisions.statisticsBase[limitRow] = 0;
  }

  /** Completes the rows of the limits of an entry with several limits. Their keys begin like that of the descriptor. */
  #planParts(batch: DecisionBatch, row: number): void {
    const { decisions, keys } = batch;
    const first = decisions.firstPart[row];
    const start = decisions.keyStart[row];
    const end = keys.length;
    for (let part = first; part < first + decisions.partCount[row]; part++) {
      decisions.keyStart[part] = part === first ? start : keys.length;
      if (part > first) keys.copy(keys.bytes, start, end);
      decisions.hits[part] = decisions.hits[row];
      if (decisions.kind[part] === KIND.limited) this.#endKey(batch, part);
      decisions.keyEnd[part] = keys.length;
    }
  }

  /** Removes limits that another matched limit replaces by name. Unlimited rules can replace, but are not replaced. */
  #dropReplaced(batch: DecisionBatch, { rules }: RuleGeneration, first: number, end: number): void {
    const { decisions } = batch;
    for (let row = first; row < end; row++) {
      if (decisions.kind[row] === KIND.several) {
        const firstPart = decisions.firstPart[row];
        this.#dropReplacedRows(decisions, rules, firstPart, firstPart + decisions.partCount[row]);
        decisions.kind[row] = kindOfParts(decisions, row);
      }
    }
    this.#dropReplacedRows(decisions, rules, first, end);
  }

  #dropReplacedRows(decisions: DecisionTable, rules: CompiledRules, first: number, end: number): void {
    for (let row = first; row < end; row++) {
      if (decisions.kind[row] !== KIND.limited || decisions.limit[row] < 0) continue;
      if (this.#replaced.has(rules.limit(decisions.limit[row], LIMIT.name))) decisions.kind[row] = KIND.none;
    }
  }
}

/** Adds rows for the limits of a descriptor, and returns the first one. */
function addParts(decisions: DecisionTable, row: number, count: number): number {
  const first = decisions.rows;
  decisions.kind[row] = KIND.several;
  decisions.firstPart[row] = first;
  decisions.partCount[row] = count;
  decisions.rows += count;
  decisions.reserve(decisions.rows);
  return first;
}

/** The kind of a row for several limits, some of which may have been replaced. */
function kindOfParts(decisions: DecisionTable, row: number): number {
  const first = decisions.firstPart[row];
  for (let part = first; part < first + decisions.partCount[row]; part++) {
    if (decisions.kind[part] !== KIND.none) return KIND.several;
  }
  return KIND.none;
}

/**
 * Reserves memory for the keys of one request, which are about as long as the request. With a request of megabytes, growing
 * the memory step by step would leave twice as much garbage.
 */
function reserveKeys({ keys, counters, requestBytes }: DecisionBatch): void {
  keys.reserve(requestBytes);
  counters.keys.reserve(requestBytes);
}
