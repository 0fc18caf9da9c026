import { SECOND_MS } from '../base/clock.ts';
import type { FingerprintKey } from '../counters/fingerprint.ts';
import { CODE, DecisionBatch } from '../decision/batch.ts';
import { NO_REPLY } from '../decision/decider.ts';
import type { NamedStatistics } from '../decision/statistics/named-rows.ts';
import { encodeRateLimitRequest } from '../messages/client-codec.ts';
import type { ReportedUsage, UsageObserver } from '../quota/round.ts';
import type { RehearsalObserver } from './rehearsal-observer.ts';

/** The longest time over which reported requests are spread, in seconds. */
const LONGEST_S = 10;

/** In how many parts the requests of a second are decided: a part is rejected as a whole. */
const PARTS = 4;

/**
 * Rehearses requests that proxies have decided by themselves. They come in sums, a report after the other, so they are spread
 * evenly over the seconds of the report.
 */
export class RehearsedUsage implements UsageObserver {
  readonly #observer: RehearsalObserver;
  readonly #fingerprintKey: FingerprintKey;
  readonly #named: NamedStatistics;

  constructor(observer: RehearsalObserver, fingerprintKey: FingerprintKey, named: NamedStatistics) {
    this.#observer = observer;
    this.#fingerprintKey = fingerprintKey;
    this.#named = named;
  }

  /** Whether there is a rehearsal. If not, nothing needs to be collected. */
  get isActive(): boolean {
    return this.#observer.isActive;
  }

  /** Decides what was reported with the candidate rules. @param nowMs when the reports arrived, a whole number */
  observe(usages: readonly ReportedUsage[], nowMs: number): void {
    for (let secondsAgo = LONGEST_S - 1; secondsAgo >= 0; secondsAgo--) {
      const batch = new DecisionBatch(this.#fingerprintKey, this.#named);
      const codes: number[] = [];
      for (const usage of usages) addSecond(batch, codes, usage, secondsAgo);
      if (batch.size === 0) continue;
      batch.nowMs = nowMs - secondsAgo * SECOND_MS;
      batch.nowS = Math.floor(batch.nowMs / SECOND_MS);
      batch.decode();
      batch.decisions.reserve(batch.requests.descriptorRows);
      batch.decisions.code.set(codes);
      this.#observer.observe(batch);
    }
  }
}

/** Adds the requests of one of the seconds of a report, and the codes that they were answered with. */
function addSecond(batch: DecisionBatch, codes: number[], usage: ReportedUsage, secondsAgo: number): void {
  const seconds = Math.min(Math.max(Math.round(usage.spanMs / SECOND_MS), 1), LONGEST_S);
  if (secondsAgo >= seconds) return;
  for (const [requests, code] of [
    [usage.allowed, CODE.ok],
    [usage.denied, CODE.overLimit],
  ] as const)
    for (let part = 0; part < PARTS; part++) {
      const hits = partOf(requests, secondsAgo * PARTS + part, seconds * PARTS);
      if (hits === 0) continue;
      batch.add(requestOf(usage, hits), 'protobuf', NO_REPLY);
      codes.push(code);
    }
}

/** A number of requests divided into equal parts, as far as whole numbers can be equal: the n-th part. */
function partOf(whole: number, n: number, parts: number): number {
  return Math.floor((whole * (n + 1)) / parts) - Math.floor((whole * n) / parts);
}

function requestOf({ domain, entries }: ReportedUsage, hits: number): Uint8Array {
  const descriptors = [{ entries, limit: null, hitsAddend: hits }];
  return encodeRateLimitRequest({ domain, descriptors, hitsAddend: 0 });
}
