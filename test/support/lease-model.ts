import { NEVER_FULL } from '../../src/counters/batch.ts';
import { type ExactLimit, exactLimit } from './admission-model.ts';
import type { CountingTime, TestGroup, TestOp } from './counting.ts';
import { type Decision, isRefusable, LeaseLedger, leaseTermsOf, type Step } from './lease-ledger.ts';

/** What a store must say of an op. */
export interface LeaseAnswer {
  /** Null for a limit without leases. */
  readonly step: Step | null;
  /** The hits that are spent and held after it. */
  readonly after: number;
  readonly refused: boolean;
  /** Whether its hits were held back, because another limit of its request is full. */
  readonly heldBack: boolean;
  /** The hits that it spent. */
  readonly spent: number;
  /** The hits that it holds in addition, or those of the lease that it settled. */
  readonly held: number;
}

/** What a store must say of a limit with leases. */
export interface LeaseLevel {
  readonly held: number;
  /** Milliseconds until the first lease ends; 0 without leases. */
  readonly endsMs: number;
  /** The hits of leases that were found to have ended by themselves. */
  readonly expired: number;
}

/**
 * What stores must say of requests with leases, one after the other. The limits of a request are decided together: a ledger
 * for each limit with leases, and exact limits for the others. Time must run forward for the latter.
 */
export class LeaseModel {
  readonly #ledgers = new Map<string, LeaseLedger>();
  readonly #limits = new Map<string, ExactLimit>();

  decide(groups: readonly TestGroup[], time: CountingTime): LeaseAnswer[] {
    for (const ledger of this.#ledgers.values()) ledger.expired = 0;
    return groups.flatMap(group => this.#decideTogether(group, time));
  }

  /** The leases of the limit of an op of the last call; null for a limit without leases. */
  level(op: TestOp, time: CountingTime): LeaseLevel | null {
    if (leaseTermsOf(op) === null) return null;
    const ledger = this.#ledgerOf(op);
    return { held: ledger.held, endsMs: ledger.endsMs(forLeases(time).nowMs), expired: ledger.expired };
  }

  /** The limit of an op without leases. */
  limitOf(op: TestOp): Pick<ExactLimit, 'levelAt' | 'leftOver'> {
    return this.#limitOf(op);
  }

  /** What cannot be refused comes first and is never held back. Then the hits of all limits count, or of none. */
  #decideTogether({ ops, held = false }: TestGroup, time: CountingTime): LeaseAnswer[] {
    const answers: LeaseAnswer[] = [];
    const decisions = ops.map((op, i) => {
      const decision = this.#decisionFor(op, time);
      if (decision !== null && !isRefusable(decision.step)) answers[i] = this.#run(op, decision, time);
      return decision;
    });
    for (const [i, op] of ops.entries()) {
      if (op.isRefund && decisions[i] === null) answers[i] = this.#run(op, null, time);
    }
    const rest = [...ops.keys()].filter(i => answers[i] === undefined);
    const full = held ? [] : this.#full(ops, decisions, rest, time);
    for (const i of rest) {
      const isHeld = (held || full.length > 0) && !full.includes(i);
      if (isHeld) answers[i] = this.#answer(ops[i], decisions[i], time, { heldBack: true });
      else if (decisions[i] !== null && full.includes(i))
        answers[i] = this.#answer(ops[i], decisions[i], time, { refused: true });
      else answers[i] = this.#run(ops[i], decisions[i], time);
    }
    return answers;
  }

  /** The ops that do not fit, together with those before them that have the same limit with leases. */
  #full(
    ops: readonly TestOp[],
    decisions: readonly (Decision | null)[],
    rest: readonly number[],
    time: CountingTime,
  ): number[] {
    const pending = new Map<string, number>();
    return rest.filter(i => {
      const decision = decisions[i];
      const before = pending.get(ops[i].key) ?? 0;
      if (decision === null) return holdsBack(ops[i]) && !this.#fits(ops[i], null, time);
      if (decision.step === 'ask') return holdsBack(ops[i]) && !this.#fits(ops[i], decision, time);
      pending.set(ops[i].key, before + decision.hits);
      const capacity = ops[i].terms!.capacity - before;
      return holdsBack(ops[i]) && !this.#ledgerOf(ops[i]).fits(decision, { capacity });
    });
  }

  #decisionFor(op: TestOp, time: CountingTime): Decision | null {
    const terms = leaseTermsOf(op);
    if (terms === null) return null;
    const ledger = this.#ledgerOf(op);
    ledger.visit(terms, forLeases(time));
    return ledger.decide(op);
  }

  #fits(op: TestOp, decision: Decision | null, { nowMs = 0 }: CountingTime): boolean {
    if (decision !== null) return this.#ledgerOf(op).fits(decision, op.terms!);
    const level = this.#limitOf(op).levelAt(BigInt(nowMs));
    const { hits, terms } = op;
    if (terms === undefined) return level + BigInt(hits) <= BigInt(op.limit ?? 100);
    return level + BigInt(Math.max(hits, 1)) * BigInt(terms.scale) <= BigInt(terms.capacity);
  }

  /** Counts an op, unless it has to fit and does not. */
  #run(op: TestOp, decision: Decision | null, time: CountingTime): LeaseAnswer {
    const { nowMs = 0 } = time;
    const hasToFit = op.terms !== undefined && (decision !== null || !op.isRefund);
    if (hasToFit && !this.#fits(op, decision, time))
      return this.#answer(op, decision, time, { refused: true });
    if (decision !== null)
      return this.#answer(op, decision, time, this.#ledgerOf(op).apply(decision, op, forLeases(time).nowMs));
    const units = BigInt(op.hits) * BigInt(op.terms?.scale ?? 1);
    if (op.isRefund) this.#limitOf(op).giveBack(BigInt(nowMs), units);
    else this.#limitOf(op).add(BigInt(nowMs), units);
    return this.#answer(op, null, time, {});
  }

  #answer(
    op: TestOp,
    decision: Decision | null,
    { nowMs = 0 }: CountingTime,
    entry: Partial<LeaseAnswer>,
  ): LeaseAnswer {
    const after =
      decision === null ? Number(this.#limitOf(op).levelAt(BigInt(nowMs))) : this.#ledgerOf(op).level;
    return {
      step: decision?.step ?? null,
      after,
      refused: false,
      heldBack: false,
      spent: 0,
      held: 0,
      ...entry,
    };
  }

  #ledgerOf({ key }: TestOp): LeaseLedger {
    const ledger = this.#ledgers.get(key) ?? new LeaseLedger();
    this.#ledgers.set(key, ledger);
    return ledger;
  }

  #limitOf({ key, terms }: TestOp): ExactLimit {
    const limit = this.#limits.get(key) ?? exactLimit(terms);
    this.#limits.set(key, limit);
    return limit;
  }
}

/** The same time, by the clock that leases end by. */
function forLeases(time: CountingTime): CountingTime & { readonly nowMs: number } {
  return { ...time, nowMs: time.leasesMs ?? time.nowMs ?? 0 };
}

/** Whether an op that does not fit holds back the others of its request. */
function holdsBack({ limit }: TestOp): boolean {
  return limit !== NEVER_FULL;
}
