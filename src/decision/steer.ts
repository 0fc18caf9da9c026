import { empty } from '../base/bytes.ts';
import { SECOND_MS } from '../base/clock.ts';
import { ACTION } from '../counters/leases/lease.ts';
import { RULE_STAT } from '../stats/names.ts';
import type { Counter } from '../stats/registry.ts';
import { overriddenLimit, type SteeringRecord } from '../steering/record.ts';
import { RecordFinder } from '../steering/record-finder.ts';
import type { SteeringTable } from '../steering/steering-table.ts';
import {
  countInClass,
  type DecisionBatch,
  endOfLimits,
  firstLimit,
  hitsOf,
  KIND,
  OVERRIDDEN,
} from './batch.ts';
import type { CountingTerms } from './limits/counting-terms.ts';
import type { RuleGeneration } from './statistics/rule-statistics.ts';
import { addTotal } from './statistics/shared-totals.ts';

/** The statistics of steering records. */
export interface SteeringCounters {
  readonly banned: Counter;
  readonly passed: Counter;
}

/** The end of a lease, for a limit that is not counted otherwise. */
export interface LeaseEnd {
  /** The row of the limit. */
  readonly row: number;
  readonly terms: CountingTerms;
  readonly hits: number;
  readonly isRefund: boolean;
  /** One of `ACTION` that takes nothing. */
  readonly action: number;
}

/** The step of planning between rules and ops: applies steering records to the descriptors of a request. */
export class Steerer {
  /** The records of the batch; null if there are none. */
  table: SteeringTable | null = null;
  /** What the request ends of leases that it has, although a ban or a pass decides about it. */
  readonly leaseEnds: LeaseEnd[] = [];
  readonly #counters: SteeringCounters;
  readonly #finder = new RecordFinder();

  constructor(counters: SteeringCounters) {
    this.#counters = counters;
  }

  /**
   * Applies the records to a request whose rules are matched. With a ban, the other descriptors of the request are not
   * counted either: otherwise, a banned caller could use up limits that it shares with others. Refunds are still counted,
   * except with a pass, because the hits that they give back were not counted. Leases end in any case: what a request has
   * used before is spent, and slots do not stay taken.
   */
  steer(batch: DecisionBatch, generation: RuleGeneration, request: number): void {
    const { requests } = batch;
    const table = this.table!;
    empty(this.leaseEnds);
    if (!table.select(requests, request)) return;
    const first = requests.firstDescriptor[request];
    const end = first + requests.descriptorCount[request];
    let anyBan = false;
    for (let row = first; row < end; row++) {
      const record = this.#finder.find(table, generation.rules, requests, { request, row });
      if (record === null) continue;
      if (record.kind === 'override') overrideLimits(batch, generation, row, record);
      else if (record.kind === 'pass') this.#pass(batch, request, row);
      else if (requests.isRefund[row] === 0) {
        this.#ban(batch, { request, row }, record);
        anyBan = true;
      }
    }
    if (anyBan) this.#dropOthers(batch, first, end);
  }

