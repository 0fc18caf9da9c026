import t from 'tap';
import { SERVING_STATUS } from '../../src/messages/health-codec.ts';
import { askOverGrpc, getPage, grpcTo } from '../support/asking.ts';
import { request } from '../support/decisions.ts';
import { decodeHealthCheckResponse, encodeHealthCheckRequest } from '../support/health-messages.ts';
import { writeRules } from '../support/rule-files.ts';
import { startService } from '../support/service.ts';
import { newTenant, startTasksService } from '../support/tasks/tasks-service.ts';
import { tempDirectory } from '../support/temp-directory.ts';

const RULES = 'domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: year, requests_per_unit: 100}\n';
const ASK = { domain: 'd', descriptors: [{ entries: [{ key: 'a', value: 'x' }] }] };
const HEALTH = '/grpc.health.v1.Health';
const RATELIMIT = encodeHealthCheckRequest('ratelimit');

t.test('during SHUTDOWN_DELAY health is bad on every port, and everything is served', async t => {
  const root = writeRules(tempDirectory(t), { 'config/rules.yaml': RULES });
  const service = await startTasksService(t, {
    RUNTIME_ROOT: root,
    SHUTDOWN_DELAY: '10m',
    TASKS_DRAIN_TIMEOUT: '10m',
  });
  const acme = await newTenant(service);
  await acme.make('workers', { name: 'puller', mode: 'pull' });
  const waiting = acme.ask('POST /workers/puller/leases', { wait: '30s' });
  const client = grpcTo(t, service.grpc);
  const watch = client.stream(`${HEALTH}/Watch`, RATELIMIT);
  t.equal(decodeHealthCheckResponse(await watch.next()), SERVING_STATUS.serving);

  service.signal('SIGTERM');
  t.equal(decodeHealthCheckResponse(await watch.next()), SERVING_STATUS.notServing, 'the open watch is told');
  const check = await client.unary(`${HEALTH}/Check`, RATELIMIT);
  t.equal(decodeHealthCheckResponse(check.response), SERVING_STATUS.notServing);
  t.same(await getPage(service.http, '/healthcheck'), { status: 500, text: '' });
  const ready = await getPage(service.http, '/readyz');
  t.equal(ready.status, 503);
  t.match(JSON.parse(ready.text).components, { termination: 'the process shuts down', task_store: 'ok' });
  t.same(await getPage(service.http, '/healthz'), { status: 200, text: 'OK' }, 'it is not to be killed');

  t.equal((await askOverGrpc(client, request('d', 'a=x'))).statuses[0].limitRemaining, 99);
  const late = grpcTo(t, service.grpc);
  t.equal((await askOverGrpc(late, request('d', 'a=x'))).statuses[0].limitRemaining, 98, 'a new connection');
  const answer = await fetch(`http://${service.http}/json`, { method: 'POST', body: JSON.stringify(ASK) });
  t.match(await answer.json(), { statuses: [{ limitRemaining: 97 }] });
  t.not(answer.headers.get('connection'), 'close', 'callers are not asked to leave yet');
  await acme.make('tasks', { worker: 'puller' });
  t.match(await waiting, { status: 200, json: { leases: [{}] } }, 'a poll that waits gets its task');
  t.match(
    service.logs.find(line => /SHUTDOWN_DELAY/.test(String(line['@message']))),
    { level: 'info', seconds: 600 },
  );

  // Those of the first half second count as the first one.
  const again = setInterval(() => service.signal('SIGTERM'), 50);
  t.match(await watch.status.finally(() => clearInterval(again)), { code: 14 });
  t.match(await service.ended, { status: 0, signal: null }, 'a second signal ends the delay');
});

t.test('the shutdown begins when SHUTDOWN_DELAY has passed', async t => {
  const root = writeRules(tempDirectory(t), { 'config/rules.yaml': RULES });
  const service = await startService({ env: { RUNTIME_ROOT: root, SHUTDOWN_DELAY: '300ms' } });
  const end = await service.terminate();
  t.match(end, { status: 0, signal: null });
  t.ok(end.elapsedMs >= 300, `${end.elapsedMs} ms`);
});

t.test('a service that serves nothing yet shuts down without SHUTDOWN_DELAY', async t => {
  const service = await startService({
    env: { RUNTIME_ROOT: tempDirectory(t), RUNTIME_WATCH_ROOT: 'false', SHUTDOWN_DELAY: '10m' },
    fronts: [],
  });
  await service.logged(line => /^Ports stay closed until rules are loaded/.test(String(line['@message'])));
  t.match(await service.terminate(), { status: 0, signal: null });
});
