import type { Test } from 'tap';
import t from 'tap';
import { requestHead } from '../../../../../src/tasks/delivery/request-head.ts';
import { keptHeaders } from '../../../../../src/tasks/model/task-headers.ts';
import { ACME, answered, EngineScene } from '../../../../support/tasks/engine-scene.ts';

const SEALED = 'sealed';

const TRACE = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: '',
};

/** A worker whose tasks name their URLs, with a signing secret and a confidential header, and two tasks of it. */
async function opened(t: Test) {
  const scene = await EngineScene.open();
  const dataKey = { masterKeyId: 'm', wrapped: 'w' };
  await scene.store.apply(SEALED, [scene.make.account(SEALED, { dataKey })]);
  const process = await scene.process(t);
  const worker = await scene.worker({ url: null, taskUrls: true }, SEALED);
  await scene.store.apply(SEALED, [
    scene.make.secret(worker.id, { sealed: 'gningis' }),
    scene.make.secret(worker.id, { type: 'header', name: 'x-api-key', sealed: 'terces' }),
  ]);
  const tasks = ['https://a.example.com/', 'https://b.example.com/'].map(url =>
    scene.make.newTask(
      worker,
      {},
      { body: { payload: null, headers: keptHeaders({ 'x-a': 'b' }, { url, trace: TRACE }) }, wake: true },
    ),
  );
  await scene.store.create(SEALED, scene.make.createRequest(tasks));
  await scene.pass(1_010, 10);
  return { scene, process, worker, ids: tasks.map(({ task }) => task.id) };
}

t.test('tasks are pushed to the URLs that they name, signed, and without confidential headers', async t => {
  const { process } = await opened(t);
  const { requests } = process.deliveries;
  t.same(
    requests.map(({ worker }) => worker.url),
    ['https://a.example.com/', 'https://b.example.com/'],
  );
  for (const request of requests) {
    t.same(request.signing, ['signing']);
    t.same(request.secretHeaders, {});
    const head = requestHead({ ...request, signing: [] }, Buffer.alloc(0), 'sluice', 0);
    t.ok(head.includes('x-a'));
    t.notOk(
      head.some(name => name.startsWith(':')),
      'what is beside the headers is not sent as one',
    );
    t.same(request.trace, TRACE, 'the attempt has the trace context of the task');
  }
});

t.test('a receiver that is gone or busy does not stop the tasks of others', async t => {
  const { scene, process, worker, ids } = await opened(t);
  process.deliveries.answer(ids[0], answered(410));
  process.deliveries.answer(ids[1], answered(503, { retryAfterMs: 3_600_000 }));
  await scene.pass(100, 10);
  t.equal((await scene.workerBody(worker.id, SEALED)).paused, false);
  t.same(await scene.statuses(ids, SEALED), ['failed', 'retry']);
  const body = { payload: null, headers: keptHeaders({}, { url: 'https://c.example.com/' }) };
  const later = scene.make.newTask(worker, {}, { body, wake: true });
  await scene.store.create(SEALED, scene.make.createRequest([later]));
  await scene.pass(1_010, 10);
  t.same(process.deliveries.running, [later.task.id]);
});

t.test('a task of another worker goes to the URL of the worker', async t => {
  const scene = await EngineScene.open();
  const process = await scene.process(t);
  const worker = await scene.worker({ url: 'https://own.example.com/' });
  const body = { payload: null, headers: keptHeaders({}, { url: 'https://a.example.com/' }) };
  await scene.store.create(
    ACME,
    scene.make.createRequest([scene.make.newTask(worker, {}, { body, wake: true })]),
  );
  await scene.pass(1_010, 10);
  t.equal(process.deliveries.requests[0].worker.url, 'https://own.example.com/');
});
