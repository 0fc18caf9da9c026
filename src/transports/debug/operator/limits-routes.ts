import { setImmediate as nextTurn } from 'node:timers/promises';
import { FirstOf } from '../../../base/collections/first-of.ts';
import type { ObjectSchema } from '../../../base/schema/schema.ts';
import { type ExplainedLimit, limitOfRule } from '../../../decision/explain/explain-limit.ts';
import type { RateView, RuleRates } from '../../../decision/statistics/rule-rates.ts';
import type { CompiledRules } from '../../../rules/compiled-rules.ts';
import { LIMIT_FLAG } from '../../../rules/layout.ts';
import { definitionOf } from '../../../rules/words/definition.ts';
import { compiledLimitInWords } from '../../../rules/words/limit-words.ts';
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
} from './fields.ts';
import { FIGURES, figuresView, RATE_POINT, ratePointView } from './figures.ts';
import { OperatorProblem } from './problem.ts';
import { type OperatorCall, type OperatorRoute, reads } from './route.ts';

/** Maximum number of limits in an answer, and of limits that can be reached by paging. A search finds the others. */
const MAX_COUNT = 500;
const MAX_REACHED = 10_000;
const DEFAULT_COUNT = 50;

/** Number of limits to look at before other work may run: less than a millisecond. */
const LIMITS_AT_ONCE = 512;

const MINUTE_SECONDS = 60;

const SORTS = ['refused', 'fullest', 'near_limit', 'hits', 'path', 'rules'] as const;
type Sort = (typeof SORTS)[number];

/** Number of minutes in the small curves of a list. */
const SPARK_MINUTES = 20;
const SPARK = orNull(
  list(
    number(),
    `In each of the last ${SPARK_MINUTES} minutes, the oldest first; the last one has not ended. ` +
      'Null if the history of the limit is not kept.',
  ),
);

export const ALGORITHMS = ['fixed_window', 'sliding_window', 'token_bucket'] as const;

const FULLEST = orNull(
  object(
    {
      share: number('The part of the limit that is used; more than 1 if it is exceeded.'),
      count: orNull(
        whole('The hits. Null if the limit is 0, or if an operator has given the key another limit.'),
      ),
      most: whole('The hits that the limit allows: `burst` of a token bucket.'),
    },
    'The key that is closest to the limit: in its current fixed window, or in the last minute. Null if no key was counted.',
  ),
);

/** A limit of the active rules. */
interface ListedLimit {
  readonly view: RateView;
  readonly number: number;
  readonly path: string;
  readonly domain: string;
  readonly limit: ExplainedLimit;
}

const LIMIT_FIELDS: Fields<ListedLimit> = {
  number: [whole('Changes when rules are loaded.'), ({ number }) => number],
  domain: [text(), ({ domain }) => domain],
  path: [text('Domain and entries, joined by dots, as in `/rlconfig`.'), ({ path }) => path],
  name: [text('Empty for none.'), ({ limit }) => limit.name],
  meaning: [
    text('The limit in words: `at most 20 in each minute`.'),
    ({ view, number }) => compiledLimitInWords(view.rules, number),
  ],
  requests_per_unit: [whole(), ({ limit }) => limit.requestsPerUnit],
  unit: [text(), ({ limit }) => limit.unit],
  window: [
    optional(text('Absent for one unit. `concurrency` if the limit has no window.')),
    ({ limit }) => limit.window,
  ],
  algorithm: [choice(ALGORITHMS), ({ limit }) => limit.algorithm ?? 'fixed_window'],
  burst: [optional(whole()), ({ limit }) => limit.burst],
  unlimited: [flag(), ({ view, number }) => (view.rules.flags(number) & LIMIT_FLAG.unlimited) !== 0],
  shadow_mode: [flag(), ({ limit }) => limit.shadowMode],
  quota_mode: [flag(), ({ limit }) => limit.quotaMode],
  statistics: [text('Prefix of the names of its statistics.'), ({ limit }) => limit.statistics],
  totals: [
    {
      ...FIGURES,
      description: 'Since the process started. Hits under names made from request values are not included.',
    },
    ({ view, number }) => figuresView(view.totals(number)),
  ],
  per_second: [
    { ...FIGURES, description: 'In the last seconds.' },
    ({ view, number }) => figuresView(view.perSecond(number)),
  ],
  last_hour: [FIGURES, ({ view, number }) => figuresView(view.lastHour(number))],
  fullest: [FULLEST, ({ view, number, limit }) => fullestView(view, number, limit)],
  spark: [SPARK, ({ view, number }) => view.lastMinutes(number, 'hits', SPARK_MINUTES)],
  refused_spark: [SPARK, ({ view, number }) => view.lastMinutes(number, 'refused', SPARK_MINUTES)],
};

