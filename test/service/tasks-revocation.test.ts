import t from 'tap';
import { redisFor } from '../support/redis-server.ts';
import { TASK_SERVER_ARGS } from '../support/tasks/redis-backend.ts';
import { type ApiAnswer, newTenant, startTasksService, type Tenant } from '../support/tasks/tasks-service.ts';

// Calls that wait for tasks while their token is deleted, in the whole program.

/** A call that waits with a token of its own, which is deleted at another process, or the same one. */
async function revoke(acme: Tenant, waitingAt: string, deletedAt: string): Promise<ApiAnswer> {
  const owner = acme.account.owner.id;
  const { id, token } = await acme.make(`users/${owner}/tokens`, {});
  const caller = acme.withToken(token).at(waitingAt);
  const waiting = caller.ask('POST /workers/crawler/leases', { wait: '30s' });
  // The caller is known to its process before the token goes.
  await caller.ask('GET /limits');
  const elsewhere = acme.at(deletedAt);
  const deleted = await elsewhere.ask(`DELETE /users/${owner}/tokens/${id}`);
  if (deleted.status !== 204) throw new Error(`not deleted: ${deleted.status} ${deleted.text}`);
  return waiting;
}

t.test('a call that waits is refused once its token is deleted: SQLite', async t => {
  const service = await startTasksService(t);
  const acme = await newTenant(service);
  await acme.make('workers', { name: 'crawler' });
  t.match(await revoke(acme, service.http, service.http), { status: 401, json: { code: 'invalid_token' } });
  const { id } = await acme.make('tasks', { worker: 'crawler' });
  t.match((await acme.ask(`GET /tasks/${id}`)).json, { status: 'scheduled' });
});

t.test('a call that waits is refused once its token is deleted: Redis, two processes', async t => {
  const redis = await redisFor(t, { args: TASK_SERVER_ARGS });
  const settings = { TASKS_STORE: 'redis', TASKS_REDIS_URL: `redis://${redis.address}` };
  const [one, other] = [await startTasksService(t, settings), await startTasksService(t, settings)];
  const acme = await newTenant(one);
  await acme.make('workers', { name: 'crawler' });
  const refused = { status: 401, json: { code: 'invalid_token' } };
  t.match(await revoke(acme, one.http, one.http), refused);
  t.match(await revoke(acme, one.http, other.http), refused);
});
