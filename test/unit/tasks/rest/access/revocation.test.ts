import t from 'tap';
import { noPostgres, postgresFor } from '../../../../support/postgres-server.ts';
import { startRedis } from '../../../../support/redis-server.ts';
import { harnessStores } from '../../../../support/tasks/harness-stores.ts';
import { TASK_SERVER_ARGS } from '../../../../support/tasks/redis-backend.ts';
import type { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { until } from '../../../../support/until.ts';

// Calls that wait for tasks (long polls) while somebody takes their access away, over each store.

const server = await startRedis({ args: TASK_SERVER_ARGS });
t.teardown(() => server.stop());
const postgres = noPostgres === false ? await postgresFor(t) : null;

const OPERATOR = { token: 'of the operator', host: 'tasks.test' };

interface Made {
  readonly userId: string;
  readonly tokenId: string;
  readonly secretId: string;
}

/** What revokes the access of a call that waits, and how such a call is answered then. */
const REVOCATIONS: readonly {
  readonly what: string;
  readonly status: number;
  readonly code: string;
  readonly revoke: (rest: TaskHarness, made: Made) => Promise<{ readonly status: number }>;
  readonly by: 'user' | 'worker';
}[] = [
  {
    what: 'the token of the worker is deleted',
    status: 401,
    code: 'invalid_token',
    revoke: (rest, { secretId }) => rest.at('DELETE', `workers/crawler/secrets/${secretId}`),
    by: 'worker',
  },
  {
    what: 'the token of the user is deleted',
    status: 401,
    code: 'invalid_token',
    revoke: (rest, { userId, tokenId }) => rest.at('DELETE', `users/${userId}/tokens/${tokenId}`),
    by: 'user',
  },
  {
    what: 'the user is disabled',
    status: 401,
    code: 'invalid_token',
    revoke: (rest, { userId }) => rest.at('PUT', `users/${userId}`, { status: 'disabled' }),
    by: 'user',
  },
  {
    what: 'the user is deleted',
    status: 401,
    code: 'invalid_token',
    revoke: (rest, { userId }) => rest.at('DELETE', `users/${userId}`),
    by: 'user',
  },
  {
    what: 'the user may only read',
    status: 403,
    code: 'insufficient_role',
    revoke: (rest, { userId }) => rest.at('PUT', `users/${userId}`, { role: 'viewer' }),
    by: 'user',
  },
  {
    what: 'the worker is deleted',
    status: 404,
    code: 'not_found',
    revoke: rest => rest.at('DELETE', 'workers/crawler'),
    by: 'user',
  },
  {
    what: 'the account is suspended',
    status: 403,
    code: 'tenant_suspended',
    revoke: rest => rest.ask('PATCH', '/accounts/acme', { ...OPERATOR, body: { status: 'suspended' } }),
    by: 'user',
  },
  {
    what: 'the account is suspended, for the token of a worker',
    status: 403,
    code: 'tenant_suspended',
    revoke: rest => rest.ask('PATCH', '/accounts/acme', { ...OPERATOR, body: { status: 'suspended' } }),
    by: 'worker',
  },
  {
    what: 'the account is being deleted',
    status: 404,
    code: 'tenant_not_found',
    revoke: rest => rest.ask('DELETE', '/accounts/acme', OPERATOR),
    by: 'user',
  },
];

for (const [name, open] of Object.entries(harnessStores(server, postgres))) {
  for (const { what, status, code, revoke, by } of REVOCATIONS) {
    t.test(`${name}: a call that waits gets no lease once ${what}`, async t => {
      const { rest, whenAnswered } = await open(t, { operatorToken: OPERATOR.token });
      const { id: workerId } = await rest.pullWorker();
      const secret = await rest.made('workers/crawler/secrets', { type: 'token' });
      const user = await rest.made('users', { email: 'bob@acme.test', role: 'member' });
      const token = await rest.made(`users/${user.id}/tokens`, {});
      const waiting = rest.at(
        'POST',
        'workers/crawler/leases',
        { wait: '30s' },
        { token: by === 'user' ? token.token : secret.value },
      );
      await isWaiting(rest);
      const revoked = await revoke(rest, { userId: user.id, tokenId: token.id, secretId: secret.id });
      t.ok(revoked.status < 300, `revoked: ${revoked.status}`);
      // Another process makes it, so that deleted workers and suspended accounts have one too.
      const worker = rest.factory.worker({ name: 'crawler', mode: 'pull', url: null });
      const task = rest.factory.newTask({ ...worker, id: workerId });
      await rest.store.create('acme', rest.factory.createRequest([task]));
      rest.parts.signals.tell('taskDue', 'acme', workerId, rest.clock.nowMs());
      t.match(await whenAnswered(waiting), { status, json: { code } });
      // What was claimed meanwhile is handed back.
      await until(async () => (await rest.store.counts('acme', null)).running === 0);
    });
  }
}

/** Until the desk has looked for tasks in vain, so that the call has been let in. */
async function isWaiting(rest: TaskHarness): Promise<void> {
  const before = rest.clock.pending;
  await until(() => rest.clock.pending > before);
}
