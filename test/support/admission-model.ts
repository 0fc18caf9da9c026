import { ADMISSION, type AdmissionTerms } from '../../src/counters/admission/admission.ts';
import type { Admitted } from './admission.ts';
import type { TestGroup, TestOp } from './counting.ts';

/** What is left of an earlier window: the part of the level, and the hits of that window. */
interface LeftOver {
  readonly floor: bigint;
  readonly previous: bigint;
}

const NOTHING_LEFT: LeftOver = { floor: 0n, previous: 0n };

/** One limit: its level at a time, and what changes it. All in whole units, without rounding. */
export interface ExactLimit {
  levelAt(nowMs: bigint): bigint;
  leftOver(nowMs: bigint): LeftOver;
  add(nowMs: bigint, units: bigint): void;
  giveBack(nowMs: bigint, units: bigint): void;
}

/** A bucket as the level at the last change. Time runs forward. */
class ExactBucket implements ExactLimit {
  readonly #drain: bigint;
  #level = 0n;
  #changedMs = 0n;

  constructor({ drain }: AdmissionTerms) {
    this.#drain = BigInt(drain);
  }

  levelAt(nowMs: bigint): bigint {
    return atLeast0(this.#level - (nowMs - this.#changedMs) * this.#drain);
  }

  leftOver(): LeftOver {
    return NOTHING_LEFT;
  }

  add(nowMs: bigint, units: bigint): void {
    this.#level = this.levelAt(nowMs) + units;
    this.#changedMs = nowMs;
  }

  giveBack(nowMs: bigint, units: bigint): void {
    this.#level = atLeast0(this.levelAt(nowMs) - units);
    this.#changedMs = nowMs;
  }
}

/** A sliding or fixed window as the hits of every window there was. Time runs forward. */
class ExactWindow implements ExactLimit {
  readonly #windowMs: bigint;
  readonly #isFixed: boolean;
  readonly #hits = new Map<bigint, bigint>();

  constructor({ admission, windowS }: AdmissionTerms) {
    this.#isFixed = admission === ADMISSION.fixedWindow;
    this.#windowMs = BigInt(windowS) * 1_000n;
  }

  levelAt(nowMs: bigint): bigint {
    return this.leftOver(nowMs).floor + this.#hitsOf(nowMs / this.#windowMs);
  }

  leftOver(nowMs: bigint): LeftOver {
    if (this.#isFixed) return NOTHING_LEFT;
    const previous = this.#hitsOf(nowMs / this.#windowMs - 1n);
    const restMs = this.#windowMs - (nowMs % this.#windowMs);
    return { floor: (previous * restMs + this.#windowMs - 1n) / this.#windowMs, previous };
  }

  add(nowMs: bigint, units: bigint): void {
    const number = nowMs / this.#windowMs;
    this.#hits.set(number, this.#hitsOf(number) + units);
  }

  giveBack(nowMs: bigint, units: bigint): void {
    const number = nowMs / this.#windowMs;
    this.#hits.set(number, atLeast0(this.#hitsOf(number) - units));
  }

  #hitsOf(number: bigint): bigint {
    return this.#hits.get(number) ?? 0n;
  }
}

/** A count to which every hit is added. */
class ExactCount implements ExactLimit {
  #count = 0n;

  levelAt(): bigint {
    return this.#count;
  }

  leftOver(): LeftOver {
    return NOTHING_LEFT;
  }

  add(_nowMs: bigint, units: bigint): void {
    this.#count += units;
  }

  giveBack(_nowMs: bigint, units: bigint): void {
    this.#count = atLeast0(this.#count - units);
  }
}

/** An unused limit; without terms, a count to which every hit is added. */
export function exactLimit(terms: AdmissionTerms | undefined): ExactLimit {
  if (terms === undefined) return new ExactCount();
  return terms.admission === ADMISSION.tokenBucket ? new ExactBucket(terms) : new ExactWindow(terms);
}

/** What stores must say of requests, one after the other, with whole numbers of any size. Time must run forward. */
export class AdmissionModel {
  readonly #limits = new Map<string, ExactLimit>();

  /** Decides the ops of one request without holding back. */
  admit(ops: readonly TestOp[], nowMs: number): Admitted {
    const results = ops.map(op => this.#run(op, BigInt(nowMs)));
    return {
      afters: results.map(({ after }) => after),
      refused: results.map(({ refused }) => refused),
      held: ops.map(() => false),
    };
  }

  /** Decides a request that holds back: refunds first, then each op against the levels before all hits. */
  admitHoldingBack(group: TestGroup, nowMs: number): Admitted {
    const now = BigInt(nowMs);
    const refunds = group.ops.map(op => (op.isRefund ? this.#run(op, now) : null));
    const full = group.ops.map(op => !op.isRefund && !group.held && !this.#fits(op, now));
    const anyFull = group.held === true || full.includes(true);
    const held = group.ops.map((op, i) => anyFull && !full[i] && !op.isRefund);
    const results = group.ops.map((op, i) => {
      const level = { after: Number(this.#limitOf(op).levelAt(now)), refused: false };
      return refunds[i] ?? (held[i] ? level : this.#run(op, now));
    });
    return {
      afters: results.map(({ after }) => after),
      refused: results.map(({ refused }) => refused),
      held,
    };
  }

  #run(op: TestOp, now: bigint): { after: number; refused: boolean } {
    const limit = this.#limitOf(op);
    const units = BigInt(op.hits) * BigInt(op.terms?.scale ?? 1);
    const refused = op.terms !== undefined && !op.isRefund && !this.#fits(op, now);
    if (op.isRefund) limit.giveBack(now, units);
    else if (!refused) limit.add(now, units);
    return { after: Number(limit.levelAt(now)), refused };
  }

  #fits(op: TestOp, now: bigint): boolean {
    const level = this.#limitOf(op).levelAt(now);
    const { terms } = op;
    if (terms === undefined) return level + BigInt(op.hits) <= BigInt(op.limit ?? 100);
    return (
      level + BigInt(Math.max(op.hits, 1)) * BigInt(terms.scale) <=
      BigInt(terms.capacity - (terms.reserve ?? 0))
    );
  }

  #limitOf({ key, terms }: TestOp): ExactLimit {
    let limit = this.#limits.get(key);
    if (limit === undefined) {
      limit = exactLimit(terms);
      this.#limits.set(key, limit);
    }
    return limit;
  }
}

function atLeast0(number: bigint): bigint {
  return number > 0n ? number : 0n;
}
