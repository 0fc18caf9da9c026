import { DELAY_MS, type Grant, mostFrom, moved, type Span, stillUsed } from './grant.ts';
import type { QuotaStream } from './quota-stream.ts';
import { UsageRate } from './usage-rate.ts';

/** The part of the demand that remains at least with the next report: a pause does not cost a proxy its grant. */
const LEAST_KEPT = 0.5;

/** What a subscriber was told last: nothing yet, a token bucket, or one answer for all requests. */
export type Told = 'nothing' | 'token_bucket' | 'allow_all' | 'deny_all';

/** What a proxy has reported since the last look. */
export interface Usage {
  readonly allowed: number;
  readonly denied: number;
}

/** A proxy in a bucket: what it has reported, what it was granted, and so the most that it can admit. */
export class Subscriber {
  readonly stream: QuotaStream;
  /** `BucketId` in wire format, as the proxy writes it. */
  readonly id: Uint8Array;
  told: Told = 'nothing';
  /** Requests per second that the proxy is reckoned to get, allowed and denied; 0 before the second report. */
  demand = 0;
  /** When the proxy last reported a request. */
  usedMs: number;
  readonly usage = new UsageRate();
  /** What the proxy admits later than this may not be reported yet. */
  #sinceMs: number;
  #grants: readonly Grant[] = [];
  #allowed = 0;
  #denied = 0;
  #reportedMs = 0;

  constructor(stream: QuotaStream, id: Uint8Array, nowMs: number) {
    this.stream = stream;
    this.id = id;
    this.usedMs = nowMs;
    this.#sinceMs = nowMs - DELAY_MS;
  }

  /** Adds a report that has arrived. */
  report(allowed: number, denied: number, nowMs: number): void {
    this.#allowed += allowed;
    this.#denied += denied;
    this.#reportedMs = nowMs;
    if (this.usage.add(allowed, denied, nowMs))
      this.demand = Math.max(this.usage.allowed + this.usage.denied, this.demand * LEAST_KEPT);
    if (allowed + denied > 0) this.usedMs = nowMs;
  }

  /** When the last report arrived; 0 before. */
  get reportedMs(): number {
    return this.#reportedMs;
  }

  /** Requests that the proxy has allowed, and denied, by the reports that were not taken yet. */
  get allowed(): number {
    return this.#allowed;
  }

  get denied(): number {
    return this.#denied;
  }

  /** Takes the reports into account. Afterwards, the proxy may have admitted unreported requests only since the last one. */
  take(): void {
    const reportedMs = this.#reportedMs;
    if (reportedMs < this.#sinceMs) this.#moveBack(reportedMs);
    this.#allowed = 0;
    this.#denied = 0;
    this.#sinceMs = Math.max(this.#sinceMs, reportedMs - DELAY_MS);
    this.#grants = stillUsed(this.#grants, reportedMs);
  }

  /** The clock was set back: what was sent before would otherwise lie ahead, and need no payment until then. */
  #moveBack(reportedMs: number): void {
    const byMs = reportedMs - (this.#sinceMs + DELAY_MS);
    this.#grants = this.#grants.map(grant => moved(grant, byMs));
    this.#sinceMs += byMs;
  }

  /** The grants that the proxy may still use, or has used since its last report. The last one may be active. */
  get grants(): readonly Grant[] {
    return this.#grants;
  }

  /** The active grant. Null if the proxy has none, or if its last one may have ended. */
  activeAt(nowMs: number): Grant | null {
    const last = this.#grants.at(-1);
    return this.told === 'token_bucket' && last !== undefined && nowMs < last.endMs ? last : null;
  }

  /**
   * The most requests of a span that are not reported yet, with the grants that the proxy has or would have. A `flow` is not
   * exact to a fill of the token bucket, which is more than flows while a report is on its way.
   */
  most(span: Span, grants = this.#grants): number {
    if (grants.length === 0) return 0;
    const sinceMs = span.reckoning === 'all' ? this.#sinceMs : this.#sinceMs + DELAY_MS;
    return mostFrom(grants, span, sinceMs);
  }

  /** The proxy was sent an assignment. @param grants those that it may use from now on */
  tell(told: Told, grants: readonly Grant[]): void {
    this.told = told;
    this.#grants = grants;
  }
}
