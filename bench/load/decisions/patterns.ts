import {
  encodeRateLimitRequest,
  type RateLimitRequest,
  SHOULD_RATE_LIMIT_PATH,
} from '../../../src/messages/client-codec.ts';
import { COUNTED_DIGITS, type RequestTemplate } from '../../support/grpc-load/request-frames.ts';

/** A value that differs from call to call: the prefix, and six digits of the number of the call modulo `below`. */
export interface CountedValue {
  readonly prefix: string;
  readonly below: number;
}

export type Value = string | CountedValue;
export type Entry = readonly [key: string, value: Value];

/** Numbers of `RateLimitResponse.Code`. */
export const CODE = { ok: 1, overLimit: 2 } as const;

/** What is asked. Each pattern matches the rules of `rules.ts` in its own way. */
export interface Pattern {
  readonly title: string;
  readonly descriptors: readonly (readonly Entry[])[];
  /** Descriptors that a rule with a limit matches: each adds one hit. */
  readonly limited: number;
  readonly code: (typeof CODE)[keyof typeof CODE];
  /** Number of calls in a row that are the same; 1 without it. */
  readonly callsPerNumber?: number;
}

export const DOMAIN = 'bench';

/** Keys of the pattern `over`; all are driven over their limit before the load. */
export const OVER_KEYS = 1_000;

const USER: Entry = ['user', { prefix: 'user-', below: 100_000 }];

export const PATTERNS = {
  hot: {
    title: 'one hot key',
    descriptors: [[['user', 'user-hottest']]],
    limited: 1,
    code: CODE.ok,
  },
  keys: { title: '100 000 keys', descriptors: [[USER]], limited: 1, code: CODE.ok },
  four: {
    title: '4 descriptors',
    descriptors: [
      [USER],
      [['tenant', { prefix: 'tenant-', below: 1_000 }]],
      [['path', '/checkout']],
      [
        ['path', '/checkout'],
        ['method', 'POST'],
      ],
    ],
    limited: 4,
    code: CODE.ok,
  },
  over: {
    title: 'all over limit',
    descriptors: [
      [
        ['plan', 'free'],
        ['customer', { prefix: 'customer-', below: OVER_KEYS }],
      ],
    ],
    limited: 1,
    code: CODE.overLimit,
  },
  none: {
    title: 'no match',
    descriptors: [[['colour', { prefix: 'colour-', below: 1_000 }]]],
    limited: 0,
    code: CODE.ok,
  },
} as const satisfies Record<string, Pattern>;

export type PatternName = keyof typeof PATTERNS;

/** The holder of a lease: of two calls in a row, whichever comes first takes the lease, and the other one settles it. */
const HOLDER: Entry = ['request', { prefix: 'request-', below: 100_000 }];

/** The pattern with a holder in its only descriptor. */
export function withHolder(pattern: Pattern): Pattern {
  return { ...pattern, descriptors: [[...pattern.descriptors[0], HOLDER]], callsPerNumber: 2 };
}

/** 100 000 keys, spread over so many rules: what differs is the number of rules alone. */
export function routesPattern(rules: number): Pattern {
  return {
    title: '100 000 keys over the rules',
    descriptors: [[['route', { prefix: 'route-', below: rules }], USER]],
    limited: 1,
    code: CODE.ok,
  };
}

/** The request of call `number`. */
export function requestOf(pattern: Pattern, number: number, hitsAddend = 0): RateLimitRequest {
  return requestWith(pattern, hitsAddend, ({ below }) =>
    String(number % below).padStart(COUNTED_DIGITS, '0'),
  );
}

/** The body of call `number` for `/json`. */
export function jsonBodyOf(pattern: Pattern, number: number): string {
  const { domain, descriptors } = requestOf(pattern, number);
  return JSON.stringify({ domain, descriptors: descriptors.map(({ entries }) => ({ entries })) });
}

/** A call of `/check`, as a proxy describes a request that has the descriptors of a pattern. */
export interface CheckRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What a proxy sends besides. */
const USUAL_HEADERS = {
  'x-forwarded-for': '203.0.113.7, 198.51.100.23',
  'x-forwarded-host': 'shop.example',
  'x-forwarded-proto': 'https',
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)',
  accept: '*/*',
};

/** Call `number` of `/check`. The path and the method are those of the request; every other key has a header. */
export function checkRequestOf(pattern: Pattern, number: number): CheckRequest {
  const { domain, descriptors } = requestOf(pattern, number);
  const values = new Map(descriptors.flatMap(({ entries }) => entries.map(({ key, value }) => [key, value])));
  const [path = '', method = 'GET'] = [values.get('path'), values.get('method')];
  const others = [...values].filter(([key]) => key !== 'path' && key !== 'method');
  return {
    method,
    path: `/check/${domain}${path}`,
    headers: { ...USUAL_HEADERS, ...Object.fromEntries(others.map(([key, value]) => [`x-${key}`, value])) },
  };
}

/** The request with the places of its digits, for a generator that fills them in. */
export function templateOf(pattern: Pattern): RequestTemplate {
  const belows: number[] = [];
  // Marks that occur nowhere else, of as many bytes as the digits that take their place.
  const request = requestWith(pattern, 0, ({ below }) => markOf(belows.push(below)));
  const message = Buffer.from(encodeRateLimitRequest(request));
  const counted = belows.map((below, i) => ({ at: message.indexOf(markOf(i + 1)), below }));
  const { callsPerNumber = 1 } = pattern;
  return { path: SHOULD_RATE_LIMIT_PATH, message: message.toString('base64'), counted, callsPerNumber };
}

function markOf(number: number): string {
  return String.fromCharCode(number).repeat(COUNTED_DIGITS);
}

function requestWith(
  pattern: Pattern,
  hitsAddend: number,
  digits: (value: CountedValue) => string,
): RateLimitRequest {
  const text = (value: Value): string =>
    typeof value === 'string' ? value : `${value.prefix}${digits(value)}`;
  const descriptors = pattern.descriptors.map(entries => ({
    entries: entries.map(([key, value]) => ({ key, value: text(value) })),
    limit: null,
    hitsAddend: null,
  }));
  return { domain: DOMAIN, descriptors, hitsAddend };
}
