import type { Test } from 'tap';
import { NEVER_FULL } from '../../src/counters/batch.ts';
import type { TestGroup, TestOp } from './counting.ts';
import { isRefusable, leaseTermsOf } from './lease-ledger.ts';
import type { LeaseAnswer } from './lease-model.ts';
import type { Decided } from './leases.ts';

/**
 * Looks at what a store has answered, without knowing why: no limit is exceeded by a request that was admitted, nothing is
 * negative, a request holds hits of all its limits or of none, and all slots that were taken are released, expired or held.
 */
export class LeaseAudit {
  readonly #t: Test;
  /** By limit with leases that are not settled: the hits that must be held. */
  readonly #held = new Map<string, number>();
  /** Number of requests by what happened to them. */
  readonly outcomes = { admitted: 0, refused: 0, settled: 0, expired: 0 };

  constructor(t: Test) {
    this.#t = t;
  }

  /** Audits the answers for a batch. Returns whether all is well. */
  check(groups: readonly TestGroup[], { answers, levels }: Decided): boolean {
    const faults: string[] = [];
    let first = 0;
    for (const { ops } of groups) {
      const own = answers.slice(first, first + ops.length);
      const each = ops.map((op, i) => [op, own[i]] as const);
      if (!isTogether(each)) faults.push(`not together: ${JSON.stringify(each)}`);
      for (const [op, answer] of each) if (!isSound(op, answer)) faults.push(JSON.stringify([op, answer]));
      for (const [op, answer] of each) this.#count(op, answer);
      first += ops.length;
    }
    const ops = groups.flatMap(group => group.ops);
    for (const [key, level] of new Map(ops.map((op, i) => [op.key, levels[i]]))) {
      if (level === null) continue;
      this.outcomes.expired += level.expired;
      const isFault = level.held < 0 || level.endsMs < 0 || (level.held > 0 && level.endsMs === 0);
      if (isFault) faults.push(`${key}: ${JSON.stringify(level)}`);
      const expected = this.#held.get(key);
      if (expected === undefined) continue;
      if (expected - level.expired !== level.held) faults.push(`${key}: ${level.held} held, not ${expected}`);
      this.#held.set(key, level.held);
    }
    return this.#t.same(faults, [], 'the answers agree with each other');
  }

  #count(op: TestOp, { step, refused, held }: LeaseAnswer): void {
    if (refused) this.outcomes.refused++;
    else if (step === 'take' && held > 0) this.outcomes.admitted++;
    else if (step === 'settle') this.outcomes.settled++;
    if (leaseTermsOf(op)?.settles !== false) return;
    const change = step === 'take' ? held : step === 'settle' ? -held : step === 'free' ? -op.hits : 0;
    this.#held.set(op.key, (this.#held.get(op.key) ?? 0) + change);
  }
}

/** Hits that were admitted fit, and hits that were not change nothing. What a settlement spends may not fit. */
function isSound(op: TestOp, { step, after, refused, heldBack, spent, held }: LeaseAnswer): boolean {
  if (step === null) return after >= 0;
  const isAdmitted = !refused && !heldBack;
  if (!isAdmitted) return spent === 0 && held === 0 && isRefusable(step) && after >= 0;
  return after >= 0 && spent >= 0 && held >= 0 && (!isRefusable(step) || after <= op.terms!.capacity);
}

/** Limits that refuse a request without holding back its others do not matter. */
function isTogether(each: readonly (readonly [TestOp, LeaseAnswer])[]): boolean {
  const keys = new Set(each.map(([{ key }]) => key));
  if (keys.size < each.length) return true;
  const asked = each.filter(
    ([op, { step }]) => op.limit !== NEVER_FULL && (step === null ? !op.isRefund : isRefusable(step)),
  );
  const isRefused = asked.some(([, { refused, heldBack }]) => refused || heldBack);
  return !isRefused || asked.every(([{ terms }, answer]) => isNotCounted(answer) || terms === undefined);
}

function isNotCounted({ refused, heldBack }: LeaseAnswer): boolean {
  return refused || heldBack;
}
