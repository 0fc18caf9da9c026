import type { CountingTime, TestOp } from '../../../support/counting.ts';
import { leaseTermsOf } from '../../../support/lease-ledger.ts';
import { LeaseModel } from '../../../support/lease-model.ts';
import { CountLives } from './count-lives.ts';
import { type ExpectedPart, type ExpectedRequest, groupOf, partsOf } from './expected-request.ts';

/** When the requests of a batch are counted. */
export interface CountedAt {
  /** By the clock of the instance. */
  readonly nowMs: number;
  /** By the clock of the store, by which leases end. */
  readonly leasesMs: number;
  /** By the clock of the history. */
  readonly atMs: number;
}

/**
 * The clocks of those that ask a store:
 *
 * - `one`: all have the same clock. If it is set back, nobody can say what the counts are
 * - `equal`: they show the same time, and batches may reach the store in another order
 * - `different`: they differ, so that some see the windows of others early
 */
export type Clocks = 'one' | 'equal' | 'different';

/** What a store must have counted, by the model of the exams. */
export class ExpectedCounts {
  readonly #model = new LeaseModel();
  readonly #lives = new CountLives();
  /** Keys whose counts nobody can say any more. */
  readonly #doubtful = new Set<string>();
  readonly #clocks: Clocks;
  #latestMs = 0;

  constructor(clocks: Clocks) {
    this.#clocks = clocks;
  }

  /** The store counts a request. Sets what it must say with `answer`. */
  count(
    expected: ExpectedRequest,
    parts: readonly ExpectedPart[],
    at: Omit<CountedAt, 'atMs'>,
    answer: 'counted' | 'countedLocally',
  ): void {
    if (parts.length === 0) return;
    this.#doubt(expected, parts, at);
    const time = timeOf(parts, at);
    const group = groupOf(expected, parts);
    const ops = group.ops.map((op, i) => this.#living(op, time.nowS, parts[i].limit.endS));
    const answers = this.#model.decide([{ ...group, ops }], time);
    for (const [i, part] of parts.entries()) {
      part[answer] = answers[i];
      part.isDoubtful ||= this.#doubtful.has(part.op.key);
      if (answers[i].refused) part.waitMs = this.#waitMs(part, at, answers[i].after);
    }
  }

  /** Nobody can say whether the hits of a request were counted. */
  doubt(expected: ExpectedRequest): void {
    for (const { op } of partsOf(expected)) this.#doubtful.add(op.key);
  }

  isDoubtful({ op }: ExpectedPart): boolean {
    return this.#doubtful.has(op.key);
  }

  /** Whether the limit of a part would refuse it at this moment. */
  refuses({ op, limit }: ExpectedPart, nowMs: number): boolean {
    const { terms } = op;
    const key = terms === undefined ? this.#lives.currentKeyOf(op.key, Math.floor(nowMs / 1_000)) : op.key;
    const level = Number(this.#model.limitOf({ ...op, key }).levelAt(BigInt(nowMs)));
    if (terms === undefined) return level + op.hits > limit.most;
    return level + Math.max(op.hits, 1) * terms.scale > terms.capacity;
  }

  #living(op: TestOp, nowS: number, endS: number): TestOp {
    if (op.terms !== undefined) return op;
    const key = op.isRefund ? this.#lives.currentKeyOf(op.key, nowS) : this.#lives.keyOf(op.key, nowS, endS);
    return { ...op, key };
  }

  /** The limits of a request that holds back depend on each other. */
  #doubt(
    expected: ExpectedRequest,
    parts: readonly ExpectedPart[],
    { nowMs }: Pick<CountedAt, 'nowMs'>,
  ): void {
    const isBack = nowMs < this.#latestMs && this.#clocks === 'one';
    this.#latestMs = Math.max(this.#latestMs, nowMs);
    const isAny = parts.some(part => part.isDoubtful || this.isDoubtful(part));
    if (isBack || (isAny && expected.holdsBack)) this.doubt(expected);
  }

  /**
   * How long a refused request has to wait if no others come. Null if it never fits, if leases decide, or if others of its
   * request came after it.
   */
  #waitMs({ op, limit }: ExpectedPart, { nowMs }: Pick<CountedAt, 'nowMs'>, level: number): number | null {
    if (op.terms === undefined || leaseTermsOf(op) !== null || this.#clocks === 'different') return null;
    // Others have come before it that are of a later time, and perhaps of the next window.
    if (nowMs < this.#latestMs) return null;
    const { capacity, scale } = op.terms;
    const room = capacity - Math.max(op.hits, 1) * scale;
    if (room < 0 || limit.most === 0) return null;
    const exact = this.#model.limitOf(op);
    if (Number(exact.levelAt(BigInt(nowMs))) !== level) return null;
    const fits = (ms: number) => Number(exact.levelAt(BigInt(nowMs + ms))) <= room;
    let [low, high] = [0, 1];
    while (!fits(high)) high *= 2;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (fits(middle)) high = middle;
      else low = middle;
    }
    return high;
  }
}

/** Limits with leases of one request have windows of one length. */
function timeOf(parts: readonly ExpectedPart[], { nowMs, leasesMs }: Omit<CountedAt, 'atMs'>): CountingTime {
  const expiryS = Math.max(0, ...parts.map(({ limit, op }) => (op.lease === undefined ? 0 : limit.endS)));
  return { nowMs, nowS: Math.floor(nowMs / 1_000), leasesMs, ttlS: 0, expiryS };
}
