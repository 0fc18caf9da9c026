import { ADMISSION, type AdmissionTerms, REFUSED } from '../../src/counters/admission/admission.ts';
import type { CounterBatch } from '../../src/counters/batch.ts';
import { LEASE_MODE, type LeaseTerms, STEP } from '../../src/counters/leases/lease.ts';
import type { CounterStore } from '../../src/counters/store.ts';
import { answered, type CountingTime, type TestGroup, type TestOp } from './counting.ts';
import type { Step } from './lease-ledger.ts';
import type { LeaseAnswer, LeaseLevel } from './lease-model.ts';

/** The window of limits in tests, in seconds. */
export const WINDOW_S = 3_600;

const LEASE: LeaseTerms = {
  mode: LEASE_MODE.reserve,
  forS: 600,
  hasHolders: true,
  estimate: 0,
  settles: true,
  zeroSettles: false,
  allowsOverdraft: false,
};

/** The terms of a limit whose hits are held, and spent when their holders settle them. */
export function reserving(capacity: number, lease: Partial<LeaseTerms> = {}): AdmissionTerms {
  return leased(capacity, WINDOW_S, lease);
}

/** The terms of a limit on what runs at the same time. It is alone in its entry if `settles` is not given. */
export function concurrent(capacity: number, lease: Partial<LeaseTerms> = {}): AdmissionTerms {
  return leased(capacity, 0, { settles: false, ...lease, mode: LEASE_MODE.concurrency });
}

/** The terms of a plain limit beside limits with leases: the hits of the first call are spent at once. */
export function once(capacity: number, lease: Partial<LeaseTerms> = {}): AdmissionTerms {
  return leased(capacity, WINDOW_S, { ...lease, mode: LEASE_MODE.once });
}

function leased(capacity: number, windowS: number, lease: Partial<LeaseTerms>): AdmissionTerms {
  return {
    admission: ADMISSION.leased,
    scale: 1,
    capacity,
    drain: 0,
    windowS,
    lease: { ...LEASE, ...lease },
  };
}

/** A time for a window that ends at `windowEndS`. */
export function leaseTime(nowMs: number, windowEndS: number): CountingTime {
  return { nowMs, nowS: Math.floor(nowMs / 1_000), ttlS: WINDOW_S, expiryS: windowEndS };
}

/** What a store says of the ops of a batch, and of the limit of each op after the batch; null for one without leases. */
export interface Decided {
  readonly answers: LeaseAnswer[];
  readonly levels: (LeaseLevel | null)[];
}

/** Decides requests with leases. */
export function decideLeases(
  store: CounterStore,
  groups: readonly TestGroup[],
  time: CountingTime,
): Promise<Decided> {
  return answered(groups, time, batch => store.incrementHoldingBack(batch), decidedOf);
}

export function decidedOf(batch: CounterBatch): Decided {
  const ops = Array.from({ length: batch.opCount }, (_, op) => op);
  return { answers: ops.map(op => answerOf(batch, op)), levels: ops.map(op => levelOf(batch, op)) };
}

const STEPS = Object.keys(STEP) as Step[];

function answerOf(batch: CounterBatch, op: number): LeaseAnswer {
  const { leases } = batch;
  const isLeased = isOfLease(batch, op);
  return {
    step: isLeased ? STEPS[leases.steps[op]] : null,
    after: batch.opAfters[op],
    refused: batch.opRefused[op] !== REFUSED.no,
    heldBack: batch.opHeld[op] === 1,
    spent: isLeased ? leases.spent[op] : 0,
    held: isLeased ? leases.held[op] : 0,
  };
}

function levelOf(batch: CounterBatch, op: number): LeaseLevel | null {
  if (!isOfLease(batch, op)) return null;
  const { leases, opSlots } = batch;
  const slot = opSlots[op];
  return { held: leases.slotHeld[slot], endsMs: leases.slotEndsMs[slot], expired: leases.slotExpired[slot] };
}

function isOfLease({ admissions, opSlots }: CounterBatch, op: number): boolean {
  return admissions.kinds[opSlots[op]] === ADMISSION.leased;
}

/** Calls of one holder for one limit. */
export function callsFor(key: string, terms: AdmissionTerms) {
  return (holder: string) => {
    const op = (hits: number, more: Partial<TestOp> = {}): TestOp => ({
      key,
      hits,
      terms,
      lease: { holder },
      ...more,
    });
    const acting = (action: number) => (hits: number) => op(hits, { lease: { holder, action } });
    return { op, refund: (hits: number) => op(hits, { isRefund: true }), acting };
  };
}
