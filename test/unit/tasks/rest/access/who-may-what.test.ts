import type { Role, Scope } from '../../../../../src/tasks/model/documents.ts';
import type { Route } from '../../../../../src/tasks/rest/http/route.ts';
import { type Answered, problem } from '../../../../support/tasks/rest-harness.ts';
import { NOBODYS, pathOf, TwoTenants } from '../../../../support/tasks/two-tenants.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(() => TwoTenants.open());

/** Who may, of `owner admin member viewer` the first letters. */
type Who = 'oa--' | 'oam-' | 'oamv';

/**
 * The table of specification 3.12, written from it by hand: each operation, who may call it, and the scope that a
 * narrowed token needs; null for any.
 */
const TABLE: Readonly<Record<string, readonly [Who, Scope | null]>> = {
  getMe: ['oamv', null],
  // tasks: create, update, act
  createTask: ['oam-', 'tasks:write'],
  createTasks: ['oam-', 'tasks:write'],
  updateTask: ['oam-', 'tasks:write'],
  patchTask: ['oam-', 'tasks:write'],
  deleteTask: ['oam-', 'tasks:write'],
  actOnTasks: ['oam-', 'tasks:write'],
  cancelTask: ['oam-', 'tasks:write'],
  retryTask: ['oam-', 'tasks:write'],
  runTask: ['oam-', 'tasks:write'],
  pauseTask: ['oam-', 'tasks:write'],
  resumeTask: ['oam-', 'tasks:write'],
  // It makes a task and leaves the schedule as it is.
  triggerSchedule: ['oam-', 'tasks:write'],
  // tasks: read; all may, without payloads
  listTasks: ['oamv', 'tasks:read'],
  countTasks: ['oamv', 'tasks:read'],
  readTask: ['oamv', 'tasks:read'],
  readTaskHistory: ['oamv', 'tasks:read'],
  getLimits: ['oamv', 'tasks:read'],
  getUsage: ['oamv', 'tasks:read'],
  // workers, secrets, schedules: rw rw r r
  createWorker: ['oa--', 'workers:write'],
  updateWorker: ['oa--', 'workers:write'],
  patchWorker: ['oa--', 'workers:write'],
  deleteWorker: ['oa--', 'workers:write'],
  testWorker: ['oa--', 'workers:write'],
  createSecret: ['oa--', 'workers:write'],
  deleteSecret: ['oa--', 'workers:write'],
  listWorkers: ['oamv', 'workers:read'],
  readWorker: ['oamv', 'workers:read'],
  listSecrets: ['oamv', 'workers:read'],
  createSchedule: ['oa--', 'schedules:write'],
  updateSchedule: ['oa--', 'schedules:write'],
  patchSchedule: ['oa--', 'schedules:write'],
  deleteSchedule: ['oa--', 'schedules:write'],
  listSchedules: ['oamv', 'schedules:read'],
  readSchedule: ['oamv', 'schedules:read'],
  previewSchedule: ['oamv', 'schedules:read'],
  // users, tokens of others: all, all but owners, none, none
  listUsers: ['oa--', 'users:read'],
  createUser: ['oa--', 'users:write'],
  updateUser: ['oa--', 'users:write'],
  patchUser: ['oa--', 'users:write'],
  deleteUser: ['oa--', 'users:write'],
  listAudit: ['oa--', 'users:read'],
  getUser: ['oa--', 'users:read'],
  listTokens: ['oa--', 'users:read'],
  createToken: ['oa--', 'users:write'],
  deleteToken: ['oa--', 'users:write'],
  // whoever works on tasks
  leaseTasks: ['oam-', 'leases'],
  heartbeatLease: ['oam-', 'leases'],
  completeLease: ['oam-', 'leases'],
  failLease: ['oam-', 'leases'],
  releaseLease: ['oam-', 'leases'],
  settleLeases: ['oam-', 'leases'],
};

/** What members and viewers may do about themselves, though not about others. */
const OWN = new Set(['getUser', 'listTokens', 'createToken', 'deleteToken']);
/** What a pull worker may call with its own token. */
const OF_WORKERS = new Set([
  'leaseTasks',
  'heartbeatLease',
  'completeLease',
  'failLease',
  'releaseLease',
  'settleLeases',
]);

const ROLES = ['owner', 'admin', 'member', 'viewer'] as const;
const SCOPES = [
  'tasks:read',
  'tasks:write',
  'tasks:payload',
  'workers:read',
  'workers:write',
  'schedules:read',
  'schedules:write',
  'users:read',
  'users:write',
  'leases',
] as const;

