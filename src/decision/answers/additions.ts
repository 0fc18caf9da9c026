import { SECOND_MS } from '../../base/clock.ts';
import type { JsonObject } from '../../base/json.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { ANSWER, answersOf, MAPPED_ANSWERS, NAMES_POLICIES } from '../../rules/domain-answers.ts';
import { type DecisionBatch, PENALIZED } from '../batch.ts';
import type { ResponseFormat } from '../decider.ts';
import type { EngineOptions } from '../engine.ts';
import { OTHERS } from '../limits/limit-classes.ts';
import type { GlobalModes } from '../overall-code.ts';
import type { Additions, DecidedRequest, EncodedAdditions, ResponseAdditions } from '../response.ts';
import { AdditionsEncoder } from './encode-additions.ts';
import { matchedRule } from './matched-rule.ts';
import { quotaOf, windowSOf } from './policies.ts';
import { MAX_POLICIES, SHOWN, ShownLimits } from './shown-limits.ts';

/** Bits beside those of `ANSWER` in the first number of a fingerprint. */
const FORMAT_BITS: Readonly<Record<ResponseFormat, number>> = { protobuf: 0, json: 16, http: 64 };
const REFUSED_BIT = 32;

/** Numbers of a fingerprint: seven, and up to five for each policy. */
const FINGERPRINT_NUMBERS = 7 + 5 * MAX_POLICIES;

/** Additions that were encoded before, and all numbers that they depend on. */
interface Kept {
  readonly fingerprint: Float64Array;
  readonly encoded: EncodedAdditions;
}

/** Maximum number of kept additions: one for each limit and encoding. */
const MAX_KEPT = 1_024;

/**
 * Adds headers, a body and the matched rule to answers. Refusals of a limit mostly have the same additions for a second,
 * whoever is refused, so the last ones of each limit are kept.
 */
export class AnswerAdditions implements ResponseAdditions {
  readonly #enabled: number;
  readonly #modes: GlobalModes;
  /** Whether the additions contain the dynamic metadata; else the caller writes it. */
  readonly #separateMetadata: boolean;
  readonly #limits: ShownLimits;
  readonly #encoder = new AdditionsEncoder();
  readonly #kept = new Map<number, Kept>();
  #rules: CompiledRules | null = null;
  readonly #fingerprint = new Float64Array(FINGERPRINT_NUMBERS);

  constructor({
    answers,
    modes,
    dynamicMetadata,
  }: Pick<EngineOptions, 'answers' | 'modes' | 'dynamicMetadata'>) {
    this.#enabled = answers ?? 0;
    this.#modes = modes;
    this.#separateMetadata = !dynamicMetadata;
    this.#limits = new ShownLimits(modes);
  }

  areEnabled(rules: CompiledRules, format: ResponseFormat): boolean {
    return this.#enabled !== 0 || rules.hasAnswers || format === 'http';
  }

  of(decided: DecidedRequest): Additions | null {
    const { batch, request, rules, isRefused } = decided;
    const shown = this.#shown(decided);
    if (shown === 0) return null;
    const limits = this.#limits;
    limits.decide(batch, request, isRefused);
    if (limits.deciding < 0) return null;
    const policies =
      (shown & ANSWER.ratelimitHeaders) !== 0
        ? SHOWN.all
        : (shown & ANSWER.problemBody) !== 0
          ? SHOWN.violated
          : SHOWN.none;
    limits.choosePolicies(batch, request, rules, policies);
    const isMatchedShown = (shown & ANSWER.matchedRule) !== 0;
    const isSeparate = this.#separateMetadata;
    return {
      encoded: this.#encoded(decided, isSeparate ? shown : shown & ~ANSWER.matchedRule),
      retryAfterS: (shown & ANSWER.retryAfter) !== 0 ? limits.retryAfterS : 0,
      matchedRule: isMatchedShown && !isSeparate ? this.#matchedRule(decided) : null,
    };
  }

