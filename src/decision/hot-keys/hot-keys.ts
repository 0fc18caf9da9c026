import { type Clock, SECOND_MS } from '../../base/clock.ts';
import { windowStartS } from '../../counters/window.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { LIMIT, LIMIT_FLAG } from '../../rules/layout.ts';
import { TermsOfRules } from '../limits/terms-of-rules.ts';
import { CollectedKeys, OVERRIDE, type RuleIdentity } from './collected-keys.ts';
import type { KeyText } from './key-text.ts';
import type { KeyIdentity } from './observed-key.ts';
import { RuleIds } from './rule-ids.ts';
import type { Seats } from './seats.ts';
import { type Span, spanStartMs } from './span-sketch.ts';

/** What the readers of hot keys and last refusals need. */
export interface HotKeysParts extends KeyIdentity {
  readonly seats: Seats;
  /** The active rules; null before the first load. */
  readonly rules: () => CompiledRules | null;
  readonly clock: Pick<Clock, 'nowMs'>;
}

/** A key with many hits. */
export interface HotKey extends Pick<KeyText, 'domain' | 'entries'> {
  /** Number of the limit in the active rules; -1 for an override, null if the active rules do not have it. */
  readonly limit: number | null;
  /** The entries of the descriptor, as `key=value, key=value`. It may contain control characters. */
  readonly key: string;
  /** The key of the counter in the current window; null if the limit has no counter, or if the key is too long. */
  readonly cacheKey: string | null;
  /** Hits, and those of them that were over the limit, also in shadow mode. Hits that were given back are not subtracted. */
  readonly hits: number;
  readonly refused: number;
  /**
   * The true numbers differ by at most this. The part of it that is due to sampling is three standard deviations, for
   * requests of one hit, so about one key in 370 may differ by more.
   */
  readonly error: number;
}

/** The keys with the most hits in a span of time. */
export interface TopKeys {
  /** The start of the span, in milliseconds since the epoch. It ends now. */
  readonly sinceMs: number;
  /** With the most hits first. */
  readonly keys: readonly HotKey[];
}

/** Reads the keys with the most hits that the observers of all threads have recorded. */
export class HotKeys {
  readonly #parts: HotKeysParts;
  readonly #ids: RuleIds;
  /** How the limits of the rules count that were read last. */
  #terms: { readonly rules: CompiledRules; readonly of: TermsOfRules } | null = null;

  constructor(parts: HotKeysParts) {
    this.#parts = parts;
    this.#ids = new RuleIds(parts.fingerprintKey);
  }

  /**
   * @param limit number of a limit in the active rules; -1 for overrides, null for all limits together
   * @param count maximum number of keys
   */
  top(limit: number | null, span: Span, count: number): TopKeys {
    const { seats, clock } = this.#parts;
    const nowMs = Math.floor(clock.nowMs());
    const rules = this.#parts.rules();
    const sinceMs = spanStartMs(nowMs, span);
    if (limit !== null && limit >= 0 && rules === null) return { sinceMs, keys: [] };
    const collected = new CollectedKeys(limit === null ? null : this.#ruleOf(limit, rules));
    for (const seat of seats.all) {
      seat.read(nowMs, () => {
        for (const slice of seat.spans[span].last(nowMs)) collected.add(slice);
      });
    }
    const keys = collected.top(count).map(({ hits, refused, error, ...counted }): HotKey => {
      const own = limit ?? this.#limitOf(counted, rules);
      const cacheKey = this.#cacheKey(counted.text.cacheKey, own, rules, nowMs);
      const { key, domain, entries } = counted.text;
      return { limit: own, key, domain, entries, cacheKey, hits, refused, error };
    });
    return { sinceMs, keys };
  }

  #ruleOf(limit: number, rules: CompiledRules | null): RuleIdentity {
    if (limit < 0 || rules === null) return OVERRIDE;
    this.#ids.find(rules, limit);
    return { ruleA: this.#ids.a, ruleB: this.#ids.b };
  }

  /** Rules keep their numbers in most reloads. If the number is that of another rule now, the limit is not known. */
  #limitOf(
    { limit, ruleA, ruleB }: RuleIdentity & { readonly limit: number },
    rules: CompiledRules | null,
  ): number | null {
    if (limit < 0) return -1;
    if (rules === null || limit >= rules.limitCount) return null;
    const rule = this.#ruleOf(limit, rules);
    return rule.ruleA === ruleA && rule.ruleB === ruleB ? limit : null;
  }

  /** The key of the counter in the current window. */
  #cacheKey(
    key: string | null,
    limit: number | null,
    rules: CompiledRules | null,
    nowMs: number,
  ): string | null {
    // The unit of an override is not recorded.
    if (key === null || limit === null || limit < 0 || rules === null) return null;
    if ((rules.flags(limit) & LIMIT_FLAG.unlimited) !== 0) return null;
    const nowS = Math.floor(nowMs / SECOND_MS);
    if (this.#terms?.rules !== rules) this.#terms = { rules, of: new TermsOfRules(rules) };
    const counting = this.#terms.of.of(limit);
    counting?.window.moveTo(nowS);
    const end =
      counting === null
        ? String(windowStartS(rules.limit(limit, LIMIT.unit), nowS))
        : Buffer.from(counting.window.keyEnd).toString('utf8');
    return `${this.#parts.cacheKeyPrefix}${key}${end}`;
  }
}
