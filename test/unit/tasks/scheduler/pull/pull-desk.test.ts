import t from 'tap';
import { Fault } from '../../../../../src/base/fault.ts';
import type { LeaseRequest } from '../../../../../src/tasks/scheduler/pull/pull-line.ts';
import type { PutDocument } from '../../../../../src/tasks/store/documents.ts';
import { each } from '../../../../support/each.ts';
import {
  ACME,
  EngineScene,
  type Process,
  type ProcessOptions,
} from '../../../../support/tasks/engine-scene.ts';
import { PULLER } from '../../../../support/tasks/factories.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(open);

async function open(
  t: Tap,
  options: ProcessOptions = {},
  worker: Partial<PutDocument<'worker'>['body']> = {},
) {
  const scene = await EngineScene.open();
  const process = await scene.process(t, options);
  const puller = await scene.worker({ mode: 'pull', url: null, ...worker });
  return { scene, process, puller, desk: process.engine.pullDesk };
}
type Tap = Parameters<EngineScene['process']>[0];

/** Asks for tasks; `ids` is null until there is an answer. */
function asking(process: Process, workerId: string, request: Partial<LeaseRequest> = {}) {
  const call: { ids: string[] | null; leases: string[]; failure: unknown } = {
    ids: null,
    leases: [],
    failure: null,
  };
  const whole = {
    ...{ tenant: ACME, workerId, max: 1, waitMs: 30_000, leaseMs: null, actor: PULLER },
    ...{ gone: new AbortController().signal, allowed: async () => {}, ...request },
  };
  process.engine.pullDesk.lease(whole).then(
    tasks => {
      call.ids = tasks.map(({ task }) => task.id);
      call.leases = tasks.map(({ leaseId }) => leaseId);
    },
    (failure: unknown) => {
      call.failure = failure;
    },
  );
  return call;
}

test('a call that does not wait is answered with nothing', async ({ scene, process, puller }, t) => {
  const call = asking(process, puller.id, { waitMs: 0 });
  await scene.turn();
  t.same(call.ids, []);
  const behind = asking(process, puller.id);
  const quick = asking(process, puller.id, { waitMs: 0 });
  await scene.turn();
  t.same(quick.ids, [], 'also behind one that waits');
  t.equal(behind.ids, null);
});

test('a call that waits has its task at once, or within a second', async ({ scene, process, puller }, t) => {
  const first = asking(process, puller.id);
  await scene.pass(300);
  const [here] = await scene.add(puller, 1, {}, { heardBy: process });
  await scene.turn();
  t.same(first.ids, [here]);
  const second = asking(process, puller.id);
  await scene.pass(300);
  const [elsewhere] = await scene.add(puller);
  await scene.pass(1_000);
  t.same(second.ids, [elsewhere]);
  const third = asking(process, puller.id);
  const [later] = await scene.add(puller, 1, { runAt: scene.clock.nowMs() + 450 }, { heardBy: process });
  await scene.pass(449, 1);
  t.equal(third.ids, null);
  await scene.pass(1);
  t.same(third.ids, [later], 'to the millisecond');
});

test('a call ends when its time is over', async ({ scene, process, puller }, t) => {
  const call = asking(process, puller.id, { waitMs: 5_000 });
  await scene.pass(4_990);
  t.equal(call.ids, null);
  await scene.pass(10);
  t.same(call.ids, []);
});

test('calls are served in the order in which they came', async ({ scene, process, puller }, t) => {
  const calls = Array.from({ length: 4 }, () => asking(process, puller.id));
  await scene.turn();
  const ids = await scene.add(puller, 3, {}, { heardBy: process });
  await scene.turn();
  t.same(each(calls, 'ids'), [[ids[0]], [ids[1]], [ids[2]], null]);
});

test('a hundred calls that wait cost a claim a second', async ({ scene, process, puller }, t) => {
  for (let count = 0; count < 100; count++) asking(process, puller.id, { waitMs: 10_000 });
  await scene.turn();
  const before = scene.store.asked.claim;
  await scene.pass(9_900);
  t.ok(scene.store.asked.claim - before <= 10, `${scene.store.asked.claim - before} claims in ten seconds`);
});

