import { Signals } from '../../../../../src/tasks/model/signals.ts';
import { WorkerSwitch } from '../../../../../src/tasks/scheduler/workers/worker-pauses.ts';
import { Directory } from '../../../../../src/tasks/store/directory.ts';
import { KeepingLogger } from '../../../../support/keeping-logger.ts';
import { ACME, EngineScene, NOON } from '../../../../support/tasks/engine-scene.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(open);

async function open() {
  const scene = await EngineScene.open();
  const signals = new Signals();
  const changed: string[] = [];
  signals.listen({ workerChanged: (_tenant, workerId) => changed.push(workerId) });
  const workerSwitch = new WorkerSwitch({
    store: scene.store,
    directory: new Directory(scene.store, scene.clock),
    signals,
    logger: new KeepingLogger(),
  });
  return { scene, workerSwitch, changed };
}

test('a pause keeps what somebody else changes meanwhile', async ({ scene, workerSwitch, changed }, t) => {
  const worker = await scene.worker();
  const { apply } = scene.store;
  scene.store.apply = async (...request) => {
    scene.store.apply = apply;
    await scene.change(worker, { url: 'https://new.example.com/' });
    return apply.call(scene.store, ...request);
  };
  await workerSwitch.pause(ACME, worker.id, worker.body, 'why not');
  t.match(await scene.workerBody(worker.id), {
    paused: true,
    pauseReason: 'why not',
    url: 'https://new.example.com/',
  });
  t.same(changed, [worker.id]);
  t.ok(await scene.store.findDocument(ACME, 'name:worker:mailer'), 'and its name');
});

test('a worker that is paused already keeps its reason', async ({ scene, workerSwitch, changed }, t) => {
  const worker = await scene.worker({ paused: true, pauseReason: 'holidays', resumeAt: NOON + 1_000 });
  await workerSwitch.pause(ACME, worker.id, worker.body, 'why not');
  await workerSwitch.pause(ACME, 'wrk_missing', worker.body, 'why not');
  t.match(await scene.workerBody(worker.id), { pauseReason: 'holidays', resumeAt: NOON + 1_000 });
  t.same(changed, []);
});

test('a worker goes on when its time has come, not before', async ({ scene, workerSwitch }, t) => {
  const worker = await scene.worker({ paused: true, pauseReason: 'lunch', resumeAt: NOON + 1_000 });
  await workerSwitch.resume(ACME, worker.id);
  t.match(await scene.workerBody(worker.id), { paused: true });
  scene.clock.advance(1_000);
  await workerSwitch.resume(ACME, worker.id);
  t.match(await scene.workerBody(worker.id), { paused: false, pauseReason: null, resumeAt: null });
  t.same(await scene.store.wakeups(scene.clock.nowMs(), 10), [
    { tenant: ACME, workerId: worker.id, at: scene.clock.nowMs() },
  ]);
});

test('a due document with nothing to resume is due no more', async ({ scene, workerSwitch }, t) => {
  const worker = scene.make.worker({ paused: true, resumeAt: null }, { dueAt: NOON });
  await scene.store.apply(ACME, [worker]);
  t.equal((await scene.store.dueDocuments(10)).length, 1);
  await workerSwitch.resume(ACME, worker.id);
  t.same(await scene.store.dueDocuments(10), []);
  t.match(await scene.workerBody(worker.id), { paused: true });
});

test('of two processes that resume a worker one does it', async ({ scene, workerSwitch, changed }, t) => {
  const worker = await scene.worker({ paused: true, resumeAt: NOON });
  await Promise.all([workerSwitch.resume(ACME, worker.id), workerSwitch.resume(ACME, worker.id)]);
  t.equal((await scene.store.getDocument(ACME, 'worker', worker.id))?.version, 2);
  t.equal(changed.length, 1);
});
