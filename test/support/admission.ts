import { ADMISSION, type AdmissionTerms } from '../../src/counters/admission/admission.ts';
import type { PenaltyTerms } from '../../src/counters/admission/penalty.ts';
import type { CounterBatch } from '../../src/counters/batch.ts';
import type { CounterStore } from '../../src/counters/store.ts';
import { aftersOf, answered, type CountingTime, NOON, type TestGroup, type TestOp } from './counting.ts';

/** The terms of a sliding window of some seconds. */
export function slidingWindow(requests: number, windowS: number): AdmissionTerms {
  return { admission: ADMISSION.slidingWindow, scale: 1, capacity: requests, drain: 0, windowS };
}

/** The terms of a fixed window of some seconds, whose hits the store admits. */
export function fixedWindow(
  requests: number,
  windowS: number,
  penalty: PenaltyTerms | null = null,
): AdmissionTerms {
  return { admission: ADMISSION.fixedWindow, scale: 1, capacity: requests, drain: 0, windowS, penalty };
}

/** The terms of a token bucket into which `requests` tokens flow in `windowS` seconds, and which holds `burst`. */
export function tokenBucket(requests: number, windowS: number, burst = requests): AdmissionTerms {
  const divisor = commonDivisor(windowS * 1_000, requests);
  const scale = (windowS * 1_000) / divisor;
  const drain = requests / divisor;
  const capacity = requests === 0 ? 0 : burst * scale;
  return { admission: ADMISSION.tokenBucket, scale, capacity, drain, windowS: 0 };
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

/** A time some milliseconds after {@link NOON}. Counters that are made then live for a minute in the store. */
export function atMs(ms: number): CountingTime {
  const nowMs = NOON.nowS * 1_000 + ms;
  const nowS = Math.floor(nowMs / 1_000);
  return { nowS, nowMs, ttlS: 60, expiryS: nowS + 60 };
}

/** What a store says of the ops of a batch: count or level after each, whether it was refused, whether it was held. */
export interface Admitted {
  readonly afters: number[];
  readonly refused: boolean[];
  readonly held: boolean[];
}

/** Counts the ops of one request. */
export function admit(
  store: CounterStore,
  ops: readonly TestOp[],
  time: CountingTime = atMs(0),
): Promise<Admitted> {
  return admitted(batch => store.increment(batch), [{ ops }], time);
}

/** Counts requests with holding back. */
export function admitHoldingBack(
  store: CounterStore,
  groups: readonly TestGroup[],
  time: CountingTime = atMs(0),
): Promise<Admitted> {
  return admitted(batch => store.incrementHoldingBack(batch), groups, time);
}

function admitted(
  countIt: (batch: CounterBatch) => void | Promise<void>,
  groups: readonly TestGroup[],
  time: CountingTime,
): Promise<Admitted> {
  return answered(groups, time, countIt, batch => {
    const flags = (column: Uint8Array) => Array.from(column.subarray(0, batch.opCount), flag => flag === 1);
    return { afters: aftersOf(batch), refused: flags(batch.opRefused), held: flags(batch.opHeld) };
  });
}
