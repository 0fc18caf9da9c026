import { SECOND_MS } from '../../../../base/clock.ts';
import type { ObjectSchema } from '../../../../base/schema/schema.ts';
import type { DescriptorExplanation, Explanation } from '../../../../decision/explain/explain-descriptor.ts';
import type { ExplainedCounting, ExplainedLimit } from '../../../../decision/explain/explain-limit.ts';
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
  whole,
} from '../fields.ts';
import { ALGORITHMS } from '../limits-routes.ts';
import { OperatorProblem } from '../problem.ts';
import { changes, type OperatorRoute, reads } from '../route.ts';
import { fromBody, fromQuery, QUERY, REASON, requestOf, SELECTOR, type Selector } from './selector.ts';

/** Reads and resets the counters of a request; see `Explainer`. Rejects with a Fault. */
interface CounterLooks {
  explain(request: Uint8Array): Promise<Explanation>;
  explainAt(nowMs: number, request: Uint8Array): Promise<Explanation>;
  reset(request: Uint8Array): Promise<Explanation>;
}

/** Maximum number of past windows of a counter. */
const PAST_WINDOWS = 2;

/** A counter, and how many hits its limit allows at the moment, in units of `requests_per_unit`. */
interface CounterSource extends Counting {
  readonly most: number;
  readonly scale: number;
  readonly past: readonly PastWindow[];
}

const COUNTER: Fields<CounterSource> = {
  rule: [orNull(text('Domain and entries as configured.')), ({ limit }) => limit.rule],
  name: [text('Empty for none.'), ({ limit }) => limit.name],
  key: [text('The cache key: the name of the counter in the store.'), ({ key }) => key],
  algorithm: [choice(ALGORITHMS), ({ limit }) => limit.algorithm ?? 'fixed_window'],
  requests_per_unit: [whole(), ({ limit }) => limit.requestsPerUnit],
  unit: [text(), ({ limit }) => limit.unit],
  window: [
    optional(text('Absent for one unit. `concurrency` if the limit has no window.')),
    ({ limit }) => limit.window,
  ],
  burst: [optional(whole()), ({ limit }) => limit.burst],
  shadow_mode: [flag(), ({ limit }) => limit.shadowMode],
  count: [
    orNull(
      number(
        'Hits in the window, or whole hits that a token bucket lacks. Of a limit with a `scale`, how many of ' +
          '`requests_per_unit` they are worth. Null if the store could not read the count.',
      ),
    ),
    ({ count, scale }) => (count == null ? null : count.now / scale),
  ],
  spent: [
    optional(number('The part of `count` that is spent. Only of limits with leases.')),
    ({ leases, scale }) => leases && leases.spent / scale,
  ],
  held: [
    optional(number('The part of `count` that leases hold.')),
    ({ leases, scale }) => leases && leases.held / scale,
  ],
  leases: [
    optional(whole('Number of leases; `GET /leases` lists them. Absent if the store cannot tell it.')),
    ({ leases }) => leases?.count,
  ],
  first_lease_ends: [
    optional(orNull(time('When the first lease ends. Null without leases.'))),
    ({ leases }) => leases?.firstEnds,
  ],
  remaining: [
    orNull(number('Hits that still fit.')),
    ({ count, most, scale }) => (count == null ? null : Math.max(Math.floor(most - count.now / scale), 0)),
  ],
  over: [
    orNull(flag('No hit fits.')),
    ({ count, most, scale }) => (count == null ? null : count.now / scale >= most),
  ],
  window_start: [optional(time()), ({ window }) => window?.start],
  window_end: [optional(time()), ({ window }) => window?.end],
  reset_seconds: [optional(number()), ({ window }) => window?.resetSeconds],
  class: [
    optional(
      text(
        'The class of the descriptor, if the limit has it. `remaining` and `over` are those of the class.',
      ),
    ),
    ({ class: own }) => own?.name ?? undefined,
  ],
  level: [optional(text('What a limit holds that is no plain count.')), ({ level }) => level],
  violations: [
    optional(whole('Of a limit with a penalty: violations since the last penalty.')),
    ({ penalty }) => penalty?.violations,
  ],
  penalties: [optional(whole('Penalties so far.')), ({ penalty }) => penalty?.penalties],
  penalized_until: [
    optional(orNull(time('The end of the penalty. Null if the key is not penalized.'))),
    ({ penalty }) => penalty?.penalizedUntil,
  ],
  past: [
    optional(
      list(
        object({ start: time(), end: time(), count: number() }),
        'Windows before, the latest first, if the store still has their counts.',
      ),
    ),
    ({ past }) => (past.length > 0 ? past : undefined),
  ],
};

const COUNTERS: ObjectSchema = {
  ...object({
    domain: text(),
    time: time(),
    entries: list(object({ key: text(), value: text() })),
    outcome: text('`limited`, or why there are no counters.'),
    why: text(),
    counters: list(objectSchema(COUNTER, { name: 'Counter' })),
  }),
  name: 'Counters',
};