/** Bodies that change as little as can be, and that their schemas accept. */
const BODIES: Readonly<Record<string, (ids: Ids) => object>> = {
  createTask: ids => ({ worker: ids.worker }),
  createTasks: ids => ({ tasks: [{ worker: ids.worker }] }),
  actOnTasks: () => ({ action: 'cancel', ids: ['none'] }),
  createWorker: () => ({ name: 'acme-mailer' }),
  createUser: () => ({ email: 'acme@example.com' }),
  createSchedule: ids => ({ name: 'acme-nightly', worker: ids.worker, every: '1h' }),
  previewSchedule: () => ({ every: '1h' }),
  failLease: () => ({ error: { code: 'broken', message: 'broken' } }),
  settleLeases: ids => ({ outcomes: [{ lease_id: ids.lease, outcome: 'release' }] }),
};
type Ids = Readonly<Record<keyof typeof NOBODYS, string>>;

/** Asks for what is not there: so nothing changes, and only who asks decides. */
async function call(
  tenants: TwoTenants,
  route: Route,
  token: string | undefined,
  ids: Ids = { ...NOBODYS, worker: tenants.mine.worker },
): Promise<Answered> {
  const writes = route.method !== 'GET' && route.method !== 'DELETE';
  const body = writes ? (BODIES[route.operation]?.(ids) ?? {}) : undefined;
  return tenants.ask(route.method, pathOf(route, ids), { token, ...(body && { body }) });
}

const DENIED = new Set(['insufficient_role', 'insufficient_scope', 'tenant_suspended']);

function outcome({ status, json }: Answered): string {
  if (status === 401) return json.code;
  return status === 403 && DENIED.has(json.code) ? json.code : 'allowed';
}

function may(role: Role, operation: string): boolean {
  return TABLE[operation][0].includes(role[0]);
}

test('the table has each operation, and no other', async ({ rest }, t) => {
  t.same(rest.routes.map(({ operation }) => operation).sort(), Object.keys(TABLE).sort());
});

test('each role may call what the table says, about what is not its own', async (tenants, t) => {
  const { rest, mine } = tenants;
  for (const role of ROLES) {
    const { token } = await rest.addUser(mine.token, role);
    for (const route of rest.routes) {
      const { operation } = route;
      const answer = await call(tenants, route, token);
      const name = `${role} ${operation} ${answer.status} ${answer.json?.code}`;
      if (may(role, operation)) t.equal(outcome(answer), 'allowed', name);
      // Who may not see others learns nothing of whom there is.
      else if (OWN.has(operation)) t.equal(answer.json.code, 'not_found', name);
      else t.equal(outcome(answer), 'insufficient_role', name);
    }
  }
});

test('of somebody who is there, members and viewers are told no more than of nobody', async (tenants, t) => {
  const { rest, mine } = tenants;
  for (const role of ['member', 'viewer']) {
    const { token } = await rest.addUser(mine.token, role);
    for (const route of rest.routes.filter(({ operation }) => OWN.has(operation))) {
      const [real, none] = [await call(tenants, route, token, mine), await call(tenants, route, token)];
      t.equal(real.status, 404, `${role} ${route.operation}`);
      const told = ({ body, headers }: Answered) => body.replaceAll(headers['X-Request-Id'], '');
      t.equal(told(real), told(none));
    }
  }
});

test('each single scope lets an owner call what needs it, and nothing else', async (tenants, t) => {
  const { rest, mine } = tenants;
  for (const scope of SCOPES) {
    const { token } = await rest.addUser(mine.token, 'owner', [scope]);
    for (const route of rest.routes) {
      const answer = await call(tenants, route, token);
      const expected = [scope, null].includes(TABLE[route.operation][1]) ? 'allowed' : 'insufficient_scope';
      t.equal(outcome(answer), expected, `${scope} ${route.operation} ${answer.json?.code}`);
    }
  }
});

test('a scope gives nobody more than the role', async (tenants, t) => {
  const { rest, mine } = tenants;
  const every = ['tasks:*', 'workers:*', 'schedules:*', 'users:*', 'leases'];
  for (const role of ['member', 'viewer'] as const) {
    const { token } = await rest.addUser(mine.token, role, every);
    for (const route of rest.routes.filter(({ operation }) => !OWN.has(operation))) {
      const expected = may(role, route.operation) ? 'allowed' : 'insufficient_role';
      t.equal(outcome(await call(tenants, route, token)), expected, `${role} ${route.operation}`);
    }
  }
});

