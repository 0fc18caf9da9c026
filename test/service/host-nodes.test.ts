import t, { type Test } from 'tap';
import { askOverGrpc, askOverHttp, getPage, grpcTo } from '../support/asking.ts';
import { request } from '../support/decisions.ts';
import { HOST_NODES } from '../support/host-nodes.ts';
import { reply, startPushWorker } from '../support/push-workers.ts';
import { type ServiceProcess, startService } from '../support/service.ts';
import { newTenant, startTasksService } from '../support/tasks/tasks-service.ts';

// Where the packaged Node.js does not run, that of the host serves. uWebSockets.js has a binary for Node.js 22 alone.

for (const { version, path, missing } of HOST_NODES) {
  t.test(`Node.js ${version} of a host`, { skip: missing }, async t => {
    const service = await startTasksService(t, { WORKER_THREADS: '1' }, { node: path });
    await t.test('decides over gRPC and HTTP', t => decisions(t, service));
    await t.test('keeps tasks in SQLite and pushes them', t => tasks(t, service));
    await t.test(
      'without tasks, says in one line which HTTP engine serves, where it is not the usual one',
      async t => {
        const decisions = await startService({
          node: path,
          env: { FORCE_START_WITHOUT_INITIAL_CONFIG: 'true' },
        });
        const lines = decisions.logs.filter(line => /uWebSockets/.test(JSON.stringify(line)));
        const cause = { level: 'warning', error: /^Cannot find module '.*uws_.*\.node'$/ };
        t.match(lines, version.startsWith('22.') ? [] : [cause]);
        t.equal(lines.length, version.startsWith('22.') ? 0 : 1, JSON.stringify(lines));
        await decisions.terminate();
      },
    );
    t.match(await service.terminate(), { status: 0, signal: null });
    const faults = service.logs.filter(line => /error|fatal/.test(String(line['level'])));
    t.same(faults, [], service.output);
  });
}

async function decisions(t: Test, service: ServiceProcess): Promise<void> {
  const client = grpcTo(t, service.grpc);
  t.equal((await askOverGrpc(client, request('demo', 'user=ann'))).statuses[0].limitRemaining, 4);
  const body = { domain: 'demo', descriptors: [{ entries: [{ key: 'user', value: 'ann' }] }] };
  t.match(await askOverHttp(service.http, body), {
    status: 200,
    body: { statuses: [{ limitRemaining: 3 }] },
  });
  t.equal((await getPage(service.debug, '/rlconfig')).status, 200);
  t.equal((await getPage(service.http, '/readyz')).status, 200);
}

async function tasks(t: Test, service: ServiceProcess): Promise<void> {
  const acme = await newTenant(service);
  const mailer = await startPushWorker(t, reply(200));
  await acme.make('workers', { name: 'mailer', url: mailer.url() });
  const { id } = await acme.make('tasks', { worker: 'mailer', payload: { to: 'ann' } });
  t.match(await acme.taskIn(id, 'succeeded'), { id, worker: 'mailer' });
  const events = (await acme.history(id)).map(({ event }) => event);
  t.ok(events.includes('created') && events.includes('succeeded'), events.join(', '));
}
