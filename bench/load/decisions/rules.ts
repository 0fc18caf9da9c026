import { LIMIT_KINDS, type LimitKindName, ROOMY_LIMIT } from './limit-kinds.ts';
import { DOMAIN } from './patterns.ts';

/** A rule and those below it. */
export interface BenchRule {
  readonly key: string;
  /** Without one, the rule is for every value. */
  readonly value?: string;
  /** Requests a year; without it there is no limit at this level. */
  readonly limit?: number;
  /** The limit is of this kind, and larger than a run needs; plain without it. */
  readonly kind?: LimitKindName;
  readonly below?: readonly BenchRule[];
}

/**
 * The rules that the patterns ask for, and so many routes.
 *
 * @param kind of the limit of the key `user`
 */
export function benchRules(routes: number, kind: LimitKindName = 'plain'): BenchRule[] {
  return [
    { key: 'user', limit: ROOMY_LIMIT, kind },
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

/** How requests become the descriptors of the patterns; see `checkRequestOf`. */
const REQUESTS = [
  'requests:',
  '  descriptors:',
  ...['user', 'tenant', 'colour'].map(key => `    - [{ key: ${key}, header: x-${key} }]`),
  '    - [{ key: plan, header: x-plan }, { key: customer, header: x-customer }]',
  '    - [{ key: path, path: true }]',
  '    - [{ key: path, path: true }, { key: method, method: true }]',
];

/** The rules as a rule file, as a generator would write it. @param maps whether the file maps requests */
export function ruleFile(rules: readonly BenchRule[], maps = false): string {
  const head = [`domain: ${DOMAIN}`, ...(maps ? REQUESTS : [])];
  return [...head, 'descriptors:', ...linesOf(rules, '  '), ''].join('\n');
}

function linesOf(rules: readonly BenchRule[], indent: string): string[] {
  return rules.flatMap(({ key, value, limit, kind, below }) => [
    `${indent}- key: ${key}`,
    ...(value === undefined ? [] : [`${indent}  value: ${value}`]),
    ...(limit === undefined ? [] : limitLines(limit, kind).map(line => `${indent}  ${line}`)),
    ...(below === undefined ? [] : [`${indent}  descriptors:`, ...linesOf(below, `${indent}    `)]),
  ]);
}

function limitLines(limit: number, kind: LimitKindName = 'plain'): readonly string[] {
  if (kind !== 'plain') return LIMIT_KINDS[kind].lines;
  return ['rate_limit:', '  unit: year', `  requests_per_unit: ${limit}`];
}
