/**
 * Far beyond what a run asks for, and below what the protocol can carry. A year, so that no window ends in a run: the
 * counts are compared with the answers.
 */
export const ROOMY_LIMIT = 4_000_000_000;

/** A kind of limit, as the part `limits` compares them. */
export interface LimitKind {
  readonly title: string;
  /** How many names of statistics count a hit: one for each limit of the rule, and one for a class. */
  readonly countedBy: number;
  /** The most hits of a key that a limit forgets during a load, or counts twice for a while. */
  readonly forgotten: number;
  /** Whether requests name a holder: two calls of each take a lease of a hit and settle it. */
  readonly hasHolders?: true;
  /** The lines of a rule file, for a rule that nothing of a run exceeds. */
  readonly lines: readonly string[];
}

const LARGEST = `requests_per_unit: ${ROOMY_LIMIT}`;

/**
 * The kinds of limits. None of their states is empty again between two hits: a window lasts for a year, and a token takes
 * 3 seconds to flow in. An empty bucket is full after ten years.
 */
export const LIMIT_KINDS = {
  plain: {
    title: 'plain',
    countedBy: 1,
    forgotten: 0,
    lines: ['rate_limit:', '  unit: year', `  ${LARGEST}`],
  },
  window: {
    title: 'any window',
    countedBy: 1,
    forgotten: 0,
    lines: ['rate_limit:', '  window: 52w', `  ${LARGEST}`],
  },
  calendar: {
    title: 'calendar',
    countedBy: 1,
    forgotten: 0,
    lines: ['rate_limit:', `  ${LARGEST}`, '  calendar: {period: year, zone: Europe/Berlin}'],
  },
  several: {
    title: 'two limits',
    countedBy: 2,
    forgotten: 0,
    lines: ['rate_limits:', '  - unit: year', `    ${LARGEST}`, '  - window: 52w', `    ${LARGEST}`],
  },
  sliding: {
    title: 'sliding window',
    countedBy: 1,
    forgotten: 0,
    lines: ['rate_limit:', '  unit: year', `  ${LARGEST}`, '  algorithm: sliding_window'],
  },
  bucket: {
    title: 'token bucket',
    countedBy: 1,
    forgotten: 40,
    lines: [
      'rate_limit:',
      '  unit: year',
      '  requests_per_unit: 10000000',
      '  algorithm: token_bucket',
      '  burst: 100000000',
    ],
  },
  classes: {
    title: 'classes',
    countedBy: 2,
    forgotten: 0,
    lines: [
      'rate_limit:',
      '  unit: year',
      `  ${LARGEST}`,
      '  classes: {key: tier, critical: 100%, sheddable: 99.9%}',
    ],
  },
  leases: {
    title: 'leases',
    // One of the two calls is counted as held, and the other one as settled.
    countedBy: 2,
    forgotten: 1_024,
    hasHolders: true,
    lines: ['holder: request', 'rate_limit:', '  unit: year', `  ${LARGEST}`, '  reserve: {for: 1s}'],
  },
} as const satisfies Record<string, LimitKind>;

export type LimitKindName = keyof typeof LIMIT_KINDS;
export const LIMIT_KIND_NAMES = Object.keys(LIMIT_KINDS) as LimitKindName[];
