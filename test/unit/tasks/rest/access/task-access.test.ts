import { ROLES, SCOPES } from '../../../../../src/tasks/model/documents.ts';
import type { Route } from '../../../../../src/tasks/rest/http/route.ts';
import { taskRoutes } from '../../../../../src/tasks/rest/routes.ts';
import type { Answered } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(() => TaskHarness.open());
const withMailer = testsOf(TaskHarness.withMailer);

/** The least role for each operation, and the scope of a narrowed token (specification 3.12). */
const EXPECTED: Readonly<Record<string, readonly [role: string, scope: string]>> = {
  createTask: ['member', 'tasks:write'],
  createTasks: ['member', 'tasks:write'],
  listTasks: ['viewer', 'tasks:read'],
  countTasks: ['viewer', 'tasks:read'],
  readTask: ['viewer', 'tasks:read'],
  readTaskHistory: ['viewer', 'tasks:read'],
  updateTask: ['member', 'tasks:write'],
  patchTask: ['member', 'tasks:write'],
  deleteTask: ['member', 'tasks:write'],
  actOnTasks: ['member', 'tasks:write'],
  cancelTask: ['member', 'tasks:write'],
  retryTask: ['member', 'tasks:write'],
  runTask: ['member', 'tasks:write'],
  pauseTask: ['member', 'tasks:write'],
  resumeTask: ['member', 'tasks:write'],
  createWorker: ['admin', 'workers:write'],
  listWorkers: ['viewer', 'workers:read'],
  readWorker: ['viewer', 'workers:read'],
  updateWorker: ['admin', 'workers:write'],
  patchWorker: ['admin', 'workers:write'],
  deleteWorker: ['admin', 'workers:write'],
  testWorker: ['admin', 'workers:write'],
  createSecret: ['admin', 'workers:write'],
  listSecrets: ['viewer', 'workers:read'],
  deleteSecret: ['admin', 'workers:write'],
  leaseTasks: ['member', 'leases'],
  heartbeatLease: ['member', 'leases'],
  completeLease: ['member', 'leases'],
  failLease: ['member', 'leases'],
  releaseLease: ['member', 'leases'],
  settleLeases: ['member', 'leases'],
};

/** Bodies that get past the schema. */
const BODIES: Readonly<Record<string, object>> = {
  createTask: { worker: 'mailer' },
  createTasks: { tasks: [{ worker: 'mailer' }] },
  actOnTasks: { action: 'cancel', ids: ['x'] },
  createWorker: { name: 'again', mode: 'pull' },
  failLease: { error: { code: 'x', message: 'y' } },
  settleLeases: { outcomes: [{ lease_id: 'x', outcome: 'complete' }] },
};

const NOWHERE: Readonly<Record<string, string>> = {
  id: 'tsk_01J0000000000000000000000A',
  sid: 'sec_01J0000000000000000000000A',
  lease_id: '0'.repeat(32),
};

function call(
  rest: TaskHarness,
  { method, path, operation }: Route,
  asked: { token: string; host?: string },
  params = NOWHERE,
): Promise<Answered> {
  const target = path.replaceAll(/:(\w+)/g, (_, name) => params[name]);
  const body = BODIES[operation] ?? (method === 'GET' || method === 'DELETE' ? undefined : {});
  return rest.ask(method, `/api${target}`, { ...asked, ...(body === undefined ? {} : { body }) });
}

test('each operation has the role and the scope of the table', async (rest, t) => {
  const routes = taskRoutes(rest.parts);
  t.same(routes.map(route => route.operation).sort(), Object.keys(EXPECTED).sort());
  for (const { operation, access } of routes) {
    t.same([access.role, access.scope], EXPECTED[operation], operation);
  }
});

test('who has less than the role is refused, and who has it is not', async (rest, t) => {
  for (const role of ROLES) {
    const { token } = role === 'owner' ? rest : await rest.addUser(rest.token, role);
    for (const route of taskRoutes(rest.parts)) {
      const least = EXPECTED[route.operation][0] as (typeof ROLES)[number];
      const answer = await call(rest, route, { token });
      const allowed = ROLES.indexOf(role) <= ROLES.indexOf(least);
      const name = `${role} ${route.operation} ${answer.status}`;
      if (allowed) t.not(answer.json?.code, 'insufficient_role', name);
      else t.match(answer, { status: 403, json: { code: 'insufficient_role' } }, name);
    }
  }
});

test('a narrowed token is good for its scopes alone', async (rest, t) => {
  for (const scope of SCOPES) {
    const { token } = await rest.addUser(rest.token, 'owner', [scope]);
    for (const route of taskRoutes(rest.parts)) {
      const answer = await call(rest, route, { token });
      const name = `${scope} ${route.operation} ${answer.status}`;
      if (EXPECTED[route.operation][1] === scope) t.not(answer.json?.code, 'insufficient_scope', name);
      else t.match(answer, { status: 403, json: { code: 'insufficient_scope' } }, name);
    }
  }
});

test('nobody is let in without a token', async (rest, t) => {
  for (const route of taskRoutes(rest.parts)) {
    const answer = await call(rest, route, { token: '' });
    t.match(answer, { status: 401, json: { code: 'authentication_required' } }, route.operation);
  }
});