/** `GET /counters`, `POST /counters/read`, `DELETE /counters` and `POST /counters/reset`. */
export function countersRoutes(looks: CounterLooks): OperatorRoute[] {
  const read = async (selector: Selector) => ({ json: await readCounters(looks, selector) });
  const reset = async (selector: Selector) => {
    const before = await looks.reset(requestOf(selector));
    const counters = countingsOf(before);
    if (counters.length === 0) {
      throw new OperatorProblem('not_found', `There are no counters to reset: ${before.descriptors[0].why}.`);
    }
    const keys = counters.map(({ key, count }) => `${key} (was ${count?.now ?? 'unknown'})`).join(', ');
    if (counters.some(({ count }) => count == null)) {
      throw new OperatorProblem('store_unavailable', `The store could not reset all of: ${keys}.`);
    }
    return { json: viewOf(before), audit: { domain: before.domain, counters: keys } };
  };
  const answer = { description: 'The counters of the descriptor.', schema: COUNTERS };
  const before = { description: 'The counters as they were before the reset.', schema: COUNTERS };
  return [
    {
      ...reads('/counters', 'getCounters', 'Read the counters of a descriptor; nothing is counted'),
      query: QUERY,
      answer,
      handle: call => read(fromQuery(call)),
    },
    {
      method: 'POST',
      path: '/counters/read',
      operation: 'readCounters',
      summary: 'Read the counters of a descriptor in the body; nothing is counted',
      access: 'read',
      body: { type: 'object', properties: SELECTOR },
      answer,
      handle: call => read(fromBody(call)),
    },
    {
      ...changes(
        'DELETE',
        '/counters',
        'deleteCounters',
        'Reset the counters of a descriptor, in all processes that share the store',
      ),
      query: { ...QUERY, reason: REASON },
      answer: before,
      handle: call => reset(fromQuery(call)),
    },
    {
      ...changes(
        'POST',
        '/counters/reset',
        'resetCounters',
        'Reset the counters of a descriptor in the body, in all processes that share the store',
      ),
      body: { type: 'object', properties: { ...SELECTOR, reason: REASON } },
      answer: before,
      handle: call => reset(fromBody(call)),
    },
  ];
}

async function readCounters(looks: CounterLooks, selector: Selector): Promise<object> {
  const request = requestOf(selector);
  const now = await looks.explain(request);
  const past = await Promise.all(countingsOf(now).map((counting, i) => pastOf(looks, request, counting, i)));
  return viewOf(now, past);
}

export interface Counting extends Partial<ExplainedCounting> {
  readonly limit: ExplainedLimit;
}

/** The limits that count, in the order of the rule. */
export function countingsOf({ descriptors: [descriptor] }: Explanation): readonly Counting[] {
  const all = descriptor.limits ?? (hasLimit(descriptor) ? [descriptor] : []);
  return all.filter(({ key }) => key !== undefined);
}

function hasLimit(descriptor: DescriptorExplanation): descriptor is DescriptorExplanation & Counting {
  return descriptor.limit !== undefined;
}

interface PastWindow {
  readonly start: string;
  readonly end: string;
  readonly count: number;
}

/** The windows before the current one of the limit with index `i`, as long as the store has hits of them. */
async function pastOf(
  looks: CounterLooks,
  request: Uint8Array,
  { limit, window }: Counting,
  i: number,
): Promise<PastWindow[]> {
  const past: PastWindow[] = [];
  // The state of a sliding window has the hits of the window before; `level` tells them.
  const { penalty, classes, lease, scale = 1 } = limit;
  const isAdmitted = [penalty, classes, lease].some(field => field !== undefined);
  const hasOneKey = (limit.algorithm ?? 'fixed_window') !== 'fixed_window' || isAdmitted;
  if (window === undefined || hasOneKey) return past;
  let start = window.start;
  for (let back = 0; back < PAST_WINDOWS; back++) {
    const then = countingsOf(await looks.explainAt(Date.parse(start) - SECOND_MS, request))[i];
    const count = then?.count?.now ?? 0;
    if (then?.window === undefined || count === 0) break;
    past.push({ start: then.window.start, end: then.window.end, count: count / scale });
    start = then.window.start;
  }
  return past;
}

/** @param past the windows before, for each counter */
function viewOf(explanation: Explanation, past: readonly (readonly PastWindow[])[] = []): object {
  const { domain, time, descriptors } = explanation;
  const [{ entries, outcome, why }] = descriptors;
  const counters = countingsOf(explanation).map((counting, i) => counterView(counting, past[i]));
  return { domain, time, entries, outcome, why, counters };
}

function counterView(counting: Counting, past: readonly PastWindow[] = []): Record<string, unknown> {
  const { limit, class: own, penalty } = counting;
  const { scale = 1 } = limit;
  const whole = limit.algorithm === 'token_bucket' ? (limit.burst ?? 0) : limit.requestsPerUnit;
  // Without a class, operators ask for the counter, and not for the share of other requests.
  const most = own === undefined || own.name === null ? whole : own.most / scale;
  return objectView(COUNTER, { ...counting, past, scale, most: penalty?.penalizedUntil == null ? most : 0 });
}
