/**
 * What answers contain beside the decision: bits of a word. Each one is disabled unless a setting enables it for all
 * domains, or the `answers` block of a rule file for its domain.
 */
export const ANSWER = { retryAfter: 1, ratelimitHeaders: 2, problemBody: 4, matchedRule: 8 } as const;

/** The fields of `answers` in rule files. */
export const ANSWER_FIELDS = {
  retry_after: ANSWER.retryAfter,
  ratelimit_headers: ANSWER.ratelimitHeaders,
  problem_body: ANSWER.problemBody,
  matched_rule: ANSWER.matchedRule,
} as const;

/** The answers that name policies. */
export const NAMES_POLICIES = ANSWER.ratelimitHeaders | ANSWER.problemBody;

/** What answers to mapped HTTP requests contain, unless the domain says otherwise: they reach the end user as they are. */
export const MAPPED_ANSWERS = ANSWER.retryAfter | ANSWER.ratelimitHeaders;

/** What a domain says about its answers: bits of {@link ANSWER}. A bit that neither has is left to the settings. */
export interface DomainAnswers {
  readonly enabled: number;
  readonly disabled: number;
}

/** Bits of `enabled` in a word of compiled rules; those of `disabled` follow. */
const ENABLED_BITS = 8;

/** The word of a domain in compiled rules; 0 if it says nothing. */
export function answersWord({ enabled, disabled }: DomainAnswers): number {
  return enabled | (disabled << ENABLED_BITS);
}

/** The answers of a domain: what it says, else what the settings say. */
export function answersOf(settings: number, word: number): number {
  return (settings & ~(word >>> ENABLED_BITS)) | (word & ((1 << ENABLED_BITS) - 1));
}

/** What a word of compiled rules says, as rule files write it: `retry_after: true, problem_body: false`. */
export function describeAnswers(word: number): string {
  return Object.entries(ANSWER_FIELDS)
    .flatMap(([name, bit]) => {
      if ((word & bit) !== 0) return [`${name}: true`];
      return ((word >>> ENABLED_BITS) & bit) !== 0 ? [`${name}: false`] : [];
    })
    .join(', ');
}