const DETAIL_FIELDS: Fields<ListedLimit & ReturnType<typeof definitionOf>> = {
  ...LIMIT_FIELDS,
  history: [
    orNull(
      object(
        {
          seconds: whole(),
          points: list(
            RATE_POINT,
            'The minutes of the last hour, the oldest first; fewer after a start. The last one has not ended.',
          ),
        },
        'Null if it is not kept, because too many other limits have hits.',
      ),
    ),
    ({ view, number }) => historyView(view, number),
  ],
  entries: [
    list(
      object({ key: text(), value: text() }),
      'The keys and values of the rule. An empty value matches every value.',
    ),
    ({ entries }) => entries,
  ],
  place: [
    orNull(
      object({ file: text(), line: whole() }, 'Where the rule begins. Null for rules from an xDS server.'),
    ),
    ({ place }) => place,
  ],
  resource: [
    orNull(
      text('The resource of the xDS server, and the server if there are several. Null for rules from files.'),
    ),
    ({ resource }) => resource,
  ],
  overlay: [
    orNull(
      object({ file: text(), line: whole() }, 'The overlay entry that changes the rule. Null if none does.'),
    ),
    ({ overlay }) => overlay,
  ],
  definition: [
    text('A rule file with the rule and those above it, written from the active rules.'),
    ({ text: definition }) => definition,
  ],
};

const LIST_SCHEMA: ObjectSchema = {
  ...object({
    time: time(),
    last_hour_seconds: number(
      'Number of seconds that `last_hour` covers: less than 3600 after a start or a load of rules.',
    ),
    total: whole('Number of limits that match.'),
    offset: whole(),
    limits: list(objectSchema(LIMIT_FIELDS, { name: 'Limit' })),
  }),
  name: 'LimitList',
};

/** `GET /limits` and `GET /limits/:number`. */
export function limitsRoutes(rates: Pick<RuleRates, 'look'>): OperatorRoute[] {
  /** Lists are made one after the other, so that they take a bounded share of the thread. */
  let last: Promise<unknown> = Promise.resolve();
  return [
    {
      ...reads('/limits', 'listLimits', 'List the limits of the active rules with their figures'),
      query: {
        q: optional({ ...text('A part of the path, in any letter case.'), max: 200 }),
        domain: optional({ ...text(), max: 1_000 }),
        path: optional({
          ...text('The whole path. Several limits of a rule have the same path.'),
          max: 4_000,
        }),
        sort: optional(
          choice(
            SORTS,
            'By figures per second, then by totals, the largest first (`refused`, the default, `near_limit`, `hits`); ' +
              'by the share of the `fullest` key; by `path`; or in the order of the `rules`.',
          ),
        ),
        offset: optional({ ...whole(), min: 0, max: MAX_REACHED }),
        count: optional({ ...whole(), min: 1, max: MAX_COUNT }),
      },
      answer: { description: 'The limits.', schema: LIST_SCHEMA },
      handle: call => {
        const listed = last.then(() => listLimits(rates, call));
        last = listed.catch(() => {});
        return listed;
      },
    },
    {
      ...reads(
        '/limits/:number',
        'getLimit',
        'Read one limit with its figures, the minutes of the last hour, and its definition',
      ),
      answer: { description: 'The limit.', schema: objectSchema(DETAIL_FIELDS, { name: 'LimitDetails' }) },
      handle: async ({ params }) => {
        const view = await viewOf(rates);
        const number = /^\d{1,9}$/.test(params['number']) ? Number(params['number']) : view.count;
        if (number >= view.count)
          throw new OperatorProblem('not_found', 'There is no limit with this number.');
        const listed = listedLimit(view, number, domainsOf(view.rules));
        return { json: objectView(DETAIL_FIELDS, { ...listed, ...definitionOf(view.rules, number) }) };
      },
    },
  ];
}

async function viewOf(rates: Pick<RuleRates, 'look'>): Promise<RateView> {
  const view = await rates.look();
  if (view === null) throw new OperatorProblem('no_rules', 'No rules are loaded yet.');
  return view;
}

