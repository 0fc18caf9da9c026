import { ADMISSION, type AdmissionTerms } from '../../src/counters/admission/admission.ts';
import { ACTION, LEASE_MODE, type LeaseTerms } from '../../src/counters/leases/lease.ts';
import type { CountingTime, TestOp } from './counting.ts';

/** What a call does, in the words of `STEP` in `src/counters/leases/lease.ts`. */
export type Step =
  | 'ask'
  | 'take'
  | 'spend'
  | 'settle'
  | 'free'
  | 'extend'
  | 'giveBack'
  | 'repeat'
  | 'nothing';

/** A step, and the hits to hold, to spend, to free or to give back. */
export interface Decision {
  readonly step: Step;
  readonly hits: number;
}

/** What a ledger knows of a holder. */
interface Lease {
  /** Empty if the call did not name one. */
  readonly holder: string;
  state: 'live' | 'settled' | 'expired';
  /** The hits that it holds or has held; of a settled one, those of the call that settled it, and -1 for a refund. */
  hits: number;
  /** The end of the window in which it began, in seconds. 0 for a limit on what runs at the same time. */
  windowEndS: number;
  /** When it ends by itself, or when it is forgotten if it has ended. */
  endMs: number;
}

/** What a step has changed. */
interface Entry {
  /** The hits that it spent, or would have spent if the window of its lease had not ended. */
  readonly spent: number;
  /** The hits that a `take` holds, or those that the lease of a `settle` has held. */
  readonly held: number;
}

const NO_ENTRY: Entry = { spent: 0, held: 0 };

/** How long a settled lease is remembered at most. */
const SETTLED_S = 60;

/**
 * One limit with leases, as a list of leases and two sums. Every call names the rules that it follows, whatever the limit
 * was before, so that it can be compared with the text of `docs/budgets.md`.
 */
export class LeaseLedger {
  /** The end of the window in seconds. */
  windowEndS = 0;
  /** The hits that were spent in the window. */
  spent = 0;
  /** The part of them that takes no room, because it was spent beyond what leases had held, and this is allowed. */
  overdrawn = 0;
  /** In the order in which they were taken. */
  leases: Lease[] = [];
  /** The hits of leases that have ended by themselves since {@link visit} was last called by the caller. */
  expired = 0;

  /** The hits that leases of the present window hold. */
  get held(): number {
    return sum(this.#holding().map(lease => lease.hits));
  }

  /** The hits that take room. */
  get level(): number {
    return this.spent - this.overdrawn + this.held;
  }

  /** Milliseconds until the first lease ends; 0 without leases. */
  endsMs(nowMs: number): number {
    const ends = this.leases.filter(({ state }) => state === 'live').map(({ endMs }) => endMs);
    return ends.length === 0 ? 0 : Math.min(...ends) - nowMs;
  }

  /** Brings the ledger to the time of a call: begins a new window, ends leases, forgets those that have ended. */
  visit(terms: LeaseTerms, { nowMs = 0, nowS, expiryS }: CountingTime): void {
    if (terms.mode !== LEASE_MODE.concurrency && this.windowEndS <= nowS) {
      this.windowEndS = expiryS;
      this.spent = 0;
      this.overdrawn = 0;
    }
    const lengthMs = terms.forS * 1_000;
    for (const lease of this.leases) {
      if (lease.state !== 'live') continue;
      lease.endMs = Math.min(lease.endMs, nowMs + lengthMs);
      if (lease.endMs > nowMs) continue;
      this.expired += lease.hits;
      lease.state = 'expired';
      lease.endMs = remembers(terms) ? lease.endMs + lengthMs : nowMs;
    }
    this.leases = this.leases.filter(lease => lease.endMs > nowMs);
  }

  /** What a call does at this moment. */
  decide(op: TestOp): Decision {
    const terms = op.terms!.lease!;
    const decision = decideFor(terms, op, this.#find(terms, op));
    const isSlot = terms.mode === LEASE_MODE.concurrency && terms.settles;
    if (decision.step !== 'take') return decision;
    if (decision.hits === 0) return { step: 'ask', hits: 0 };
    return isSlot ? { step: 'take', hits: 1 } : decision;
  }

  /** Whether a step can be done without exceeding the limit. */
  fits({ step, hits }: Decision, { capacity }: Pick<AdmissionTerms, 'capacity'>): boolean {
    return !isRefusable(step) || this.level + Math.max(hits, 1) <= capacity;
  }

  /** Does what a call does. */
  apply({ step, hits }: Decision, op: TestOp, nowMs: number): Entry {
    const terms = op.terms!.lease!;
    const lease = this.#find(terms, op);
    if (step === 'take') return this.#take(op, hits, nowMs);
    if (step === 'settle') return this.#settle(op, hits, nowMs);
    if (step === 'spend') {
      this.spent += hits;
      return { spent: hits, held: 0 };
    }
    if (step === 'giveBack') this.spent -= Math.min(hits, this.spent - this.overdrawn);
    else if (step === 'free') lease!.hits -= hits;
    else if (step === 'extend') lease!.endMs = nowMs + terms.forS * 1_000;
    else if (step === 'repeat') lease!.hits = -1;
    return NO_ENTRY;
  }

  #take(op: TestOp, hits: number, nowMs: number): Entry {
    const terms = op.terms!.lease!;
    const isOnce = terms.mode === LEASE_MODE.once;
    const windowEndS = terms.mode === LEASE_MODE.concurrency ? 0 : this.windowEndS;
    const holder = op.lease?.holder ?? '';
    const known = holder === '' ? undefined : this.#find(terms, op);
    const isMore = known?.state === 'live' && known.windowEndS === windowEndS;
    const own = (isMore ? known.hits : 0) + (isOnce ? 0 : hits);
    if (known !== undefined) this.leases.splice(this.leases.indexOf(known), 1);
    this.leases.push({ holder, state: 'live', hits: own, windowEndS, endMs: nowMs + terms.forS * 1_000 });
    if (!isOnce) return { spent: 0, held: hits };
    this.spent += hits;
    return { spent: hits, held: 0 };
  }

  #settle(op: TestOp, hits: number, nowMs: number): Entry {
    const terms = op.terms!.lease!;
    const lease = this.#find(terms, op);
    if (lease === undefined) {
      this.spent += hits;
      this.#remember(op, nowMs);
      return { spent: hits, held: hits };
    }
    const held = lease.hits;
    const isOfWindow = terms.mode !== LEASE_MODE.concurrency && lease.windowEndS === this.windowEndS;
    if (!remembers(terms)) this.leases.splice(this.leases.indexOf(lease), 1);
    if (op.lease?.action === ACTION.revoke) {
      lease.state = 'expired';
      lease.endMs = nowMs + terms.forS * 1_000;
    } else {
      lease.state = 'settled';
      lease.hits = op.isRefund ? -1 : op.hits;
      lease.endMs = nowMs + Math.min(SETTLED_S, terms.forS) * 1_000;
    }
    if (isOfWindow) this.spent += hits;
    if (isOfWindow && terms.allowsOverdraft) this.overdrawn += Math.max(hits - held, 0);
    return { spent: hits, held };
  }

