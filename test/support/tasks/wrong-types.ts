import type { Test } from 'tap';
import type { ObjectSchema, Schema } from '../../../src/base/schema/schema.ts';
import type { Route } from '../../../src/tasks/rest/http/route.ts';
import { type Belongings, pathOf, type TwoTenants } from './two-tenants.ts';

/** JSON texts, one of which is the wrong type in every place. Some have members that JavaScript gives a meaning. */
const VALUES = [
  ...['null', 'true', '0', '-1', '1.5', '1e999', '99999999999999999', '0.10000000000000000001'],
  ...['""', '"x"', '"\\u0000"', '"\\ud800"', '"2026-03-01T10:00:00Z"', '"1h"', '[]', '{}', '[[]]', '[null]'],
  ...['[99999999999999999]', '{"a":99999999999999999}', '[[{"a":[99999999999999999]}]]', '["x",0]'],
  ...['{"toString":1}', '[{"toString":1}]', '{"toJSON":1,"valueOf":null}', '{"__proto__":{"a":1}}'],
  ...['{"length":1000000000}', '{"constructor":{"prototype":1}}', '{"0":"x","":0}', '{"rawJSON":"1"}'],
];

/** Bodies that are accepted: what is put in one place of them is looked at by the handler as well. */
export const BODIES: Readonly<Record<string, (ids: Belongings) => object>> = {
  createTask: ({ worker }) => ({ worker }),
  createTasks: ({ worker }) => ({ tasks: [{ worker }] }),
  updateTask: () => ({ type: 'changed' }),
  patchTask: () => ({ type: 'changed' }),
  actOnTasks: () => ({ action: 'cancel', limit: 1 }),
  createWorker: () => ({ name: 'new' }),
  updateWorker: () => ({ name: 'renamed' }),
  patchWorker: () => ({ name: 'renamed' }),
  createSecret: () => ({ name: 'new' }),
  createUser: () => ({ email: 'new@x.test' }),
  updateUser: () => ({ name: 'changed' }),
  patchUser: () => ({ name: 'changed' }),
  createToken: () => ({ name: 'new' }),
  createSchedule: ({ worker }) => ({ name: 'new', worker, every: '1h' }),
  updateSchedule: () => ({ every: '2h' }),
  patchSchedule: () => ({ every: '2h' }),
  previewSchedule: () => ({ every: '1h' }),
  testWorker: () => ({ payload: { a: 1 } }),
  leaseTasks: () => ({ max: 1 }),
  heartbeatLease: () => ({ progress: 1 }),
  completeLease: () => ({}),
  failLease: () => ({ error: { code: 'a', message: 'a' } }),
  releaseLease: () => ({}),
  settleLeases: ({ lease }) => ({ outcomes: [{ lease_id: lease, outcome: 'complete' }] }),
};

type Place = readonly (string | number)[];

/** Every place that a schema has: the whole, each member, and what arrays and records hold. */
function placesOf(schema: Schema, at: Place = []): Place[] {
  switch (schema.type) {
    case 'object':
      return [
        at,
        ...Object.entries(schema.properties).flatMap(([name, one]) => placesOf(one, [...at, name])),
      ];
    case 'array':
      return [at, ...placesOf(schema.items, [...at, 0])];
    case 'record':
      return [at, ...placesOf(schema.values, [...at, 'a']), [...at, 'no.name[0]~']];
    case 'any':
      return schema.shows === undefined ? [at] : placesOf(schema.shows, at);
    default:
      return [at];
  }
}

const MARK = '"the value"';

/** The text of a body in which the value stands at the place. */
function textWith(body: object, place: Place, value: string): string {
  if (place.length === 0) return value;
  const copy = structuredClone(body);
  let at = copy as Record<string | number, unknown>;
  for (const [i, step] of place.slice(0, -1).entries()) {
    at[step] ??= typeof place[i + 1] === 'number' ? [] : {};
    at = at[step] as Record<string | number, unknown>;
  }
  at[place.at(-1)!] = 'the value';
  return JSON.stringify(copy).replace(MARK, () => value);
}

/** The routes that read a body. */
export function withBody({
  routes,
}: TwoTenants['rest']): readonly (Route & { readonly body: ObjectSchema })[] {
  return routes.filter(route => route.body !== undefined) as (Route & { readonly body: ObjectSchema })[];
}

/**
 * Sends each route a value of each type in each place of its body. Each answer is compared with the document of the service.
 *
 * @param name of the store
 */
export function wrongTypes(t: Test, name: string, open: (t: Test) => Promise<TwoTenants>): void {
  for (const operation of Object.keys(BODIES)) {
    t.test(`${name}, ${operation}: a value of any type in any place is no internal error`, async t => {
      const tenants = await open(t);
      const { mine, rest } = tenants;
      const route = withBody(rest).find(one => one.operation === operation)!;
      const accepted = BODIES[operation](mine);
      // A lease is given at once, whatever `wait` says.
      const tasks = Array.from({ length: 150 }, () => ({ worker: mine.puller }));
      await tenants.ask('POST', '/v1/tasks/batch', { body: { tasks } });
      let asked = 0;
      for (const place of placesOf(route.body)) {
        for (const value of VALUES) {
          const body = textWith(accepted, place, value);
          const { status } = await tenants.ask(route.method, pathOf(route, mine), { body });
          if (status >= 500) t.fail(`${status} for ${body}`);
          asked++;
        }
      }
      t.same(rest.logger.messages('error'), []);
      t.ok(asked >= VALUES.length);
    });
  }
}