  /** The bits of `ANSWER` that apply. In global shadow mode, callers need not comply with any policy. */
  #shown({ batch, request, rules, isRefused }: DecidedRequest): number {
    const { bytes, domainStart, domainEnd } = batch.requests;
    const word = rules.domainAnswers(bytes, domainStart[request], domainEnd[request]);
    const isHttp = batch.formats[request] === 'http';
    let shown = answersOf(isHttp ? this.#enabled | MAPPED_ANSWERS : this.#enabled, word);
    // HTTP responses have no metadata. The rules of the request may have been replaced by rules that map no requests.
    if (isHttp) shown &= ~(ANSWER.matchedRule | (rules.hasPolicyNames ? 0 : NAMES_POLICIES));
    if (!isRefused) shown &= ANSWER.ratelimitHeaders | ANSWER.matchedRule;
    return this.#modes.shadow ? shown & ~ANSWER.ratelimitHeaders : shown;
  }

  #encoded(decided: DecidedRequest, shown: number): EncodedAdditions {
    const { batch, rules, isRefused } = decided;
    const format = batch.formats[decided.request];
    const deciding = batch.decisions.limit[this.#limits.deciding];
    const count = deciding < 0 ? 0 : this.#takeFingerprint(batch, shown, format);
    if (count === 0) return this.#encode(decided, shown, format);
    if (rules !== this.#rules) {
      this.#kept.clear();
      this.#rules = rules;
    }
    const place = deciding * 2 + (format === 'protobuf' ? 0 : 1);
    const kept = this.#kept.get(place);
    if (kept !== undefined && this.#isSame(kept.fingerprint, count)) return kept.encoded;
    const encoded = this.#encode(decided, shown, format);
    // The headers of an allowed request count down, so they are not the same again.
    if (!isRefused && (shown & ANSWER.ratelimitHeaders) !== 0) return encoded;
    const own = { headers: ownBytes(encoded.headers), rest: ownBytes(encoded.rest) };
    if (this.#kept.size === MAX_KEPT) this.#kept.clear();
    this.#kept.set(place, { fingerprint: this.#fingerprint.slice(0, count), encoded: own });
    return own;
  }

  /** Sets the numbers that the additions depend on. Returns how many; 0 if they also depend on texts of the request. */
  #takeFingerprint({ decisions }: DecisionBatch, shown: number, format: ResponseFormat): number {
    const { deciding, retryAfterS, rows, count, violatedCount } = this.#limits;
    const numbers = this.#fingerprint;
    const isRefused = retryAfterS > 0;
    numbers[0] = shown | FORMAT_BITS[format] | (isRefused ? REFUSED_BIT : 0);
    numbers[1] = retryAfterS;
    numbers[2] = decisions.limit[deciding];
    numbers[3] = decisions.flags[deciding] * 2 + decisions.isOver[deciding];
    numbers[4] = decisions.kind[deciding];
    numbers[5] = violatedCount;
    numbers[6] = decisions.terms[deciding]?.classNumber ?? OTHERS;
    let at = 7;
    if ((shown & NAMES_POLICIES) === 0) return at;
    for (let i = 0; i < count; i++) {
      const row = rows[i];
      if (decisions.limit[row] < 0) return 0;
      const isPenalized = (decisions.flags[row] & PENALIZED) !== 0;
      numbers[at++] = decisions.limit[row] * 2 + (isPenalized ? 1 : 0);
      if ((shown & ANSWER.ratelimitHeaders) === 0) continue;
      numbers[at++] = decisions.remaining[row];
      numbers[at++] = Math.ceil(decisions.resetMs[row] / SECOND_MS);
      numbers[at++] = quotaOf(decisions, row);
      numbers[at++] = windowSOf(decisions, row);
    }
    return at;
  }

  #isSame(kept: Float64Array, count: number): boolean {
    if (kept.length !== count) return false;
    for (let i = 0; i < count; i++) if (kept[i] !== this.#fingerprint[i]) return false;
    return true;
  }

  #encode(decided: DecidedRequest, shown: number, format: ResponseFormat): EncodedAdditions {
    const matched = (shown & ANSWER.matchedRule) === 0 ? null : this.#matchedRule(decided);
    const { decisions } = decided.batch;
    return this.#encoder.encode({ decisions, limits: this.#limits, shown, matched }, format);
  }

  #matchedRule({ batch, request, rules }: DecidedRequest): JsonObject {
    return matchedRule(batch, { request, row: this.#limits.deciding, rules, modes: this.#modes });
  }
}

function ownBytes({ bytes, length }: EncodedAdditions['headers']): EncodedAdditions['headers'] {
  return { bytes: bytes.slice(0, length), length };
}
