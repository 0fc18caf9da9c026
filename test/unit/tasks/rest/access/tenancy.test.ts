import t, { type Test } from 'tap';
import type { Schema } from '../../../../../src/base/schema/schema.ts';
import { newToken } from '../../../../../src/tasks/rest/access/api-token.ts';
import type { Route } from '../../../../../src/tasks/rest/http/route.ts';
import { type Answered, type Asked, problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import {
  type Belongings,
  LISTS,
  NOBODYS,
  pathOf,
  SEGMENTS,
  TwoTenants,
} from '../../../../support/tasks/two-tenants.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(() => TwoTenants.open());

type Ids = Readonly<Record<keyof typeof NOBODYS, string>>;

/** A way in which a request can name something beside its path: a body or a query that is right but for the id. */
interface Naming {
  readonly body?: (ids: Ids) => object;
  readonly query?: (ids: Ids) => string;
}

/** Bodies that their schemas accept, where an empty one is not. */
const BODIES: Readonly<Record<string, (ids: Ids) => object>> = {
  createTask: ids => ({ worker: ids.worker }),
  createTasks: ids => ({ tasks: [{ worker: ids.worker }] }),
  actOnTasks: ids => ({ action: 'cancel', ids: [ids.task] }),
  createWorker: () => ({ name: 'another' }),
  createUser: () => ({ email: 'another@example.com' }),
  createSchedule: ids => ({ name: 'another', worker: ids.worker, every: '1h' }),
  failLease: () => ({ error: { code: 'broken', message: 'broken' } }),
  settleLeases: ids => ({ outcomes: [{ lease_id: ids.lease, outcome: 'complete' }] }),
};

/** Bodies of a worker that name another one. */
function onFinishes(rest: object): readonly Naming[] {
  return [
    { body: ids => ({ ...rest, on_finish: { worker: ids.worker } }) },
    { body: ids => ({ ...rest, on_finish: { worker: ids.workerName } }) },
  ];
}

/** How each route can be told an id or a name of somebody else, beside its path. */
const NAMINGS: Readonly<Record<string, readonly Naming[]>> = {
  createTask: [{ body: BODIES['createTask'] }, { body: ids => ({ worker: ids.workerName }) }],
  createTasks: [
    { body: BODIES['createTasks'] },
    { body: ids => ({ tasks: [{ worker: ids.workerName }], atomic: true }) },
  ],
  actOnTasks: [
    ...['retry', 'cancel', 'pause', 'resume', 'run', 'delete'].map(action => ({
      body: (ids: Ids) => ({ action, ids: [ids.task] }),
    })),
    { body: ids => ({ action: 'cancel', ids: [ids.task], dry_run: true }) },
    { body: ids => ({ action: 'cancel', filter: { worker: ids.worker } }) },
    { body: ids => ({ action: 'cancel', filter: { worker: ids.workerName } }) },
    { body: ids => ({ action: 'delete', filter: { schedule: ids.schedule } }) },
  ],
  listTasks: [
    { query: ids => `worker=${ids.worker}` },
    { query: ids => `worker=${ids.workerName}&include=payload` },
    { query: ids => `schedule=${ids.schedule}` },
    { query: ids => `schedule=${ids.scheduleName}` },
  ],
  countTasks: [{ query: ids => `worker=${ids.worker}` }, { query: ids => `worker=${ids.workerName}` }],
  getUsage: [{ query: ids => `worker=${ids.worker}` }, { query: ids => `worker=${ids.workerName}` }],
  createWorker: onFinishes({ name: 'another' }),
  updateWorker: onFinishes({}),
  patchWorker: onFinishes({}),
  createSchedule: [
    { body: BODIES['createSchedule'] },
    { body: ids => ({ name: 'another', worker: ids.workerName, every: '1h' }) },
  ],
  settleLeases: ['complete', 'fail', 'release'].map(outcome => ({
    body: ids => ({
      outcomes: [{ lease_id: ids.lease, outcome, ...(outcome === 'fail' && { error: BROKEN }) }],
    }),
  })),
};
const BROKEN = { code: 'broken', message: 'broken' };

/** Names in bodies and queries that can hold what is a tenant's. A new one belongs here, and into {@link NAMINGS}. */
const NAMING = new Set(['worker', 'schedule', 'ids', 'lease_id', 'tasks', 'filter', 'outcomes', 'cursor']);
/** And those that cannot. */
const PLAIN = new Set(
  (
    'type payload headers priority timeout retry tags metadata run_at expires_at expires_in delay key tag by on_conflict ' +
    'key_ttl status atomic action limit dry_run start end range order include force cancel_tasks name mode url method lease ' +
    'concurrency rate no_retry_on paused pause_reason resume_at auto_pause value expire_previous_in max wait instance ' +
    'extend progress note result error code message details retry_after outcome email role external_id scopes task ' +
    'cron every phase timezone overlap catch_up dst after per burst ' +
    'window gap jitter start_at end_at max_runs count from task_urls group group_concurrency group_order domain descriptor payload_base64 content_type ' +
    'on_finish events'
  ).split(' '),
);

function fieldNames(schema: Schema | undefined): string[] {
  if (schema?.type === 'object') {
    return Object.entries(schema.properties).flatMap(([name, field]) => {
      // What a request may only repeat names nothing.
      if (field.type === 'any' && field.readOnly === true) return [];
      // Its `schedule` is a list of waits.
      return name === 'retry' ? [name] : [name, ...fieldNames(field)];
    });
  }
  return schema?.type === 'array' ? fieldNames(schema.items) : [];
}

/** An answer without what the request itself said, and without its own id and time. */
function told({ status, body, headers }: Answered, said: readonly string[]): string {
  let text = `${status} ${JSON.stringify({ ...headers, 'X-Request-Id': '' })} ${body}`;
  for (const one of said) text = text.replaceAll(one, '<said>');
  return text.replaceAll(/req_\w{26}/g, '<request>');
}

function saidBy(asked: string): string[] {
  return asked.match(/\w{3}_[0-9A-Z]{26}|[0-9a-f]{32}|7{32}|no-such-\w+|zebra-(?:mailer|nightly)/g) ?? [];
}

/** The same request with what is theirs and with what is nobody's: both are told the same, and nothing of theirs. */
async function compare(
  t: Test,
  tenants: TwoTenants,
  route: Route,
  requestWith: (ids: Ids) => { readonly target: string; readonly body?: object | undefined },
  asked: Asked = {},
): Promise<Answered> {
  const answers: string[] = [];
  let last: Answered | undefined;
  for (const ids of [tenants.theirs, NOBODYS]) {
    const { target, body } = requestWith(ids);
    last = await tenants.ask(route.method, target, { ...asked, ...(body && { body }) });
    answers.push(told(last, saidBy(target + JSON.stringify(body ?? ''))));
  }
  t.equal(answers[0], answers[1], `${route.operation} tells no difference`);
  checkNothingOfTheirs(t, tenants.theirs, answers[0], route.operation);
  return last!;
}

function checkNothingOfTheirs(t: Test, theirs: Belongings, text: string, name: string): void {
  const { cursors: _, ...ids } = theirs;
  const found = ['zebra', ...Object.values(ids)].filter(one => text.includes(one));
  t.same(found, [], `${name} tells nothing of theirs`);
}

function bodyOf(route: Route, ids: Ids): object | undefined {
  if (route.method === 'GET' || route.method === 'DELETE') return undefined;
  return BODIES[route.operation]?.(ids) ?? {};
}

t.test('each route, field and parameter has been looked at', async t => {
  const { routes } = new TaskHarness();
  for (const route of routes) {
    t.doesNotThrow(() => pathOf(route, NOBODYS), route.path);
    const names = [...Object.keys(route.query ?? {}), ...fieldNames(route.body)];
    const unknown = names.filter(name => !NAMING.has(name) && !PLAIN.has(name));
    t.same(unknown, [], `${route.operation}: can these fields name what is another tenant's?`);
    const naming = names.filter(name => NAMING.has(name) && name !== 'cursor');
    const updates = /^(update|patch)Schedule$/.test(route.operation);
    if (naming.length > 0 && !updates) t.ok(NAMINGS[route.operation], `${route.operation} has a case`);
  }
  t.same(
    Object.keys(NAMINGS).sort(),
    routes
      .map(r => r.operation)
      .filter(name => name in NAMINGS)
      .sort(),
  );
  const lists = routes.filter(route => route.query !== undefined && 'cursor' in route.query);
  t.same(lists.map(route => route.operation).sort(), Object.keys(LISTS).sort(), 'each list has a case');
});

test('what is in the path and another tenant’s is as if it were nobody’s', async (tenants, t) => {
  const before = await tenants.stateOfTheirs();
  for (const route of tenants.rest.routes) {
    const segments = Object.keys(SEGMENTS).filter(segment => route.path.includes(segment));
    for (const segment of segments) {
      const kind = SEGMENTS[segment];
      const answer = await compare(t, tenants, route, ids => ({
        target: pathOf(route, { ...tenants.mine, [kind]: ids[kind] }),
        body: bodyOf(route, tenants.mine),
      }));
      const expected = kind === 'lease' ? 'lease_lost' : 'not_found';
      t.equal(answer.json.code, expected, `${route.operation} ${segment}`);
    }
    if (segments.length < 2) continue;
    await compare(t, tenants, route, ids => ({ target: pathOf(route, ids), body: bodyOf(route, ids) }));
  }
  for (const [path, name] of [['workers', 'workerName'] as const, ['schedules', 'scheduleName'] as const]) {
    const reading = tenants.rest.routes.find(r => r.method === 'GET' && r.path === `/v1/${path}/:id`)!;
    const answer = await compare(t, tenants, reading, ids => ({ target: `/v1/${path}/${ids[name]}` }));
    t.equal(answer.status, 404);
  }
  t.equal(await tenants.stateOfTheirs(), before, 'nothing of theirs has changed');
});

test('what is in a body or a query and another tenant’s is as if it were nobody’s', async (tenants, t) => {
  const before = await tenants.stateOfTheirs();
  for (const route of tenants.rest.routes) {
    for (const { body, query } of NAMINGS[route.operation] ?? []) {
      await compare(t, tenants, route, ids => ({
        target: `${pathOf(route, tenants.mine)}${query === undefined ? '' : `?${query(ids)}`}`,
        body: body?.(ids),
      }));
    }
  }
  for (const method of ['PUT', 'PATCH'] as const) {
    const route = tenants.rest.routes.find(r => r.method === method && r.path === '/v1/schedules/:id')!;
    const target = pathOf(route, tenants.mine);
    await compare(t, tenants, route, ids => ({ target, body: { worker: ids.worker } }));
    await compare(t, tenants, route, ids => ({ target, body: { worker: ids.workerName } }));
  }
  t.equal(await tenants.stateOfTheirs(), before, 'nothing of theirs has changed');
});

test('tokens of another tenant are as good as none that ever was, at every route', async (tenants, t) => {
  const { mine, theirs } = tenants;
  const before = await tenants.stateOfTheirs();
  const bytes = Buffer.alloc(32, 3);
  const nobodys = { tk: newToken('tk', 'acme', () => bytes), wkt: newToken('wkt', 'acme', () => bytes) };
  for (const route of tenants.rest.routes) {
    const ask = (asked: Asked, ids: Ids) => {
      const body = bodyOf(route, ids);
      return tenants.ask(route.method, pathOf(route, ids), { ...asked, ...(body && { body }) });
    };
    const expected = told(await ask({ token: nobodys.tk }, mine), []);
    t.match(expected, /^401 .*"invalid_token"/);
    const others: [string, Asked, Ids][] = [
      ['a user’s token of theirs', { token: theirs.token }, mine],
      ['a worker’s token of theirs', { token: theirs.workerToken }, mine],
      ['a worker’s token that never was', { token: nobodys.wkt }, mine],
      ['their token for what is theirs, at my host', { token: theirs.token }, theirs],
      ['my token at their host', { host: theirs.host }, theirs],
      ['my worker’s token at their host', { host: theirs.host, token: mine.workerToken }, theirs],
      [
        'a token that names me and never was, at a plain host',
        { host: '127.0.0.1', token: nobodys.tk },
        mine,
      ],
      [
        'their domain in a header that is not enabled',
        { token: theirs.token, headers: { 'x-tenant-domain': theirs.domain } },
        theirs,
      ],
    ];
    for (const [name, asked, ids] of others) {
      t.equal(told(await ask(asked, ids), []), expected, `${route.operation}: ${name}`);
    }
  }
  t.equal(await tenants.stateOfTheirs(), before, 'nothing of theirs has changed');
});

test('a worker’s token is for the leases of this worker, and for nothing else of its own tenant', async (tenants, t) => {
  const { mine, rest } = tenants;
  const asked = { token: mine.token, host: mine.host };
  const other = await rest.made('workers', { name: 'other' }, asked);
  const made = await rest.made(`workers/${other.id}/secrets`, { type: 'token' }, asked);
  for (const route of rest.routes) {
    const body = bodyOf(route, mine);
    const request = { token: made.value, ...(body && { body }) };
    const answer = await tenants.ask(route.method, pathOf(route, mine), request);
    if (route.operation === 'settleLeases') t.equal(answer.json.results[0].error.code, 'lease_lost');
    else if (route.path.startsWith('/v1/leases/')) t.equal(answer.json.code, 'lease_lost', route.path);
    else if (route.operation === 'leaseTasks') t.equal(answer.json.code, 'insufficient_scope');
    else t.equal(answer.json?.code, 'insufficient_role', route.operation);
  }
});

test('a cursor is good for its own list of its own tenant', async (tenants, t) => {
  const { mine, theirs, rest } = tenants;
  for (const route of rest.routes.filter(({ operation }) => operation in LISTS)) {
    const target = pathOf(route, mine);
    const go = (cursor: string) => tenants.ask('GET', `${target}?limit=1&cursor=${cursor}`);
    t.equal((await go(mine.cursors[route.operation])).status, 200, route.operation);
    const refused = [...Object.values(theirs.cursors), ...Object.values(mine.cursors)];
    for (const cursor of refused.filter(one => one !== mine.cursors[route.operation])) {
      const answer = await go(cursor);
      t.equal(answer.json.code, 'invalid_cursor', route.operation);
      checkNothingOfTheirs(t, theirs, answer.body, route.operation);
    }
  }
});

test('an Idempotency-Key of another tenant, or another token, is nobody’s', async (tenants, t) => {
  const { mine, theirs, rest } = tenants;
  const key = { headers: { 'idempotency-key': 'same' } };
  for (const route of rest.routes.filter(({ method }) => method === 'POST')) {
    const first = await rest.ask('POST', `/api${pathOf(route, theirs)}`, {
      token: theirs.token,
      host: theirs.host,
      body: bodyOf(route, theirs),
      ...key,
    });
    const answer = await tenants.ask('POST', pathOf(route, mine), { body: bodyOf(route, mine), ...key });
    const name = `${route.operation} ${first.status} ${answer.status}`;
    t.equal(answer.headers['Idempotency-Replayed'], undefined, name);
    t.not(answer.json?.code, 'idempotency_key_reused', name);
    checkNothingOfTheirs(t, theirs, answer.body, name);
  }
});

test('a host below that of the service without a tenant is rejected, for every path and token', async (tenants, t) => {
  const { mine } = tenants;
  const hosts = [
    'nobody.tasks.test',
    'xacme.tasks.test',
    'acme.acme.tasks.test',
    '.tasks.test',
    '-.tasks.test',
    'acme .tasks.test',
    'acme%2e.tasks.test',
    'acme\u0000.tasks.test',
    'ассme.tasks.test',
  ];
  const seen = new Set<string>();
  const notFound = async (host: string, token: string | undefined) => {
    const answer = await tenants.ask('GET', '/v1/tasks', { host, token });
    t.match(answer, problem('tenant_not_found'), JSON.stringify(host));
    seen.add(told(answer, []));
  };
  for (const host of hosts) {
    for (const token of [mine.token, undefined, 'garbage']) await notFound(host, token);
  }
  const plain = ['tasks.test', 'acme.tasks.tests', 'acmetasks.test', 'acme', '[::1]', '127.0.0.1', ''];
  for (const host of plain) for (const token of [undefined, 'garbage']) await notFound(host, token);
  t.equal(seen.size, 1, 'all are told the same');
  for (const route of tenants.rest.routes) {
    const answer = await tenants.ask(route.method, pathOf(route, mine), { host: 'nobody.tasks.test' });
    t.equal(answer.json.code, 'tenant_not_found', route.operation);
  }
});

t.test('X-Tenant-Domain names the tenant only where the operator has enabled it', async t => {
  const rest = new TaskHarness({ tenantHeader: true });
  const { token } = await rest.signUp('acme');
  const named = (domain: string, host: string) =>
    rest.ask('GET', '/api/v1/tasks', { token, host, headers: { 'x-tenant-domain': domain } });
  t.equal((await named('acme', 'proxy.internal')).status, 200);
  t.equal((await named('ACME', '127.0.0.1')).status, 200);
  t.equal((await rest.ask('GET', '/api/v1/tasks', { token, host: 'acme.tasks.test' })).status, 200);
  for (const domain of [
    'other',
    'acme.tasks.test',
    'ac me',
    '../acme',
    'accounts',
    '__proto__',
    'acme,acme',
  ]) {
    const answer = await named(domain, 'acme.tasks.test');
    t.match(answer.json, { code: 'tenant_not_found' }, domain);
  }
});
