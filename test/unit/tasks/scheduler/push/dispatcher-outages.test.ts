import { Fault } from '../../../../../src/base/fault.ts';
import { ACME, EngineScene } from '../../../../support/tasks/engine-scene.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(() => EngineScene.open());
const serving = testsOf(EngineScene.serving);

const down = (): 'before' => 'before';

serving('results are held while the store is away, then written', async ({ scene, process, worker }, t) => {
  const ids = await scene.add(worker, 3, {}, { heardBy: process });
  await scene.turn();
  scene.store.fault = down;
  process.deliveries.answerAll();
  await scene.pass(20_000, 50);
  t.same(await scene.statuses(ids), ['running', 'running', 'running']);
  scene.store.fault = () => 'none';
  await scene.pass(2_100);
  t.same(await scene.statuses(ids), ['succeeded', 'succeeded', 'succeeded']);
  t.match(
    process.logger.messages('error').filter(text => text.startsWith('The task store')),
    [/^The task store is unavailable/, 'The task store is available again'],
  );
});

serving('nothing is claimed of a store that is away, rarely asked', async ({ scene, process, worker }, t) => {
  scene.store.fault = down;
  const [id] = await scene.add(worker, 1, {}, { heardBy: process });
  await scene.pass(60_000, 50);
  t.ok(scene.store.asked.claim <= 2, `${scene.store.asked.claim} claims`);
  t.ok(scene.store.asked.ping <= 100, `${scene.store.asked.ping} pings in a minute`);
  scene.store.fault = () => 'none';
  await scene.pass(2_100);
  t.same(process.deliveries.running, [id]);
});

serving('an outcome whose lease is over is left to the reaper', async ({ scene, process, worker }, t) => {
  const [id] = await scene.add(worker, 1, { timeoutMs: 5_000 }, { heardBy: process });
  await scene.turn();
  scene.store.fault = down;
  process.deliveries.answerAll();
  await scene.pass(30_000, 50);
  t.match(process.logger.messages('warning'), [/Could not record the results of attempts/]);
  scene.store.fault = () => 'none';
  await scene.pass(3_000);
  t.same(await scene.events(id), ['created', 'started', 'lease_expired']);
  t.equal(new Map(process.stats.counters()).get('tasks.settle_rejected'), 1);
  t.equal(new Map(process.stats.counters()).get('tasks.leases_expired'), 1);
});

serving('a result whose answer was lost is written once more', async ({ scene, process, worker }, t) => {
  const [id] = await scene.add(worker, 1, {}, { heardBy: process });
  await scene.turn();
  let lost = 0;
  scene.store.fault = operation => (operation === 'settle' && lost++ === 0 ? 'after' : 'none');
  process.deliveries.answerAll();
  await scene.pass(3_000);
  t.same(await scene.events(id), ['created', 'started', 'succeeded']);
  t.equal(lost, 2);
  t.equal(new Map(process.stats.counters()).get('tasks.settle_rejected'), undefined);
});

serving('tasks whose claim was not answered are handed back', async ({ scene, process, worker }, t) => {
  let lost = 0;
  scene.store.fault = operation => (operation === 'claim' && lost++ === 0 ? 'after' : 'none');
  const retry = { ...worker.body.retry, maxAttempts: 1 };
  const [id] = await scene.add(worker, 1, { retry }, { heardBy: process });
  await scene.pass(2_000);
  t.same(process.deliveries.running, [id]);
  t.match(await scene.get(id), { status: 'running', attempt: 1, deferrals: 1 });
  t.same(await scene.events(id), ['created', 'started', 'released', 'started']);
});

serving('a store that reads and does not write is not stormed', async ({ scene, process, worker }, t) => {
  await scene.add(worker, 1, {}, { heardBy: process });
  scene.store.fault = operation => (['claim', 'settle'].includes(operation) ? 'before' : 'none');
  await scene.add(worker, 100);
  await scene.pass(60_000, 50);
  const writes = scene.store.asked.claim + scene.store.settled.length;
  t.ok(writes < 300, `${writes} writes in a minute`);
  t.ok(process.logger.messages('error').length <= 3, 'and a line a minute');
});

serving('a defect with one attempt leaves the others settled', async ({ scene, process, worker }, t) => {
  const ids = await scene.add(worker, 3, {}, { heardBy: process });
  await scene.turn();
  const { settle } = scene.store;
  scene.store.settle = async (tenant, settlements) => {
    if (settlements.some(({ result }) => result === '"bad"')) throw new TypeError('no such thing');
    return settle.call(scene.store, tenant, settlements);
  };
  t.teardown(() => {
    scene.store.settle = settle;
  });
  for (const [at, id] of ids.entries()) {
    process.deliveries.answer(id, {
      kind: 'answered',
      status: 200,
      durationMs: 1,
      http: null,
      result: at === 1 ? '"bad"' : null,
      retryAfterMs: null,
      noRetry: false,
      error: null,
    });
  }
  await scene.pass(20);
  t.same(await scene.statuses(ids), ['succeeded', 'running', 'succeeded']);
  t.match(process.logger.messages('error'), [/Could not record the result of an attempt/]);
});

test('outcomes that are held take up room: what is held stays bounded', async (scene, t) => {
  const process = await scene.process(t, { slots: 10 });
  const worker = await scene.worker();
  await scene.add(worker, 100, {}, { heardBy: process });
  await scene.turn();
  scene.store.fault = operation => (operation === 'settle' ? 'before' : 'none');
  for (let round = 0; round < 200; round++) {
    process.deliveries.answerAll();
    await scene.pass(50, 50);
  }
  t.ok(process.deliveries.requests.length <= 20, `${process.deliveries.requests.length} attempts`);
});

test('a stop tells the store what it can, and does not wait for ever', async (scene, t) => {
  const process = await scene.process(t);
  const [id] = await scene.add(await scene.worker(), 1, {}, { heardBy: process });
  await scene.turn();
  scene.store.fault = down;
  process.deliveries.answerAll();
  let over = false;
  const stopped = process.engine.stop().then(() => {
    over = true;
  });
  await scene.pass(4_000, 100);
  t.equal(over, false);
  await scene.pass(2_000, 100);
  t.equal(over, true);
  await stopped;
  t.equal((await scene.store.get(ACME, id))?.status, 'running');
});

test('what the store answers after a stop is over changes nothing, and nothing is left', async (scene, t) => {
  const process = await scene.process(t);
  await scene.add(await scene.worker(), 1, {}, { heardBy: process });
  await scene.turn();
  const answer = Promise.withResolvers<never>();
  let asked = 0;
  scene.store.settle = () => {
    asked++;
    return answer.promise;
  };
  process.deliveries.answerAll();
  const stopped = process.engine.stop();
  await scene.pass(6_000, 100);
  await stopped;
  answer.reject(new Fault('store_failed', 'no answer in time'));
  await scene.pass(60_000, 100);
  t.equal(asked, 1);
  await process.clock.stop();
  t.equal(scene.clock.pending, 0, 'no timer');
});