t.test('however many workers have calls that wait, they cost a thousand claims a second at most', async t => {
  const { scene, process } = await open(t, { maxWaitingPulls: 3_000 });
  const workers = Array.from({ length: 1_500 }, (_, at) =>
    scene.make.worker({ name: `puller-${at}`, mode: 'pull', url: null }),
  );
  await scene.store.apply(ACME, workers);
  const calls = workers.map(({ id }) => asking(process, id));
  await scene.turn();
  const before = scene.store.asked.claim;
  await scene.pass(3_000, 500);
  const claims = scene.store.asked.claim - before;
  t.ok(claims <= 3_000, `${claims} claims in three seconds`);
  await scene.add(workers[0], 1, {}, { heardBy: process });
  await scene.add(workers[1]);
  await scene.turn();
  t.equal(calls[0].ids?.length, 1, 'what is made here is given out at once');
  await scene.pass(1_500, 500);
  t.equal(calls[1].ids?.length, 1, 'and what others make when it is the next turn of its worker');
});

test('what was claimed for a caller that has gone is handed back', async ({ scene, process, puller }, t) => {
  const caller = new AbortController();
  const call = asking(process, puller.id, { gone: caller.signal });
  await scene.turn();
  const { promise, resolve } = Promise.withResolvers<void>();
  scene.store.claiming = promise;
  const [id] = await scene.add(puller, 1, {}, { heardBy: process });
  await scene.turn();
  caller.abort();
  await scene.turn();
  t.same(call.ids, []);
  resolve();
  await scene.turn();
  t.match(await scene.get(id), { status: 'retry', attempt: 0, deferrals: 1 });
  const gone = asking(process, puller.id, { gone: AbortSignal.abort() });
  await scene.turn();
  t.same(gone.ids, []);
});

t.test('calls above the maximum are rejected', async t => {
  const { scene, process, puller } = await open(t, { maxWaitingPulls: 9 });
  const first = asking(process, puller.id, { waitMs: 1_000 });
  asking(process, puller.id);
  const third = asking(process, puller.id);
  await scene.turn();
  t.ok(third.failure instanceof Fault && third.failure.code === 'overloaded');
  await scene.pass(1_000);
  t.same(first.ids, []);
  const fourth = asking(process, puller.id, { waitMs: 0 });
  await scene.turn();
  t.same(fourth.ids, [], 'until one has ended');
});

t.test('however many calls of twenty tenants wait, there is room for those of another', async t => {
  const { scene, process, puller } = await open(t, { maxWaitingPulls: 320 });
  const many = Array.from({ length: 400 }, () => asking(process, puller.id));
  await scene.turn();
  t.equal(many.filter(({ failure }) => failure === null).length, 110, 'a third of the places, for one alone');
  for (let count = 0; count <= 20; count++) {
    const tenant = `other-${count}`;
    await scene.store.apply(tenant, [scene.make.account(tenant)]);
    const { id } = await scene.worker({ mode: 'pull', url: null }, tenant);
    const calls = Array.from({ length: 400 }, () => asking(process, id, { tenant }));
    await scene.turn();
    t.equal(calls[0].failure, null, `there is room for ${tenant}`);
  }
  await scene.pass(30_000, 500);
  const again = asking(process, puller.id);
  await scene.turn();
  t.equal(again.failure, null, 'and again when they have been answered');
});

test('a failing store fails the calls that wait', async ({ scene, process, puller }, t) => {
  const calls = [asking(process, puller.id), asking(process, puller.id)];
  await scene.turn();
  scene.store.fault = operation => (operation === 'claim' ? 'before' : 'none');
  await scene.pass(1_000);
  for (const call of calls) t.ok(call.failure instanceof Fault && call.failure.code === 'store_failed');
  scene.store.fault = () => 'none';
  const [id] = await scene.add(puller);
  const after = asking(process, puller.id);
  await scene.turn();
  t.same(after.ids, [id]);
});

t.test('a paused worker, one of a suspended account, and a push worker get nothing', async t => {
  const { scene, process, puller } = await open(t, {}, { paused: true });
  const [id] = await scene.add(puller);
  const call = asking(process, puller.id);
  const pushed = await scene.worker({ name: 'pushed' });
  await scene.add(pushed, 1, { runAt: scene.clock.nowMs() + 60_000 });
  const other = asking(process, pushed.id, { waitMs: 0 });
  await scene.pass(3_000);
  t.equal(call.ids, null);
  t.same(other.ids, []);
  await scene.change(puller, { paused: false }, process);
  await scene.turn();
  t.same(call.ids, [id], 'until it goes on');
});

t.test('a worker at its concurrency gets the next task when one ends', async t => {
  const { scene, process, puller, desk } = await open(t, {}, { concurrency: 1 });
  const ids = await scene.add(puller, 2);
  const first = asking(process, puller.id, { max: 2 });
  const second = asking(process, puller.id);
  await scene.turn();
  t.same(first.ids, [ids[0]]);
  await desk.leases.end(ACME, first.leases[0], { kind: 'complete', result: '{"n":1}' }, PULLER);
  await scene.turn();
  t.same(second.ids, [ids[1]]);
  t.equal((await scene.store.getWhole(ACME, ids[0]))?.body.result, '{"n":1}');
});

