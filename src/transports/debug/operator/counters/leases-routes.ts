import type { ObjectSchema } from '../../../../base/schema/schema.ts';
import type { Explanation } from '../../../../decision/explain/explain-descriptor.ts';
import { LEASE_ACTIONS } from '../../../../messages/lease-message.ts';
import {
  type Fields,
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
import { OperatorProblem } from '../problem.ts';
import { changes, type OperatorRoute, reads } from '../route.ts';
import { type Counting, countingsOf } from './counters-routes.ts';
import { fromBody, fromQuery, QUERY, REASON, requestOf, SELECTOR, type Selector } from './selector.ts';

/** Lists and releases leases; see `Explainer`. Rejects with a Fault. */
interface LeaseLooks {
  explainLeases(request: Uint8Array, most: number): Promise<Explanation>;
  release(request: Uint8Array): Promise<Explanation>;
}

/** Maximum number of leases in the list of a limit. */
const MOST_LEASES = 100;

/** Maximum number of characters of the id of a holder, as in a request. */
const MAX_HOLDER = 4_096;

/** A limit whose leases were read. */
type Leased = Counting & Required<Pick<Counting, 'leases'>>;

const COMMON: Fields<Leased> = {
  rule: [orNull(text('Domain and entries as configured.')), ({ limit }) => limit.rule],
  name: [text('Empty for none.'), ({ limit }) => limit.name],
  key: [text('The cache key: the name of the counter in the store.'), ({ key }) => key],
};

const LIMIT: Fields<Leased> = {
  ...COMMON,
  requests_per_unit: [whole(), ({ limit }) => limit.requestsPerUnit],
  unit: [text(), ({ limit }) => limit.unit],
  window: [
    optional(text('Absent for one unit. `concurrency` if the limit has no window.')),
    ({ limit }) => limit.window,
  ],
  scale: [
    optional(whole('How many hits one of `requests_per_unit` is worth; absent for 1.')),
    ({ limit }) => limit.scale,
  ],
  spent: [number('Hits that are spent.'), ({ leases }) => leases.spent],
  held: [number('Hits that leases hold.'), ({ leases }) => leases.held],
  count: [
    optional(whole('Number of leases. Absent if the store cannot tell it.')),
    ({ leases }) => leases.count,
  ],
  leases: [
    list(
      object({
        holder: text('Empty for a lease without a holder, which only ends by itself.'),
        hits: number('The hits that it holds; 0 if it began in an earlier window.'),
        ends: time(),
      }),
      `The leases that end first, at most ${MOST_LEASES}.`,
    ),
    ({ leases }) => leases.listed ?? [],
  ],
};

const RELEASED: Fields<Leased> = {
  ...COMMON,
  hits: [number('The hits that the lease held.'), ({ leases }) => leases.frees],
};

function answerSchema(
  name: string,
  limit: Fields<Leased>,
  more: Pick<ObjectSchema, 'properties'>['properties'],
) {
  const common = { domain: text(), time: time(), entries: list(object({ key: text(), value: text() })) };
  const limits = list(objectSchema(limit, { name: `${name}Limit` }));
  return { ...object({ ...common, ...more, limits }), name };
}

const LEASES = answerSchema('Leases', LIMIT, {
  outcome: text('`limited`, or why there are no leases.'),
  why: text(),
});
const RELEASE = answerSchema('ReleasedLeases', RELEASED, { holder: text() });

const HOLDER = {
  type: 'string',
  min: 1,
  max: MAX_HOLDER,
  description: 'The holder, as the list of leases has it.',
} as const;

/** `GET /leases`, `POST /leases/read`, `DELETE /leases` and `POST /leases/release`. */
export function leasesRoutes(looks: LeaseLooks): OperatorRoute[] {
  const read = async (selector: Selector) => {
    const explanation = await looks.explainLeases(requestOf(selector), MOST_LEASES);
    const [{ outcome, why }] = explanation.descriptors;
    return { json: { ...common(explanation), outcome, why, limits: viewOf(explanation, LIMIT, () => true) } };
  };
  const release = async (selector: Selector, holder: string) => {
    const request = requestOf(selector, { id: holder, action: LEASE_ACTIONS.release });
    const before = await looks.release(request);
    const limits = viewOf(before, RELEASED, ({ leases }) => leases.ends);
    if (limits.length === 0) {
      throw new OperatorProblem('not_found', 'The holder has no lease in the limits of this descriptor.');
    }
    const keys = limits.map(({ key, hits }) => `${key} (held ${hits})`).join(', ');
    const json = { ...common(before), holder, limits };
    return { json, audit: { domain: before.domain, holder, counters: keys } };
  };
  const answer = { description: 'The leases of the limits of the descriptor.', schema: LEASES };
  const released = { description: 'The limits in which the holder had a lease.', schema: RELEASE };
  const where = 'in all processes that share the store';
  return [
    {
      ...reads('/leases', 'getLeases', 'List the leases of a descriptor, and their holders'),
      query: QUERY,
      answer,
      handle: call => read(fromQuery(call)),
    },
    {
      method: 'POST',
      path: '/leases/read',
      operation: 'readLeases',
      summary: 'List the leases of a descriptor in the body, and their holders',
      access: 'read',
      body: { type: 'object', properties: SELECTOR },
      answer,
      handle: call => read(fromBody(call)),
    },
    {
      ...changes('DELETE', '/leases', 'deleteLease', `Release the lease of a holder, ${where}`),
      query: { ...QUERY, holder: HOLDER, reason: REASON },
      answer: released,
      handle: call => release(fromQuery(call), String(call.query['holder'])),
    },
    {
      ...changes(
        'POST',
        '/leases/release',
        'releaseLease',
        `Release the lease of a holder in the body, ${where}`,
      ),
      body: { type: 'object', properties: { ...SELECTOR, holder: HOLDER, reason: REASON } },
      answer: released,
      handle: call => release(fromBody(call), String(call.body['holder'])),
    },
  ];
}

function common({ domain, time: at, descriptors: [{ entries }] }: Explanation) {
  return { domain, time: at, entries };
}

/** The limits with leases, in the order of the rule. */
function viewOf(
  explanation: Explanation,
  fields: Fields<Leased>,
  isShown: (limit: Leased) => boolean,
): Record<string, unknown>[] {
  const limits = countingsOf(explanation);
  if (limits.some(({ limit, leases }) => limit.lease !== undefined && leases === undefined)) {
    throw new OperatorProblem('store_unavailable', 'The store could not read the leases.');
  }
  return limits
    .filter((counting): counting is Leased => counting.leases !== undefined)
    .filter(isShown)
    .map(limit => objectView(fields, limit));
}
