import type { ObjectSchema } from '../../../../base/schema/schema.ts';
import { bucketName } from '../../../../quota/bucket-registry.ts';
import type { BucketView, LimitView, ProxyView, UsageView } from '../../../../quota/desk-view.ts';
import type { LookAtQuotas, ProcessQuotas } from '../../../../quota/merged-view.ts';
import {
  choice,
  type Fields,
  flag,
  list,
  number,
  object,
  objectSchema,
  objectView,
  optional,
  orNull,
  text,
  time,
  timeText,
  whole,
} from '../fields.ts';
import { rounded } from '../figures.ts';
import { OperatorProblem } from '../problem.ts';
import { type OperatorCall, type OperatorRoute, reads } from '../route.ts';
import { fromBody, fromQuery, QUERY, SELECTOR, type Selector } from './selector.ts';

/** Maximum number of buckets in an answer. */
const MAX_COUNT = 500;
const DEFAULT_COUNT = 100;

/** Maximum number of proxies of each bucket in a list, and of a bucket that is asked for alone. */
const LISTED_PROXIES = 10;
const MAX_PROXIES = 500;

const USAGE: Fields<UsageView> = {
  demand: [
    number('Requests that proxies get. After a burst it falls slowly, because grants follow it.'),
    ({ demand }) => rounded(demand),
  ],
  allowed: [number('By the last two reports of each proxy.'), ({ allowed }) => rounded(allowed)],
  denied: [number(), ({ denied }) => rounded(denied)],
};

const LIMIT: Fields<LimitView> = {
  total: [whole('Hits that the limit allows.'), ({ total }) => total],
  grantable: [
    orNull(
      whole('The part of them that proxies may get; null in shadow mode, in which hits are only counted.'),
    ),
    ({ grantable }) => grantable,
  ],
  seconds: [
    orNull(number('The length of the window; null for a token bucket.')),
    ({ lengthMs }) => lengthMs && lengthMs / 1_000,
  ],
  window_start: [
    orNull(time('Null for a sliding window or a token bucket, and before the first payment in a window.')),
    ({ window }) => window && timeText(window.fromMs),
  ],
  window_end: [orNull(time()), ({ window }) => window && timeText(window.toMs)],
  paid: [
    number(
      'Hits that this process has counted for proxies in the window. Of a sliding window or a token bucket, only those ' +
        'for requests that were not reported.',
    ),
    ({ paid }) => rounded(paid),
  ],
  spent: [
    orNull(
      number('The part of them that proxies have reported. Null for a sliding window or a token bucket.'),
    ),
    ({ spent }) => spent && rounded(spent),
  ],
  unreported: [
    number('The part that grants still allow, or that is used and not reported yet.'),
    ({ unreported }) => rounded(unreported),
  ],
  left: [
    orNull(number('Hits that grants may still get. Null if the store has not said it.')),
    ({ left }) => left && rounded(left),
  ],
  paid_ahead: [
    number('Hits that are paid in windows that have not begun.'),
    ({ paidAhead }) => rounded(paidAhead),
  ],
};

const PROXY: Fields<ProxyView> = {
  peer: [text('The address of the proxy; empty for a unix socket.'), ({ peer }) => peer],
  per_second: [objectSchema(USAGE), usage => objectView(USAGE, usage)],
  told: [
    choice(
      ['nothing', 'token_bucket', 'allow_all', 'deny_all'],
      'The assignment that the proxy was sent last.',
    ),
    ({ told }) => told,
  ],
  tokens: [orNull(whole('Of the token bucket; null without one.')), ({ grant }) => grant?.tokens ?? null],
  interval_seconds: [
    orNull(whole('How often so many tokens are filled in.')),
    ({ grant }) => grant?.intervalS ?? null,
  ],
  ends: [orNull(time('When the token bucket surely ends.')), ({ grant }) => grant && timeText(grant.endMs)],
  reported: [
    orNull(time('The last report; null before the first one was looked at.')),
    ({ reportedMs }) => (reportedMs === 0 ? null : timeText(reportedMs)),
  ],
};