test('the token of a pull worker is for leases', async (tenants, t) => {
  for (const route of tenants.rest.routes) {
    const answer = await call(tenants, route, tenants.mine.workerToken, tenants.mine);
    const expected = OF_WORKERS.has(route.operation) ? 'allowed' : 'insufficient_role';
    t.equal(outcome(answer), expected, `${route.operation} ${answer.json?.code}`);
  }
});

test('who is not to come in comes in nowhere', async (tenants, t) => {
  const { rest, mine } = tenants;
  const owner = { token: mine.token, host: mine.host };
  const user = async (name: string, fields: object = {}) => {
    const { id } = await rest.made('users', { email: `${name}@x.test`, role: 'owner', ...fields }, owner);
    const { token } = await rest.made(`users/${id}/tokens`, { scopes: null }, owner);
    return { id, token };
  };
  const expiresAt = new Date(rest.clock.nowMs() + 1_000).toISOString();
  const { id } = await rest.made('users', { email: 'soon@x.test', role: 'owner' }, owner);
  const expiring = await rest.made(`users/${id}/tokens`, { expires_at: expiresAt }, owner);
  const disabled = await user('disabled');
  await rest.at('PUT', `users/${disabled.id}`, { status: 'disabled' }, owner);
  const deleted = await user('deleted');
  await rest.at('DELETE', `users/${deleted.id}`, undefined, owner);
  const revoked = await rest.made(`users/${mine.user}/tokens`, {}, owner);
  await rest.at('DELETE', `users/${mine.user}/tokens/${revoked.id}`, undefined, owner);
  const gone = await rest.made('workers', { name: 'gone' }, owner);
  const ofGone = await rest.made(`workers/${gone.id}/secrets`, { type: 'token' }, owner);
  await rest.at('DELETE', 'workers/gone', undefined, owner);
  const replaced = await rest.made('workers', { name: 'replaced' }, owner);
  const older = await rest.made(`workers/${replaced.id}/secrets`, { type: 'token' }, owner);
  await rest.made(`workers/${replaced.id}/secrets`, { type: 'token', expire_previous_in: 0 }, owner);
  rest.clock.advance(1_000);
  const cases: [string, string | undefined, string][] = [
    ['no token', undefined, 'authentication_required'],
    ['an expired token', expiring.token, 'token_expired'],
    ['a disabled user', disabled.token, 'invalid_token'],
    ['a deleted user', deleted.token, 'invalid_token'],
    ['a deleted token', revoked.token, 'invalid_token'],
    ['a deleted worker', ofGone.value, 'invalid_token'],
    ['a worker’s token that was replaced', older.value, 'token_expired'],
    ['a mistyped token', `${mine.token.slice(0, -1)}!`, 'invalid_token'],
    ['nonsense', 'x', 'invalid_token'],
  ];
  for (const route of rest.routes) {
    for (const [name, token, code] of cases) {
      t.equal(outcome(await call(tenants, route, token, mine)), code, `${name}: ${route.operation}`);
    }
  }
});

test('a suspended account can be read, and nothing in it changes', async (tenants, t) => {
  const { rest, mine } = tenants;
  await rest.change('acme', 'account', 'account', body => ({ ...body, status: 'suspended' }));
  for (const token of [mine.token, mine.workerToken]) {
    for (const route of rest.routes) {
      const answer = await call(tenants, route, token, mine);
      const reads = route.method === 'GET';
      const worker = token === mine.workerToken;
      const expected = reads ? (worker ? 'insufficient_role' : 'allowed') : 'tenant_suspended';
      t.equal(outcome(answer), expected, route.operation);
    }
  }
});

test('an account that is being deleted is not there', async (tenants, t) => {
  await tenants.rest.change('acme', 'account', 'account', body => ({ ...body, status: 'deleting' }));
  for (const route of tenants.rest.routes) {
    const answer = await call(tenants, route, tenants.mine.token, tenants.mine);
    t.equal(answer.json.code, 'tenant_not_found', route.operation);
  }
});

