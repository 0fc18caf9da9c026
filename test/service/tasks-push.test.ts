import { writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { Authority } from '../support/certificates.ts';
import { headerOf, reply, startPushWorker } from '../support/push-workers.ts';
import { newTenant, startTasksService } from '../support/tasks/tasks-service.ts';
import { tempDirectory } from '../support/temp-directory.ts';

// Settings of pushes in the whole program.

/** Says when a thread begins with pushes. */
const WATCHING = `
  import { writeSync } from 'node:fs';
  import { registerHooks } from 'node:module';
  import { threadId } from 'node:worker_threads';
  registerHooks({
    load(url, context, next) {
      if (url.endsWith('/workers/deliver.js')) writeSync(2, 'pushes from thread ' + threadId + '\\n');
      return next(url, context);
    },
  });`;

t.test('where tasks are pushed to, how many at once, and what becomes of them at a stop', async t => {
  const authority = new Authority('Test CA');
  const directory = tempDirectory(t);
  const ca = join(directory, 'ca.crt');
  writeFileSync(ca, authority.certificate);
  const { certificate, key } = authority.issue({ subject: 'worker', names: ['127.0.0.1'] });
  const secure = await startPushWorker(t, reply(200), { cert: certificate, key });
  const waiting: Socket[] = [];
  const plain = await startPushWorker(t, socket => void waiting.push(socket));
  const data = join(directory, 'data');
  const service = await startTasksService(t, {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(WATCHING)}`,
    TASKS_DATA_DIRECTORY: data,
    TASKS_PUSH_HTTP: 'true',
    TASKS_PUSH_NETWORKS: '127.0.0.0/8',
    TASKS_PUSH_PORTS: '25,587',
    TASKS_PUSH_CACERT: ca,
    TASKS_PUSH_THREADS: '2',
    TASKS_PUSH_CONCURRENCY: '2',
    TASKS_DRAIN_TIMEOUT: '100ms',
  });
  const acme = await newTenant(service);
  const url = (text: string) =>
    acme.ask('POST /workers', { name: `w${text.replace(/\W+/g, '-')}`, url: text });
  t.match(await url('https://127.0.0.1:587/'), { status: 201 }, 'TASKS_PUSH_PORTS');
  t.match(await url('https://127.0.0.1:22/'), { status: 422, json: { code: 'invalid_url' } });
  t.match(await url('https://10.0.0.1/'), { status: 422, json: { code: 'forbidden_address' } });

  await acme.make('workers', { name: 'secure', url: secure.url() });
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const first = await acme.ask('POST /tasks', { worker: 'secure' }, { traceparent, tracestate: 'a=1' });
  await acme.taskIn(first.json.id, 'succeeded');
  const [pushed] = secure.requests;
  t.same([headerOf(pushed, 'traceparent'), headerOf(pushed, 'tracestate')], [traceparent, 'a=1']);
  t.equal(secure.requests.length, 1, 'TASKS_PUSH_CACERT: a certificate that it signed is trusted');
  await service.written(/pushes from thread[\s\S]*pushes from thread/);
  t.equal(service.output.match(/pushes from thread/g)?.length, 2, 'TASKS_PUSH_THREADS');

  await acme.make('workers', { name: 'plain', url: plain.url(), concurrency: 100 });
  const ids: string[] = [];
  for (let number = 0; number < 6; number++) ids.push((await acme.make('tasks', { worker: 'plain' })).id);
  // Two in slots; one more once these take long enough to leave them.
  await plain.received(3);
  await acme.ask('GET /limits');
  t.equal(plain.requests.length, 3, 'TASKS_PUSH_CONCURRENCY: others wait for an answer');
  for (const socket of waiting.splice(0)) reply(200)(socket);
  await plain.received(6);

  const end = await service.terminate();
  t.match(end, { status: 0, signal: null }, 'three attempts had no answer yet');
  t.match(
    service.output,
    /The drain time is over; running attempts are aborted and their tasks returned to the queue/,
  );

  const next = await startTasksService(t, {
    TASKS_DATA_DIRECTORY: data,
    TASKS_PUSH_HTTP: 'false',
    TASKS_PUSH_NETWORKS: '10.9.0.0/16',
  });
  const same = acme.at(next.http);
  for (const id of ids.slice(3)) {
    const entry = (await same.history(id)).find(({ event }) => event === 'released');
    t.match(entry, { from: 'running', to: 'retry' }, 'handed back');
    // Without the settings nothing is pushed there, also not for a worker that was made with them.
    const refusal = /forbidden_address|invalid_url/;
    const task = await same.taskUntil(id, ({ last_error: error }) => refusal.test(error?.code));
    t.match(task, { attempt: 1 }, 'the attempt that was handed back does not count');
  }
  t.equal(plain.requests.length, 6);
  const refused = await same.ask('POST /workers', { name: 'x', url: plain.url() });
  t.match(refused, { status: 422, json: { code: 'invalid_url', detail: /https:\/\// } }, 'TASKS_PUSH_HTTP');
  const inside = await same.ask('POST /workers', { name: 'x', url: secure.url() });
  t.match(inside, { status: 422, json: { code: 'forbidden_address' } }, 'TASKS_PUSH_NETWORKS');
});