const BUCKET: Fields<BucketView> = {
  domain: [text(), ({ domain }) => domain],
  entries: [
    list(
      object({ key: text(), value: text() }),
      'In the order in which the rules have their keys, as calls for counters and changes take them.',
    ),
    ({ entries }) => entries,
  ],
  verdict: [
    choice(
      ['divided', 'allow_all', 'deny_all'],
      '`divided`: the limits are divided among the proxies. Otherwise the answer for all requests.',
    ),
    ({ verdict }) => verdict,
  ],
  unserved: [
    flag(
      'Whether the rule has leases or a penalty, so that its limits cannot be divided and nothing is limited.',
    ),
    ({ isUnserved }) => isUnserved,
  ],
  per_second: [objectSchema(USAGE), usage => objectView(USAGE, usage)],
  rate: [
    orNull(number('Requests per second that all proxies together may get; null if nothing is divided.')),
    ({ rate }) => rate && rounded(rate),
  ],
  cap: [
    orNull(
      number(
        'Requests per second that no proxy may exceed, so that all get their part. Null if there is enough.',
      ),
    ),
    ({ cap }) => cap && rounded(cap),
  ],
  grant_seconds: [number('How long a grant lasts.'), ({ grantS }) => grantS],
  more_from: [
    orNull(time('When proxies that were denied everything can get something. Null if there are none.')),
    ({ retryMs }) => retryMs && timeText(retryMs),
  ],
  limits: [
    list(objectSchema(LIMIT, { name: 'QuotaLimit' }), 'In the order of the rule.'),
    ({ limits }) => limits.map(limit => objectView(LIMIT, limit)),
  ],
  proxies_total: [whole(), ({ proxyCount }) => proxyCount],
  proxies: [
    list(
      objectSchema(PROXY, { name: 'QuotaProxy' }),
      `With the most demand first: at most ${LISTED_PROXIES}, or ${MAX_PROXIES} if one bucket was asked for.`,
    ),
    ({ proxies }) => proxies.map(proxy => objectView(PROXY, proxy)),
  ],
};

const QUOTAS: ObjectSchema = {
  ...object({
    time: time(),
    complete: flag('False if a thread did not answer in time, so that its streams are missing.'),
    streams: whole('Open streams of proxies.'),
    total: whole('Number of buckets. A bucket that is not listed counts once for each thread that has it.'),
    proxies: whole('Number of proxies, counted once for each of their buckets.'),
    per_second: {
      ...objectSchema(USAGE),
      description: 'Of all these buckets, also of those that are not listed.',
    },
    buckets: list(objectSchema(BUCKET, { name: 'QuotaBucket' }), 'With the most demand first.'),
  }),
  name: 'Quotas',
};

/**
 * `GET /quotas` and `POST /quotas/read`.
 *
 * @param looks null if the counter store cannot grant quotas
 */
export function quotasRoutes(looks: LookAtQuotas | null): OperatorRoute[] {
  /** One look after the other, so that they take a bounded share of the threads. */
  let last: Promise<unknown> = Promise.resolve();
  const look: LookAtQuotas = question => {
    const looked = last.then(() => supported(looks)(question));
    last = looked.catch(() => {});
    return looked;
  };
  const one = async (selector: Selector, nowMs: number) => {
    const { domain, entries } = selector;
    const names = [bucketName(domain, entries)];
    return { json: viewOf(await look({ domain, names, most: 1, mostProxies: MAX_PROXIES }), nowMs) };
  };
  const answer = { description: 'The buckets.', schema: QUOTAS };
  return [
    {
      ...reads(
        '/quotas',
        'listQuotas',
        'List the buckets that proxies report to this process, and their grants',
      ),
      query: {
        domain: optional(QUERY.domain),
        descriptor: optional({
          ...QUERY.descriptor,
          description: 'Only this bucket of the domain: `key=value,key=value`, in any order.',
        }),
        count: optional({ ...whole(), min: 1, max: MAX_COUNT }),
      },
      answer,
      handle: async call => {
        const { query, nowMs } = call;
        if (query['descriptor'] !== undefined) return one(fromQuery(withDomain(call)), nowMs);
        const { domain = null, count: most = DEFAULT_COUNT } = query as { domain?: string; count?: number };
        const looked = await look({ domain, names: null, most, mostProxies: LISTED_PROXIES });
        return { json: viewOf(looked, nowMs) };
      },
    },
    {
      method: 'POST',
      path: '/quotas/read',
      operation: 'readQuota',
      summary: 'Read one bucket that proxies report to this process, by its entries in the body',
      access: 'read',
      body: { type: 'object', properties: SELECTOR },
      answer,
      handle: call => one(fromBody(call), call.nowMs),
    },
  ];
}

function supported(looks: LookAtQuotas | null): LookAtQuotas {
  if (looks !== null) return looks;
  throw new OperatorProblem(
    'not_supported',
    'The counter store cannot grant quotas: set BACKEND_TYPE to redis or memory.',
  );
}

function withDomain(call: OperatorCall): OperatorCall {
  if (call.query['domain'] !== undefined) return call;
  const detail = 'is missing: `descriptor` needs it';
  const errors = [{ parameter: 'domain', code: 'invalid_parameter', detail }];
  throw new OperatorProblem('invalid_parameter', `The parameter domain ${detail}.`, { errors });
}

function viewOf({ view, isComplete }: ProcessQuotas, nowMs: number): object {
  const { streams, totals, buckets } = view;
  return {
    time: timeText(nowMs),
    complete: isComplete,
    streams,
    total: totals.buckets,
    proxies: totals.proxies,
    per_second: objectView(USAGE, totals),
    buckets: buckets.map(bucket => objectView(BUCKET, bucket)),
  };
}