test('admins rule over all but owners, and nobody promotes himself', async ({ rest, mine }, t) => {
  const owner = await rest.addUser(mine.token, 'owner');
  const admin = await rest.addUser(mine.token, 'admin');
  const narrow = await rest.addUser(mine.token, 'admin', ['users:write', 'users:read']);
  const as = (token: string) => ({ token, host: mine.host });
  const code = async (method: string, target: string, body: object | undefined, token: string) => {
    const { status, json } = await rest.at(method, target, body, as(token));
    return json?.code ?? status;
  };
  const denied: [string, string, object | undefined, string][] = [
    ['PUT', `users/${owner.id}`, { name: 'x' }, admin.token],
    ['PATCH', `users/${owner.id}`, { role: 'viewer' }, admin.token],
    ['DELETE', `users/${owner.id}`, undefined, admin.token],
    ['POST', `users/${owner.id}/tokens`, {}, admin.token],
    ['PUT', `users/${admin.id}`, { role: 'owner' }, admin.token],
    ['PUT', `users/${mine.user}`, { role: 'owner' }, admin.token],
    ['POST', 'users', { email: 'new@x.test', role: 'owner' }, admin.token],
  ];
  for (const [method, target, body, token] of denied) {
    t.equal(await code(method, target, body, token), 'insufficient_role', `${method} ${target}`);
  }
  const own = await rest.at('GET', `users/${owner.id}/tokens`, undefined, as(owner.token));
  const tokenOfOwner = `users/${owner.id}/tokens/${own.json.data[0].id}`;
  t.equal(await code('DELETE', tokenOfOwner, undefined, admin.token), 'insufficient_role');
  for (const scopes of [undefined, null, ['tasks:read'], ['users:*', 'leases']]) {
    const body = scopes === undefined ? {} : { scopes };
    for (const id of [narrow.id, mine.user, admin.id]) {
      t.equal(await code('POST', `users/${id}/tokens`, body, narrow.token), 'insufficient_scope');
    }
  }
  t.equal(await code('POST', `users/${narrow.id}/tokens`, { scopes: ['users:read'] }, narrow.token), 201);
});

test('payloads and results are for members and above, with tasks:payload', async ({ rest, mine }, t) => {
  const owner = { token: mine.token, host: mine.host };
  const payload = { canary: 'p4yl0ad' };
  const headers = { 'x-canary': 'h3ader' };
  const task = await rest.made('tasks', { worker: mine.worker, payload, headers }, owner);
  const lease = (await rest.start(mine.worker, 10)).get(task.id)!;
  const http = { status: 200, durationMs: 5, response: 'r3ply', truncated: false };
  await rest.end(lease, 'succeeded', { result: '{"canary":"r3sult"}', http });
  await rest.at('PUT', `schedules/${mine.schedule}`, { task: { payload, headers } }, owner);
  const targets = [
    `tasks/${task.id}`,
    `tasks/${task.id}/history`,
    'tasks',
    `schedules/${mine.schedule}`,
    'schedules',
  ];
  const seen = async (token: string) => {
    const answers = await Promise.all(
      targets.map(target => rest.at('GET', target, undefined, { token, host: mine.host })),
    );
    return ['p4yl0ad', 'h3ader', 'r3sult', 'r3ply'].filter(word => answers.some(a => a.body.includes(word)));
  };
  const reading = ['tasks:read', 'schedules:read'];
  for (const role of ROLES) {
    const every = ['p4yl0ad', 'h3ader', 'r3sult', 'r3ply'];
    const expected = role === 'viewer' ? [] : every;
    t.same(await seen((await rest.addUser(mine.token, role)).token), expected, role);
    t.same(await seen((await rest.addUser(mine.token, role, reading)).token), [], `${role}, narrowed`);
    const whole = (await rest.addUser(mine.token, role, [...reading, 'tasks:payload'])).token;
    t.same(await seen(whole), expected, `${role}, narrowed to what includes payloads`);
  }
  const viewer = (await rest.addUser(mine.token, 'viewer')).token;
  const asked = await rest.at('GET', 'tasks?include=payload', undefined, { token: viewer, host: mine.host });
  t.match(asked, problem('payload_hidden'));
  const writer = (await rest.addUser(mine.token, 'member', ['tasks:write'])).token;
  const made = await rest.at('PUT', `tasks/${mine.task}`, { type: 'x' }, { token: writer, host: mine.host });
  t.notOk('payload' in made.json, 'who may change a task and not see its payload');
});

test('to delete many at once takes an admin', async ({ rest, mine }, t) => {
  for (const role of ROLES) {
    const { token } = await rest.addUser(mine.token, role);
    const body = { action: 'delete', filter: { status: 'expired' } };
    const answer = await rest.at('POST', 'tasks/actions', body, { token, host: mine.host });
    t.equal(answer.status, role === 'owner' || role === 'admin' ? 200 : 403, role);
  }
});