withMailer('what belongs to another tenant is not there', async ({ rest, worker }, t) => {
  const crawler = await rest.pullWorker();
  const running = await rest.task({ worker: 'crawler' });
  const lease = (await rest.at('POST', 'workers/crawler/leases')).json.leases[0].lease_id;
  const task = await rest.task();
  const secret = await rest.made('workers/mailer/secrets', {});
  const { token } = await rest.signUp('other');
  const other = { token, host: 'other.tasks.test' };
  const before = JSON.stringify((await rest.at('GET', 'tasks')).json);

  for (const route of taskRoutes(rest.parts)) {
    if (!route.path.includes(':')) continue;
    const about = route.path.startsWith('/v1/tasks') ? task.id : worker.id;
    const answer = await call(rest, route, other, { id: about, sid: secret.id, lease_id: lease });
    const code = route.path.startsWith('/v1/leases') ? 'lease_lost' : 'not_found';
    t.match(answer, { status: code === 'lease_lost' ? 409 : 404, json: { code } }, route.operation);
    const nowhere = await call(rest, route, other, {
      ...NOWHERE,
      id: about.replace(/.$/, about.endsWith('A') ? 'B' : 'A'),
    });
    t.equal(nowhere.status, answer.status, `${route.operation}: as what is nowhere`);
  }
  const ids = [task.id, running.id];
  const acted = await rest.at('POST', 'tasks/actions', { action: 'cancel', ids }, other);
  t.match(acted.json, { changed: 0, skipped: [{ code: 'not_found' }, { code: 'not_found' }] });
  for (const name of [worker.id, crawler.id, 'mailer']) {
    t.match(await rest.at('GET', `tasks?worker=${name}`, undefined, other), { status: 422 });
    t.match(await rest.at('POST', 'tasks', { worker: name }, other), { status: 422 });
  }
  t.same((await rest.at('GET', 'tasks', undefined, other)).json.data, []);
  t.same((await rest.at('GET', 'workers', undefined, other)).json.data, []);
  t.equal(JSON.stringify((await rest.at('GET', 'tasks')).json), before, 'nothing has changed');
  const foreign = await rest.at('GET', 'tasks', undefined, { token, host: 'acme.tasks.test' });
  t.equal(foreign.status, 401, 'a token of another tenant is none');
});

withMailer('payloads, headers, results and replies are for some only', async ({ rest, worker }, t) => {
  const { id } = await rest.task({ payload: 'HUSH', headers: { 'x-a': 'HUSH' }, key: 'k' });
  const leaseId = (await rest.start(worker.id)).get(id)!;
  const http = { status: 200, durationMs: 1, response: 'HUSH', truncated: false };
  await rest.end(leaseId, 'succeeded', { result: '"HUSH"', http });
  const member = await rest.addUser(rest.token, 'member');
  const full = (await rest.at('GET', `tasks/${id}`, undefined, { token: member.token })).json;
  t.match(full, { payload: 'HUSH', headers: { 'x-a': 'HUSH' }, result: 'HUSH' });

  const viewer = await rest.addUser(rest.token, 'viewer');
  const narrowed = await rest.addUser(rest.token, 'member', ['tasks:read', 'tasks:write']);
  for (const { token } of [viewer, narrowed]) {
    const answers = [
      await rest.at('GET', `tasks/${id}`, undefined, { token }),
      await rest.at('GET', `tasks/${id}/history`, undefined, { token }),
      await rest.at('GET', 'tasks', undefined, { token }),
    ];
    for (const answer of answers) {
      t.equal(answer.status, 200);
      t.notMatch(answer.body, 'HUSH');
    }
    t.notOk('payload' in answers[0].json || 'headers' in answers[0].json || 'result' in answers[0].json);
    t.match(answers[1].json.data.at(-1).http, { status: 200, truncated: false });
    const asked = await rest.at('GET', 'tasks?include=payload', undefined, { token });
    t.match(asked, { status: 403, json: { code: 'payload_hidden', detail: /scope tasks:payload/ } });
  }
  const changed = await rest.at('PUT', `tasks/${id}`, { status: 'scheduled' }, { token: narrowed.token });
  t.equal(changed.status, 200);
  t.notMatch(changed.body, 'HUSH');
  const made = await rest.at(
    'POST',
    'tasks',
    { worker: 'mailer', payload: 'mine' },
    { token: narrowed.token },
  );
  t.notOk('payload' in made.json);
  const seeing = await rest.addUser(rest.token, 'member', ['tasks:read', 'tasks:payload']);
  const seen = await rest.at('GET', 'tasks?include=payload&worker=mailer', undefined, {
    token: seeing.token,
  });
  t.equal(seen.status, 200);
});

withMailer('a failing store is reported as such, and the request may be retried', async ({ rest }, t) => {
  const { Fault } = await import('../../../../../src/base/fault.ts');
  const { create } = rest.store;
  rest.store.create = async () => {
    throw new Fault('store_failed', 'HUSH: the disk is full');
  };
  const headers = { 'idempotency-key': 'k' };
  const failed = await rest.at('POST', 'tasks', { worker: 'mailer' }, { headers });
  t.match(failed, { status: 503, json: { code: 'store_unavailable' }, headers: { 'Retry-After': '1' } });
  t.notMatch(failed.body, 'HUSH');
  rest.store.create = create;
  t.equal((await rest.at('POST', 'tasks', { worker: 'mailer' }, { headers })).status, 201);
});
