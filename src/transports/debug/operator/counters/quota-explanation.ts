import type { ObjectSchema } from '../../../../base/schema/schema.ts';
import type { BucketExplanation } from '../../../../quota/explain-bucket.ts';
import type { LimitFacts } from '../../../../quota/prepaid-limit.ts';
import {
  choice,
  type Fields,
  list,
  number,
  object,
  objectSchema,
  objectView,
  orNull,
  text,
  whole,
} from '../fields.ts';
import { rounded } from '../figures.ts';

/** Why a bucket gets its verdict, as sentences. */
const WHY: Readonly<Record<BucketExplanation['reason'], string>> = {
  divided: 'the limits are divided among the proxies that report the bucket',
  shadow: 'the limits are in shadow mode, so requests are counted and never denied',
  no_room: 'a limit allows no requests',
  unserved: 'the rule has leases or a penalty, which proxies cannot share, so nothing limits the bucket',
  banned: 'an operator has banned the bucket',
  passed: 'an operator lets the bucket pass',
  no_limit:
    'no limit applies to these values; `sluice explain` without `--bucket` shows the way through the rules',
  ambiguous: 'rules of the domain have these keys in several orders, so no rule has the bucket',
  beyond:
    'no rule with these keys is known; of a domain with very many lists of keys, later ones have no buckets',
  no_keys: 'no rule of the domain has exactly these keys',
};

const LIMIT: Fields<LimitFacts> = {
  total: [whole('Hits that the limit allows.'), ({ total }) => total],
  grantable: [
    orNull(whole('The part of them that proxies may get; null in shadow mode.')),
    ({ grantable }) => finite(grantable),
  ],
  seconds: [
    orNull(number('The length of the window; null for a token bucket.')),
    ({ lengthMs }) => finite(lengthMs / 1_000),
  ],
};

const EXPLANATION: Fields<BucketExplanation> = {
  entries: [
    list(object({ key: text(), value: text() }), 'In the order in which the rules have the keys.'),
    ({ entries }) => entries.map(({ key, value }) => ({ key, value })),
  ],
  verdict: [
    choice(['divided', 'allow_all', 'deny_all'], 'As in the list of buckets.'),
    ({ verdict }) => verdict,
  ],
  reason: [choice(Object.keys(WHY), 'Why it gets this verdict.'), ({ reason }) => reason],
  why: [text('The reason as a sentence.'), ({ reason }) => WHY[reason]],
  rate: [
    orNull(number('Requests per second that all proxies together would get; null if nothing is divided.')),
    ({ rate }) => rate && rounded(rate),
  ],
  grant_seconds: [number('How long a grant would last; 0 without limits.'), ({ grantS }) => grantS],
  limits: [
    list(objectSchema(LIMIT, { name: 'ExplainedQuotaLimit' }), 'In the order of the rule.'),
    ({ limits }) => limits.map(limit => objectView(LIMIT, limit)),
  ],
};

/** The schema of what {@link explanationView} returns. */
export const QUOTA_EXPLANATION: ObjectSchema = objectSchema(EXPLANATION, { name: 'QuotaExplanation' });

/** What a bucket would get, for an answer. */
export function explanationView(explanation: BucketExplanation): object {
  return objectView(EXPLANATION, explanation);
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
