import type { SeededRandom } from '../../support/seeded-random.ts';
import type { RandomTenant } from './random-tenants.ts';
import type { Ask, Step } from './step.ts';

const ROLES = ['admin', 'member', 'viewer'] as const;
/** Most of what a person does after a change of their rights is done within this time. */
const SOON_MS = 9_000;

/** A user with a token, which some of its calls may use. */
export function newPerson(random: SeededRandom, { name: tenant, people }: RandomTenant, at: number): Step[] {
  const person = `${tenant}person${people.length + 1}`;
  people.push(person);
  const call = { at, do: 'ask', tenant, method: 'POST' } as const;
  const scopes = random.below(4) === 0 ? random.pick([['tasks:read'], ['tasks:*', 'leases']]) : null;
  return [
    {
      ...call,
      path: 'users',
      body: { email: `${person}@example.com`, role: random.pick(ROLES) },
      labels: [`${person}user`],
    },
    {
      ...call,
      at: at + 500,
      path: `users/{${person}user}/tokens`,
      body: { scopes },
      labels: [`${person}token`],
      gives: person,
    },
  ];
}

/** A person makes some calls, whether or not they may. */
export function personAsks(random: SeededRandom, tenant: RandomTenant, at: number): Step[] {
  const { name, people, labels, workers } = tenant;
  if (people.length === 0) return newPerson(random, tenant, at);
  const worker = random.pick(workers).name;
  const calls: Pick<Ask, 'method' | 'path' | 'body'>[] = [
    { method: 'GET', path: 'tasks?limit=3' },
    { method: 'GET', path: `workers/${worker}` },
    { method: 'POST', path: 'tasks', body: { worker, payload: { deeds: ['ok:5'] } } },
    { method: 'PATCH', path: `workers/${worker}`, body: { headers: { 'x-by': 'person' } } },
    { method: 'GET', path: 'users?limit=5' },
    { method: 'POST', path: `workers/${worker}/secrets`, body: { type: 'token', name: 'puller' } },
    ...labels.slice(-4).map(label => ({ method: 'GET', path: `tasks/{${label}}` }) as const),
    ...labels.slice(-2).map(label => ({ method: 'POST', path: `tasks/{${label}}/cancel` }) as const),
  ];
  const person = random.pick(people);
  return Array.from({ length: 1 + random.below(4) }, () => ({
    ...random.pick(calls),
    ...{ at: at + random.below(SOON_MS), do: 'ask', tenant: name, as: person },
  }));
}

/** Somebody takes or changes the rights of a person, who goes on as before. */
export function changeRights(random: SeededRandom, tenant: RandomTenant, at: number): Step[] {
  const { name, people, workers } = tenant;
  if (people.length === 0) return newPerson(random, tenant, at);
  const person = random.pick(people);
  const user = `users/{${person}user}`;
  const change = (method: Ask['method'], path: string, body?: Ask['body']): Step => {
    return { at, do: 'ask', tenant: name, method, path, ...(body !== undefined && { body }) };
  };
  const changes = [
    change('DELETE', `${user}/tokens/{${person}token}`),
    change('DELETE', user),
    change('PATCH', user, { status: 'disabled' }),
    change('PATCH', user, { status: 'disabled' }),
    change('PATCH', user, { status: 'active' }),
    change('PATCH', user, { role: random.pick(ROLES) }),
    change('PATCH', user, { role: random.pick(ROLES) }),
  ];
  const pulled = workers.find(({ mode }) => mode === 'pull');
  return [
    random.pick(changes),
    ...personAsks(random, { ...tenant, people: [person] }, at),
    ...personAsks(random, { ...tenant, people: [person] }, at),
    ...(pulled === undefined || random.below(2) === 0
      ? []
      : waitingCall(random, name, person, pulled.name, at)),
  ];
}

/** A call waits for tasks while the rights change, and tasks come when that is known everywhere. */
function waitingCall(random: SeededRandom, tenant: string, as: string, worker: string, at: number): Step[] {
  const task = { do: 'ask', tenant, method: 'POST', path: 'tasks', body: { worker } } as const;
  return [
    { at: at - 1_000, do: 'pull', tenant, worker, max: 2, as },
    ...[4_000, 5_000, 6_000].map(ms => ({ ...task, at: at + ms + random.below(3_000) })),
  ];
}