async function listLimits(
  rates: Pick<RuleRates, 'look'>,
  { query }: OperatorCall,
): Promise<{ json: unknown }> {
  const view = await viewOf(rates);
  const { offset = 0, count = DEFAULT_COUNT, sort = 'refused' } = query as Record<string, never>;
  const { total, first } = await matching(view, query, {
    sort,
    wanted: Math.min(offset + count, MAX_REACHED),
  });
  const domains = domainsOf(view.rules);
  return {
    json: {
      time: timeText(view.atMs),
      last_hour_seconds: view.hourSeconds,
      total,
      offset,
      limits: first.slice(offset).map(limit => objectView(LIMIT_FIELDS, listedLimit(view, limit, domains))),
    },
  };
}

/** The number of limits that match the query, and the `wanted` first ones in the order of `sort`. */
async function matching(
  view: RateView,
  query: OperatorCall['query'],
  { sort, wanted }: { readonly sort: Sort; readonly wanted: number },
): Promise<{ readonly total: number; readonly first: readonly number[] }> {
  const { rules } = view;
  const part = String(query['q'] ?? '').toLowerCase();
  const head = query['domain'] === undefined ? '' : `${query['domain']}.`;
  const whole = query['path'];
  const first = new FirstOf(wanted, orderOf(view, sort));
  let total = 0;
  for (let limit = 0; limit < view.count; limit++) {
    if (limit % LIMITS_AT_ONCE === LIMITS_AT_ONCE - 1) await nextTurn();
    if (part !== '' || head !== '' || whole !== undefined) {
      const path = rules.path(limit);
      if (whole !== undefined && path !== whole) continue;
      if (!path.startsWith(head) || !path.toLowerCase().includes(part)) continue;
    }
    total++;
    first.add(limit);
  }
  return { total, first: first.sorted() };
}

/** Negative if the first limit comes before the second one. Equal limits are in the order of the rules. */
function orderOf(view: RateView, sort: Sort): (a: number, b: number) => number {
  if (sort === 'rules') return (a, b) => a - b;
  if (sort === 'path') return byPath(view.rules);
  if (sort === 'fullest') return byFullest(view);
  const figure = sort === 'near_limit' ? 'nearLimit' : sort;
  return (a, b) =>
    view.rateOf(b, figure) - view.rateOf(a, figure) ||
    view.totalOf(b, figure) - view.totalOf(a, figure) ||
    a - b;
}

/** Limits without a counted key are last. Sliding windows and buckets are full at 1, so those are ordered by refusals. */
function byFullest(view: RateView): (a: number, b: number) => number {
  const shareOf = (limit: number): number => view.fullest(limit)?.share ?? -1;
  return (a, b) => shareOf(b) - shareOf(a) || view.rateOf(b, 'refused') - view.rateOf(a, 'refused') || a - b;
}

function byPath(rules: CompiledRules): (a: number, b: number) => number {
  const known = new Map<number, string>();
  const pathOf = (limit: number): string => {
    let path = known.get(limit);
    if (path === undefined) {
      if (known.size === 2 * MAX_REACHED) known.clear();
      path = rules.path(limit);
      known.set(limit, path);
    }
    return path;
  };
  return (a, b) => {
    const [one, other] = [pathOf(a), pathOf(b)];
    return one < other ? -1 : one > other ? 1 : a - b;
  };
}

function domainsOf(rules: CompiledRules): ReadonlySet<string> {
  return new Set(rules.domainNames());
}

function listedLimit(view: RateView, number: number, domains: ReadonlySet<string>): ListedLimit {
  const { rules } = view;
  const path = rules.path(number);
  const limit = limitOfRule(rules, { limit: number, metricKey: rules.statisticsPath(number) });
  return { view, number, path, domain: domainOf(path, domains), limit };
}

function historyView(view: RateView, number: number): Record<string, unknown> | null {
  const points = view.minutes(number);
  return points === null ? null : { seconds: MINUTE_SECONDS, points: points.map(ratePointView) };
}

function fullestView(
  view: RateView,
  number: number,
  { burst, requestsPerUnit, scale = 1 }: ExplainedLimit,
): Record<string, unknown> | null {
  const most = burst ?? requestsPerUnit * scale;
  const fullest = view.fullest(number);
  if (fullest === null) return null;
  const { share, isOverridden } = fullest;
  return {
    share: Math.round(share * 10_000) / 10_000,
    count: isOverridden || most === 0 ? null : Math.round(share * most),
    most,
  };
}

/** Domains and entries may contain dots: the longest domain that the path begins with. */
function domainOf(path: string, domains: ReadonlySet<string>): string {
  for (let dot = path.lastIndexOf('.'); dot > 0; dot = path.lastIndexOf('.', dot - 1)) {
    const head = path.slice(0, dot);
    if (domains.has(head)) return head;
  }
  return path;
}
