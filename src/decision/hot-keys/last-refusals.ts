import type { Clock } from '../../base/clock.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import type { KeyText } from './key-text.ts';
import type { KeyIdentity } from './observed-key.ts';
import type { ReadRefusal } from './refusal-table.ts';
import { RuleIds } from './rule-ids.ts';
import type { Seats } from './seats.ts';

interface LastRefusalsParts extends Pick<KeyIdentity, 'fingerprintKey'> {
  readonly seats: Seats;
  /** The active rules; null before the first load. */
  readonly rules: () => CompiledRules | null;
  readonly clock: Pick<Clock, 'nowMs'>;
}

/** A limit that was exceeded by a request. */
export interface Refusal extends Pick<KeyText, 'domain' | 'entries'> {
  /** When it was decided, in milliseconds since the epoch. */
  readonly timeMs: number;
  /** The path of the rule, as configured; empty for an override. The end of a long path is cut off. */
  readonly path: string;
  /** The entries of the descriptor, as `key=value, key=value`. It may contain control characters. */
  readonly key: string;
  readonly hits: number;
  /** Hits in the window, after those of the request; null if the local cache refused the request, or without a store. */
  readonly count: number | null;
  readonly requestsPerUnit: number;
  /** The most hits that the limit admits: the burst of a token bucket, else `requestsPerUnit`. */
  readonly most: number;
  /** True if the limit is in shadow mode, so that it did not refuse the request. */
  readonly isShadow: boolean;
  /** True if the key is penalized, so that the request was rejected without counting it. */
  readonly isPenalized: boolean;
  /** True if an operator has banned the key, so that no limit was asked. */
  readonly isBanned: boolean;
  /** The address of the caller, and the trace ID that it sent; null if they are not known. */
  readonly peer: string | null;
  readonly traceId: string | null;
}

/** Reads the last refusals that the observers of all threads have recorded. */
export class LastRefusals {
  readonly #parts: LastRefusalsParts;
  readonly #ids: RuleIds;

  constructor(parts: LastRefusalsParts) {
    this.#parts = parts;
    this.#ids = new RuleIds(parts.fingerprintKey);
  }

  /**
   * The last refusals, the latest one first.
   * @param limit number of a limit in the active rules; -1 for overrides, null for all limits together
   */
  recent(count: number, limit: number | null = null): Refusal[] {
    return latest(this.#ofLimit(this.#since(Number.NEGATIVE_INFINITY), limit), count);
  }

  /** The last refusals from a time on, in milliseconds since the epoch, the latest one first. Older ones cost nothing. */
  since(timeMs: number, count: number): Refusal[] {
    return latest(this.#since(timeMs), count);
  }

  #since(timeMs: number): ReadRefusal[] {
    const { seats, clock } = this.#parts;
    const nowMs = clock.nowMs();
    return seats.all.flatMap(seat => seat.read(nowMs, () => seat.refusals.since(timeMs)));
  }

  #ofLimit(read: ReadRefusal[], limit: number | null): ReadRefusal[] {
    if (limit === null) return read;
    if (limit < 0) return read.filter(({ ruleA, ruleB }) => ruleA === 0 && ruleB === 0);
    const rules = this.#parts.rules();
    if (rules === null) return [];
    this.#ids.find(rules, limit);
    const { a, b } = this.#ids;
    return read.filter(({ ruleA, ruleB }) => ruleA === a && ruleB === b);
  }
}

function latest(read: ReadRefusal[], count: number): Refusal[] {
  return read
    .sort((a, b) => b.timeMs - a.timeMs || b.number - a.number)
    .slice(0, count)
    .map(refusalOf);
}

function refusalOf({
  timeMs,
  path,
  text,
  hits,
  count,
  requestsPerUnit,
  most,
  isShadow,
  isPenalized,
  isBanned,
  peer,
  traceId,
}: ReadRefusal): Refusal {
  return {
    timeMs,
    path,
    key: text.key,
    domain: text.domain,
    entries: text.entries,
    hits,
    count: Number.isNaN(count) ? null : count,
    requestsPerUnit,
    most,
    isShadow,
    isPenalized,
    isBanned,
    peer: peer === '' ? null : peer,
    traceId: traceId === '' ? null : traceId,
  };
}
