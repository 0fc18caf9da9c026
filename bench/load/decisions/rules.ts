import { DOMAIN } from './patterns.ts';

/** A rule and those below it. */
export interface BenchRule {
  readonly key: string;
  /** Without one, the rule is for every value. */
  readonly value?: string;
  /** Requests a year; without it there is no limit at this level. */
  readonly limit?: number;
  readonly below?: readonly BenchRule[];
}

/**
 * Far beyond what a run asks for, and below what the protocol can carry. A year, so that no window ends in a run: the
 * counts are compared with the answers.
 */
export const ROOMY_LIMIT = 4_000_000_000;

/** The rules that the patterns ask for, and so many routes. */
export function benchRules(routes: number): BenchRule[] {
  return [
    { key: 'user', limit: ROOMY_LIMIT },
    { key: 'tenant', limit: ROOMY_LIMIT },
    {
      key: 'path',
      value: '/checkout',
      limit: ROOMY_LIMIT,
      below: [{ key: 'method', value: 'POST', limit: ROOMY_LIMIT }],
    },
    { key: 'plan', value: 'free', below: [{ key: 'customer', limit: 1 }] },
    ...Array.from({ length: routes }, (_, i) => ({
      key: 'route',
      value: `route-${String(i).padStart(6, '0')}`,
      below: [{ key: 'user', limit: ROOMY_LIMIT }],
    })),
  ];
}

/** The rules as a rule file, as a generator would write it. */
export function ruleFile(rules: readonly BenchRule[]): string {
  return [`domain: ${DOMAIN}`, 'descriptors:', ...linesOf(rules, '  '), ''].join('\n');
}

function linesOf(rules: readonly BenchRule[], indent: string): string[] {
  return rules.flatMap(({ key, value, limit, below }) => [
    `${indent}- key: ${key}`,
    ...(value === undefined ? [] : [`${indent}  value: ${value}`]),
    ...(limit === undefined
      ? []
      : [`${indent}  rate_limit:`, `${indent}    unit: year`, `${indent}    requests_per_unit: ${limit}`]),
    ...(below === undefined ? [] : [`${indent}  descriptors:`, ...linesOf(below, `${indent}    `)]),
  ]);
}
