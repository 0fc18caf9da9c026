import type { Test } from 'tap';
import t from 'tap';
import { systemClock } from '../../../../../src/base/clock.ts';
import { Fault } from '../../../../../src/base/fault.ts';
import type { RestCalls, RestHead } from '../../../../../src/tasks/rest/http/http.ts';
import { problemResponse } from '../../../../../src/tasks/rest/http/problem-answer.ts';
import { AskedTenants } from '../../../../../src/tasks/rest/threads/asked-tenants.ts';
import { interrupted } from '../../../../../src/tasks/rest/threads/refusals.ts';
import type { OperatorApi } from '../../../../../src/transports/debug/operator/router.ts';
import {
  routesWithoutTasks,
  TENANT_OPERATIONS,
} from '../../../../../src/transports/debug/operator/tenant-operations.ts';
import { tenantRoutes } from '../../../../../src/transports/debug/operator/tenant-routes.ts';
import { KeepingLogger } from '../../../../support/keeping-logger.ts';
import { operatorApi } from '../../../../support/operator-api.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { askingOperator, startedDebugServer } from '../debugging.ts';

const TOKEN = 'a-token-of-thirty-two-characters';

/** The debug port before a REST service in the same thread. `lose` is true if the thread of a call ends. */
async function open(t: Test, lose = () => false) {
  const rest = await TaskHarness.open();
  const begin: RestCalls['begin'] = (head: RestHead, _body, reply) => {
    const request = { ...head, body: new Uint8Array(0), gone: new AbortController().signal };
    if (lose()) reply.answered(problemResponse(interrupted(head, true), 'req_1'));
    else void rest.service.handle(request).then(response => reply.answered(response));
    return { body: () => {}, gone: () => {} };
  };
  const log = new KeepingLogger();
  const operator = operatorApi({
    routes: tenantRoutes(new AskedTenants({ begin })),
    token: async () => TOKEN,
    log,
  });
  return { rest, log, ask: await serve(t, operator) };
}

/** Opens the debug port, and returns the function that asks its API. */
async function serve(t: Test, operator: OperatorApi) {
  const ask = askingOperator(await startedDebugServer(t, systemClock, { operator }));
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
  return (method: string, path: string, body?: object) =>
    ask(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
}

t.test('each change is a line in the log, with the tenant and the reason, and without a token', async t => {
  const { log, ask } = await open(t);
  await ask('POST', '/tenants/ACME/suspend', { reason: 'ticket 1' });
  await ask('PUT', '/tenants/acme/limits', { limits: { workers: 3 }, reason: 'ticket 2' });
  const { json } = await ask('POST', '/tenants/acme/owner-token', { reason: 'ticket 3' });
  await ask('POST', '/tenants/globex/resume', { reason: 'ticket 4' });
  t.match(
    log.lines.map(({ message, fields }) => ({ message, ...fields })),
    [
      { message: 'Operator change', operation: 'suspendTenant', tenant: 'acme', reason: 'ticket 1' },
      { operation: 'changeTenantLimits', tenant: 'acme', reason: 'ticket 2' },
      {
        operation: 'createOwnerToken',
        tenant: 'acme',
        reason: 'ticket 3',
        token_id: json.id,
        user: json.user_id,
      },
      { message: 'Operator change failed', operation: 'resumeTenant', reason: 'ticket 4' },
    ],
  );
  t.match(json.token, /^tk_acme_/);
  t.notMatch(JSON.stringify(log.lines), json.token);
});

t.test('a process that does not serve tasks says so, whatever it is asked about tenants', async t => {
  const ask = await serve(t, operatorApi({ routes: routesWithoutTasks(), token: async () => TOKEN }));
  const asked = [
    await ask('GET', '/tenants?q=a&status=active&sort=due&offset=50&count=50'),
    await ask('GET', '/tenants/acme'),
    await ask('POST', '/tenants/acme/suspend', { reason: 'x' }),
    await ask('POST', '/tenants/acme/resume', { reason: 'x' }),
    await ask('PUT', '/tenants/acme/limits', { limits: { workers: 3 }, reason: 'x' }),
    await ask('POST', '/tenants/acme/owner-token', { reason: 'x' }),
  ];
  t.equal(asked.length, Object.keys(TENANT_OPERATIONS).length);
  const disabled = { status: 501, json: { code: 'tasks_disabled', detail: /TASKS_ENABLED=true/ } };
  for (const { status, json } of asked) t.match({ status, json }, disabled);
});

t.test('a change whose thread has ended may have been made, and the answer says so', async t => {
  const { ask } = await open(t, () => true);
  const { status, headers, json } = await ask('POST', '/tenants/acme/suspend', { reason: 'x' });
  t.match(
    { status, json },
    { status: 503, json: { code: 'overloaded', detail: /may have been made: read the tenant/ } },
  );
  t.equal(headers.get('retry-after'), '1');
});

t.test('an outage of the store, and an account that is being deleted, are told apart', async t => {
  const { rest, ask } = await open(t);
  await rest.change('acme', 'account', 'account', account => ({ ...account, status: 'deleting' }));
  for (const [method, path, body] of [
    ['POST', 'resume', {}],
    ['POST', 'owner-token', {}],
    ['PUT', 'limits', { limits: {} }],
  ] as const) {
    const answer = await ask(method, `/tenants/acme/${path}`, { ...body, reason: 'x' });
    t.match(answer, { status: 409, json: { code: 'conflict', detail: /its status is deleting/ } }, path);
  }
  rest.store.getDocument = () => Promise.reject(new Fault('store_failed', 'redis://:hunter2@away'));
  const { status, json } = await ask('GET', '/tenants/acme');
  t.match({ status, json }, { status: 503, json: { code: 'store_unavailable' } });
  t.notMatch(JSON.stringify(json), /hunter2|Idempotency/);
});
