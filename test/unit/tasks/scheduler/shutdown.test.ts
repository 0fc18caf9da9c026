import { ACME, EngineScene, type Process } from '../../../support/tasks/engine-scene.ts';
import { PULLER } from '../../../support/tasks/factories.ts';
import { testsOf } from '../../../support/tests-of.ts';

const test = testsOf(() => EngineScene.open());
const serving = testsOf(EngineScene.serving);

/** Asks for a stop; `over` says whether it has ended. */
function stopping(process: Process): { over: boolean } {
  const state = { over: false };
  void process.engine.stop().then(() => {
    state.over = true;
  });
  return state;
}

serving('a stop waits for pushes, and stores how they ended', async ({ scene, process, worker }, t) => {
  const ids = await scene.add(worker, 2, {}, { heardBy: process });
  await scene.turn();
  const stop = stopping(process);
  await scene.pass(10_000, 50);
  t.equal(stop.over, false);
  process.deliveries.answerAll();
  await scene.pass(10);
  t.equal(stop.over, true);
  t.same(await scene.statuses(ids), ['succeeded', 'succeeded']);
  t.equal(process.deliveries.stopped, 1);
});

test('what is not over when the drain time is, is ended and handed back uncounted', async (scene, t) => {
  const process = await scene.process(t, { drainMs: 5_000 });
  const worker = await scene.worker();
  const [slow, quick] = await scene.add(worker, 2, {}, { heardBy: process });
  await scene.turn();
  const stop = stopping(process);
  await scene.pass(1_000);
  process.deliveries.answer(quick);
  await scene.pass(3_900);
  t.equal(stop.over, false);
  await scene.pass(200);
  t.equal(stop.over, true);
  t.equal((await scene.get(quick)).status, 'succeeded');
  t.match(await scene.get(slow), { status: 'retry', attempt: 0, deferrals: 1 });
  t.same(await scene.events(slow), ['created', 'started', 'released']);
});

test('a delivery that does not end when it is asked to is released nevertheless', async (scene, t) => {
  const process = await scene.process(t, { drainMs: 1_000 });
  process.deliveries.abort = () => {};
  const [id] = await scene.add(await scene.worker(), 1, {}, { heardBy: process });
  await scene.turn();
  const stop = stopping(process);
  await scene.pass(2_100);
  t.equal(stop.over, true);
  t.same(await scene.events(id), ['created', 'started', 'released']);
  process.deliveries.answer(id);
  await scene.pass(10);
  t.same(await scene.events(id), ['created', 'started', 'released'], 'what it says later is not heard');
});

serving('nothing is claimed after a stop was asked for', async ({ scene, process, worker }, t) => {
  const [first] = await scene.add(worker, 1, {}, { heardBy: process });
  await scene.turn();
  stopping(process);
  await scene.turn();
  const claims = scene.store.asked.claim;
  await scene.add(worker, 3, {}, { heardBy: process });
  await scene.pass(5_000, 50);
  t.equal(scene.store.asked.claim, claims);
  process.deliveries.answer(first);
  await scene.pass(10);
});

serving('tasks that are being claimed are released', async ({ scene, process, worker }, t) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  scene.store.claiming = promise;
  const [id] = await scene.add(worker, 1, {}, { heardBy: process });
  await scene.turn();
  const stop = stopping(process);
  await scene.turn();
  resolve();
  await scene.pass(10);
  t.equal(stop.over, true);
  t.same(process.deliveries.requests, []);
  t.match(await scene.get(id), { status: 'retry', attempt: 0 });
});

test('a task can be canceled while pushes are awaited, here and elsewhere', async (scene, t) => {
  const process = await scene.process(t);
  const [here, elsewhere] = await scene.add(await scene.worker(), 2, {}, { heardBy: process });
  await scene.turn();
  const stop = stopping(process);
  for (const id of [here, elsewhere]) {
    const actor = { type: 'user', id: 'usr_1' } as const;
    await scene.store.change(ACME, id, { action: 'cancel', patch: {}, expectVersion: null, actor });
  }
  process.signals.tell('cancelRequested', ACME, here);
  await scene.turn();
  t.same(process.deliveries.running, [elsewhere]);
  await scene.pass(2_100);
  t.equal(stop.over, true);
  t.same(await scene.statuses([here, elsewhere]), ['canceled', 'canceled']);
});

test('calls of pull workers are answered at once', async (scene, t) => {
  const process = await scene.process(t);
  const worker = await scene.worker({ mode: 'pull', url: null });
  const lease = process.engine.pullDesk.lease({
    tenant: ACME,
    workerId: worker.id,
    max: 1,
    waitMs: 30_000,
    leaseMs: null,
    actor: PULLER,
    allowed: async () => {},
    gone: new AbortController().signal,
  });
  await scene.pass(1_000);
  stopping(process);
  t.same(await lease, []);
});

test('after a stop no timer is left', async (scene, t) => {
  const process = await scene.process(t);
  const worker = await scene.worker({ concurrency: 1 });
  await scene.add(worker, 3, {}, { heardBy: process });
  await scene.add(worker, 1, { runAt: scene.clock.nowMs() + 1_000 }, { heardBy: process });
  await scene.turn();
  const stop = stopping(process);
  process.deliveries.answerAll();
  await scene.pass(100);
  t.equal(stop.over, true);
  await process.clock.stop();
  t.equal(scene.clock.pending, 0);
});

test('a stop before the start, and a second one, are harmless', async (scene, t) => {
  const { engine } = await scene.process(t);
  await engine.stop();
  await engine.stop();
});
