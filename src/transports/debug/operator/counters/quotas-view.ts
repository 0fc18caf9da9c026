import type { ObjectSchema } from '../../../../base/schema/schema.ts';
import type { BucketView, LimitView, ProxyView, UsageView } from '../../../../quota/desk-view.ts';
import type { ProcessQuotas } from '../../../../quota/merged-view.ts';
import {
  choice,
  type Fields,
  flag,
  list,
  number,
  object,
  objectSchema,
  objectView,
  orNull,
  text,
  time,
  timeText,
  whole,
} from '../fields.ts';
import { rounded } from '../figures.ts';

/** Maximum number of proxies of each bucket in a list, and of a bucket that is asked for alone. */
export const LISTED_PROXIES = 10;
export const MAX_PROXIES = 500;

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
  tokens: [
    orNull(whole('Tokens of the token bucket. Null if the proxy has no token bucket.')),
    ({ grant }) => grant?.tokens ?? null,
  ],
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

/** The schema of what {@link quotasView} returns. */
export const QUOTAS: ObjectSchema = {
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

/** The quotas of a process, for an answer. */
export function quotasView({ view, isComplete }: ProcessQuotas, nowMs: number): object {
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