  /** Keeps that a holder without a lease was settled. */
  #remember({ lease, terms, hits }: TestOp, nowMs: number): void {
    const holder = lease?.holder ?? '';
    if (holder === '' || !remembers(terms!.lease!)) return;
    const endMs = nowMs + Math.min(SETTLED_S, terms!.lease!.forS) * 1_000;
    this.leases.push({ holder, state: 'settled', hits, windowEndS: this.windowEndS, endMs });
  }

  #holding(): Lease[] {
    return this.leases.filter(
      ({ state, windowEndS }) => state === 'live' && (windowEndS === 0 || windowEndS === this.windowEndS),
    );
  }

  /** The lease of the holder of a call; without holders, the one that ends first. */
  #find({ hasHolders }: LeaseTerms, { lease }: TestOp): Lease | undefined {
    const holder = lease?.holder ?? '';
    if (holder !== '') return this.leases.find(each => each.holder === holder);
    if (hasHolders) return undefined;
    const live = this.leases.filter(({ state }) => state === 'live');
    return live.sort((a, b) => a.endMs - b.endMs)[0];
  }
}

/** The terms of a limit with leases; null for any other limit. */
export function leaseTermsOf({ terms }: TestOp): LeaseTerms | null {
  return terms?.admission === ADMISSION.leased ? terms.lease! : null;
}

/** Whether a step is done only if it fits. */
export function isRefusable(step: Step): boolean {
  return step === 'ask' || step === 'take' || step === 'spend';
}

/** Whether leases that have ended are remembered for calls that come late or twice. */
function remembers({ settles, hasHolders }: LeaseTerms): boolean {
  return settles && hasHolders;
}

function decideFor(terms: LeaseTerms, op: TestOp, lease: Lease | undefined): Decision {
  const action = op.lease?.action ?? ACTION.any;
  // A refund says how much was not used, whatever it is called.
  const isRefund = op.isRefund === true && (action === ACTION.reserve || action === ACTION.settle);
  if (action !== ACTION.any && !isRefund) return decideExplicitly(terms, op, lease);
  if (!terms.hasHolders) return decideWithoutHolders(terms, op);
  if ((op.lease?.holder ?? '') === '') return decideUnnamed(terms, op);
  if (lease === undefined) return decideUnknown(terms, op);
  if (lease.state === 'live') return decideLive(terms, op, lease);
  if (lease.state === 'expired') return decideExpired(terms, op, lease);
  return decideSettled(op, lease);
}