test('complete can be repeated; a lost lease is counted', async ({ scene, process, puller, desk }, t) => {
  await scene.add(puller);
  const call = asking(process, puller.id);
  await scene.turn();
  const complete = { kind: 'complete', result: null } as const;
  t.match(await desk.leases.end(ACME, call.leases[0], complete, PULLER), { kind: 'settled' });
  t.match(await desk.leases.end(ACME, call.leases[0], complete, PULLER), { kind: 'already' });
  t.match(await desk.leases.end(ACME, 'f'.repeat(32), complete, PULLER), { kind: 'lost' });
  t.equal(new Map(process.stats.counters()).get('tasks.settle_rejected'), 1);
});

test('a failure waits by the policy, or as the worker says', async ({ scene, process, puller, desk }, t) => {
  const retry = { ...puller.body.retry, jitter: 0, maxAgeMs: 3_600_000 };
  const ids = await scene.add(puller, 4, { retry });
  const { leases } = await leased(scene, process, puller.id, 4);
  const error = { code: 'smtp', message: 'no route' };
  const failure = { kind: 'fail', error, retry: true, retryAfterMs: null } as const;
  await desk.leases.end(ACME, leases[0], failure, PULLER);
  await desk.leases.end(ACME, leases[1], { ...failure, retryAfterMs: 60_000 }, PULLER);
  await desk.leases.end(ACME, leases[2], { ...failure, retry: false }, PULLER);
  await desk.leases.end(ACME, leases[3], { ...failure, retryAfterMs: 3_600_000 }, PULLER);
  const now = scene.clock.nowMs();
  t.match(await scene.get(ids[0]), { status: 'retry', dueAt: now + 5_000, lastError: { code: 'smtp' } });
  t.match(await scene.get(ids[1]), { status: 'retry', dueAt: now + 60_000 });
  t.match(await scene.get(ids[2]), { status: 'failed', lastError: { message: 'no route' } });
  t.match(await scene.get(ids[3]), { status: 'failed' }, 'the age of the policy would be over');
  t.same(await scene.events(ids[2]), ['created', 'started', 'no_retry']);
});

async function leased(scene: EngineScene, process: Process, workerId: string, max: number) {
  const call = asking(process, workerId, { max });
  await scene.turn();
  return call;
}

t.test('the tasks of a worker that dies are due again when its lease is over, within a second', async t => {
  const { scene, process, puller } = await open(t, {}, { leaseMs: 10_000 });
  const [id] = await scene.add(puller);
  await leased(scene, process, puller.id, 1);
  await scene.pass(10_000 - 10);
  t.equal((await scene.get(id)).status, 'running');
  await scene.pass(1_010);
  t.match(await scene.get(id), { status: 'retry', lastError: { code: 'lease_expired' } });
});

test('a caller whose access was revoked meanwhile gets no task', async ({ scene, process, puller }, t) => {
  let revoked = false;
  const problem = new Error('the token is not valid here');
  const allowed = async () => {
    if (revoked) throw problem;
  };
  const calls = [asking(process, puller.id, { allowed }), asking(process, puller.id, { allowed })];
  const other = asking(process, puller.id);
  await scene.turn();
  revoked = true;
  const [id] = await scene.add(puller, 1, {}, { heardBy: process });
  await scene.pass(20);
  t.same(each(calls, 'failure'), [problem, problem]);
  t.same(other.ids, [id]);
  t.match(await scene.get(id), { status: 'running', attempt: 1 }, 'what was handed back does not count');
});

test('a caller revoked behind another one is told in the end', async ({ scene, process, puller }, t) => {
  let revoked = false;
  const allowed = async () => {
    if (revoked) throw new Error('revoked');
  };
  const first = asking(process, puller.id);
  const behind = asking(process, puller.id, { allowed, waitMs: 2_000 });
  await scene.turn();
  revoked = true;
  await scene.pass(2_000);
  t.match(behind.failure, { message: 'revoked' });
  t.equal(first.ids, null, 'others wait on');
});

test('a caller that waits first in line is checked once a second', async ({ scene, process, puller }, t) => {
  let revoked = false;
  const allowed = async () => {
    if (revoked) throw new Error('revoked');
  };
  const call = asking(process, puller.id, { allowed });
  await scene.turn();
  revoked = true;
  await scene.pass(1_000);
  t.match(call.failure, { message: 'revoked' });
});