  /** Excludes the descriptors of a banned request that have no ban themselves. */
  #dropOthers(batch: DecisionBatch, first: number, end: number): void {
    const { decisions, requests } = batch;
    for (let row = first; row < end; row++) {
      if (decisions.kind[row] === KIND.banned || requests.isRefund[row] === 1) continue;
      this.#keepLeaseEnds(batch, row);
      decisions.kind[row] = KIND.none;
    }
  }

  /** Keeps what a descriptor ends of leases, before its limits are excluded. */
  #keepLeaseEnds({ decisions, requests }: DecisionBatch, descriptor: number): void {
    const end = endOfLimits(decisions, descriptor);
    for (let row = firstLimit(decisions, descriptor); row < end; row++) {
      const terms = decisions.terms[row];
      const asked = decisions.leaseAction[row];
      if (decisions.kind[row] !== KIND.limited || terms === null || terms.holders === null) continue;
      if (asked === ACTION.reserve || asked === ACTION.extend) continue;
      this.leaseEnds.push({
        row,
        terms,
        hits: decisions.hits[row],
        isRefund: requests.isRefund[descriptor] === 1,
        action: asked === ACTION.any ? ACTION.end : asked,
      });
    }
  }

  #ban(
    batch: DecisionBatch,
    { request, row }: { readonly request: number; readonly row: number },
    record: SteeringRecord,
  ): void {
    const { decisions, keys, nowMs } = batch;
    const hits = hitsOf(batch, request, row);
    this.#keepLeaseEnds(batch, row);
    countHits(batch, row, hits, RULE_STAT.overLimit);
    this.#counters.banned.add(hits);
    const isSeveral = decisions.kind[row] === KIND.several;
    if (isSeveral) decisions.limit[row] = decisions.limit[decisions.firstPart[row]];
    else if (decisions.kind[row] === KIND.none) {
      decisions.limit[row] = -1;
      decisions.unit[row] = 0;
      decisions.keyStart[row] = keys.length;
      decisions.keyEnd[row] = keys.length;
    }
    decisions.kind[row] = KIND.banned;
    decisions.hits[row] = hits;
    decisions.requestsPerUnit[row] = 0;
    decisions.flags[row] = 0;
    decisions.terms[row] = null;
    decisions.op[row] = -1;
    decisions.resetMs[row] = record.untilS * SECOND_MS - (nowMs + this.table!.aheadMs);
  }

  /** Without a limit, a descriptor is allowed in any case. */
  #pass(batch: DecisionBatch, request: number, row: number): void {
    const { decisions, requests } = batch;
    if (decisions.kind[row] === KIND.none) return;
    this.#keepLeaseEnds(batch, row);
    if (requests.isRefund[row] === 0) {
      const hits = hitsOf(batch, request, row);
      countHits(batch, row, hits, RULE_STAT.withinLimit);
      this.#counters.passed.add(hits);
    }
    decisions.kind[row] = KIND.passed;
  }
}

/** Replaces the limits of a descriptor. Its cache keys, and with them the counts, stay the same. */
function overrideLimits(
  { decisions }: DecisionBatch,
  generation: RuleGeneration,
  row: number,
  record: SteeringRecord,
): void {
  const override = (limitRow: number): void => {
    if (decisions.kind[limitRow] !== KIND.limited) return;
    const requests = overriddenLimit(record, decisions.requestsPerUnit[limitRow]);
    if (requests === decisions.requestsPerUnit[limitRow]) return;
    decisions.requestsPerUnit[limitRow] = requests;
    decisions.flags[limitRow] |= OVERRIDDEN;
    const terms = decisions.terms[limitRow];
    if (terms !== null) {
      const others = generation.terms.withRequests(decisions.limit[limitRow], requests);
      decisions.terms[limitRow] = others.inClass(terms.classNumber);
      decisions.requestsPerUnit[limitRow] = others.requests;
    }
  };
  // One number for limits with different windows would make no sense.
  if (decisions.kind[row] === KIND.several && record.factor === null) return;
  const end = endOfLimits(decisions, row);
  for (let limitRow = firstLimit(decisions, row); limitRow < end; limitRow++) override(limitRow);
}

/** Adds the hits of a descriptor to the statistics of its limits. */
function countHits(batch: DecisionBatch, row: number, hits: number, statistic: number): void {
  const { decisions } = batch;
  if (decisions.kind[row] === KIND.none) return;
  const end = endOfLimits(decisions, row);
  for (let limitRow = firstLimit(decisions, row); limitRow < end; limitRow++) {
    if (decisions.kind[limitRow] === KIND.none) continue;
    const base = decisions.statisticsBase[limitRow];
    addTotal(decisions.statistics[limitRow], base + RULE_STAT.totalHits, hits);
    addTotal(decisions.statistics[limitRow], base + statistic, hits);
    countInClass(batch, limitRow, RULE_STAT.totalHits, hits);
    countInClass(batch, limitRow, statistic, hits);
  }
}