/** Callers that are no proxies say what they want. */
function decideExplicitly(terms: LeaseTerms, op: TestOp, lease: Lease | undefined): Decision {
  const { hits, lease: said } = op;
  const { state } = lease ?? { state: 'unknown' };
  if (said!.action === ACTION.reserve) return { step: 'take', hits: hits === 0 ? terms.estimate : hits };
  if (said!.action === ACTION.end) return decideEnd(terms, op, lease);
  if (said!.action === ACTION.release || said!.action === ACTION.revoke)
    return { step: state === 'live' ? 'settle' : 'nothing', hits: 0 };
  if (said!.action === ACTION.extend) {
    if (state === 'live') return { step: 'extend', hits: 0 };
    return state === 'expired' ? { step: 'take', hits: lease!.hits } : { step: 'ask', hits: 0 };
  }
  const spent = terms.mode === LEASE_MODE.reserve ? hits : 0;
  if (state === 'settled' || (state === 'unknown' && spent === 0)) return { step: 'nothing', hits: 0 };
  return { step: 'settle', hits: spent };
}

/** Ends the lease of the holder as the call would, and takes nothing. */
function decideEnd(terms: LeaseTerms, op: TestOp, lease: Lease | undefined): Decision {
  const isOpen = lease?.state === 'live' || lease?.state === 'expired';
  const ends = op.isRefund === true || (op.hits > 0 && terms.settles);
  if (!isOpen || !ends || (op.lease?.holder ?? '') === '') return { step: 'nothing', hits: 0 };
  if (op.isRefund && !terms.hasHolders) return { step: 'giveBack', hits: op.hits };
  if (op.isRefund)
    return lease!.state === 'live' ? decideLive(terms, op, lease!) : decideExpired(terms, op, lease!);
  return { step: 'settle', hits: terms.mode === LEASE_MODE.reserve ? op.hits : 0 };
}

/** A call without hits holds the estimate, one with hits settles the lease that ends first. */
function decideWithoutHolders({ estimate, mode }: LeaseTerms, { hits, isRefund }: TestOp): Decision {
  if (isRefund) return { step: 'giveBack', hits };
  if (hits === 0) return { step: 'take', hits: estimate };
  return { step: 'settle', hits: mode === LEASE_MODE.reserve ? hits : 0 };
}

/** Nothing can end a lease of nobody, so hits are spent at once, and a slot is held until the end. */
function decideUnnamed({ mode }: LeaseTerms, { hits, isRefund }: TestOp): Decision {
  if (mode === LEASE_MODE.concurrency) return { step: isRefund ? 'nothing' : 'take', hits };
  if (isRefund) return { step: 'giveBack', hits };
  return { step: hits === 0 ? 'ask' : 'spend', hits };
}

/** The first call of a holder takes a lease. A refund has nothing to release. */
function decideUnknown({ estimate }: LeaseTerms, { hits, isRefund }: TestOp): Decision {
  if (isRefund) return { step: 'nothing', hits: 0 };
  return { step: 'take', hits: hits === 0 ? estimate : hits };
}

/** A later call ends the lease. If leases are not settled by hits, it takes more, and a refund gives slots back. */
function decideLive(terms: LeaseTerms, op: TestOp, lease: Lease): Decision {
  const { mode, settles, zeroSettles } = terms;
  if (op.isRefund) {
    const frees = mode === LEASE_MODE.concurrency && !settles && op.hits < lease.hits;
    return frees ? { step: 'free', hits: op.hits } : { step: 'settle', hits: unused(terms, op, lease) };
  }
  if (op.hits === 0) return { step: zeroSettles ? 'settle' : 'extend', hits: 0 };
  if (!settles) return { step: 'take', hits: op.hits };
  return { step: 'settle', hits: mode === LEASE_MODE.reserve ? op.hits : 0 };
}

/** What a late call says was used is spent. A call without hits takes the lease again. */
function decideExpired(terms: LeaseTerms, op: TestOp, lease: Lease): Decision {
  if (op.isRefund) return { step: 'settle', hits: unused(terms, op, lease) };
  if (op.hits > 0) return { step: 'settle', hits: terms.mode === LEASE_MODE.reserve ? op.hits : 0 };
  return terms.zeroSettles ? { step: 'settle', hits: 0 } : { step: 'take', hits: lease.hits };
}

/** The same hits a second time do nothing. Other hits are those of a new request. */
function decideSettled({ hits, isRefund }: TestOp, lease: Lease): Decision {
  if (isRefund) return { step: 'nothing', hits: 0 };
  if (hits === 0) return { step: 'ask', hits: 0 };
  return hits === lease.hits ? { step: 'repeat', hits: 0 } : { step: 'take', hits };
}

/** A refund says what was not used of a lease; the rest was. */
function unused({ mode }: LeaseTerms, { hits }: TestOp, lease: Lease): number {
  return mode === LEASE_MODE.reserve ? Math.max(lease.hits - hits, 0) : 0;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
