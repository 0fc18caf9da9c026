import type { ClaimRequest } from '../../../src/tasks/store/requests.ts';
import { READ_BYTES } from '../../../src/tasks/store/task-store.ts';
import type { Topic } from './exam.ts';
import { ACME, type Scene } from './scene.ts';

/** Adds so many due tasks of the mailer. */
async function addMany(scene: Scene, count: number): Promise<void> {
  await scene.create(Array.from({ length: count }, () => scene.newTask()));
}

/** What a claim of many answers, in short. */
async function outcome(scene: Scene, rest: Partial<ClaimRequest>, max = 100) {
  const { tasks, now, nextAt, blocked } = await scene.claim(max, rest);
  return { started: tasks.length, in: nextAt === null ? null : nextAt - now, blocked };
}

export const claimBounds: Topic = test => {
  test('a worker has no more attempts at once than its concurrency', async (scene, t) => {
    await addMany(scene, 5);
    const bound = { concurrency: 3 };
    t.strictSame(await outcome(scene, bound, 2), { started: 2, in: 0, blocked: null });
    const { tasks } = await scene.claim(5, bound);
    t.equal(tasks.length, 1);
    t.strictSame(await outcome(scene, bound), { started: 0, in: 1_000, blocked: 'concurrency' });
    await scene.end(tasks[0].leaseId, 'attempt_failed', { delayMs: 60_000 });
    t.strictSame(await outcome(scene, bound), { started: 1, in: 1_000, blocked: 'concurrency' });
    t.strictSame(await outcome(scene, { concurrency: 1 }), { started: 0, in: 1_000, blocked: 'concurrency' });
    t.strictSame(await outcome(scene, { concurrency: null }), { started: 1, in: 60_000, blocked: null });
  });

  test('attempts of other workers do not count for it, but for the tenant', async (scene, t) => {
    await scene.create([scene.make.newTask(scene.reporter), scene.make.newTask(scene.reporter)]);
    await scene.store.claim(ACME, scene.make.claimRequest(scene.reporter.id, 2));
    await addMany(scene, 5);
    t.strictSame(await outcome(scene, { concurrency: 1 }, 1), { started: 1, in: 0, blocked: null });
    const bound = { tenantInFlight: 5 };
    t.strictSame(await outcome(scene, bound), { started: 2, in: 1_000, blocked: 'tenant_in_flight' });
    t.strictSame(await outcome(scene, { tenantInFlight: 4 }), {
      started: 0,
      in: 1_000,
      blocked: 'tenant_in_flight',
    });
  });

  test('an attempt makes room however it ends', async (scene, t) => {
    const events = [
      'succeeded',
      'attempt_failed',
      'timed_out',
      'deferred',
      'released',
      'no_retry',
      'canceled',
    ] as const;
    await addMany(scene, events.length + 1);
    for (const event of events) {
      const { leaseId } = await scene.startOne({ concurrency: 1, tenantInFlight: 1 });
      await scene.end(leaseId, event, { delayMs: 60_000 });
    }
    t.strictSame(await outcome(scene, { concurrency: 1, tenantInFlight: 1 }), {
      started: 1,
      in: 60_000,
      blocked: null,
    });
  });

  test('the bucket of a worker is full at first, and refilled as time passes', async (scene, t) => {
    await addMany(scene, 20);
    const bound = { rate: { limit: 2, perMs: 1_000, burst: 4 } };
    t.strictSame(await outcome(scene, bound), { started: 4, in: 500, blocked: 'rate' });
    scene.clock.advance(250);
    t.strictSame(await outcome(scene, bound), { started: 0, in: 250, blocked: 'rate' });
    scene.clock.advance(250);
    t.strictSame(await outcome(scene, bound), { started: 1, in: 500, blocked: 'rate' });
    scene.clock.advance(1_250);
    t.strictSame(await outcome(scene, bound), { started: 2, in: 250, blocked: 'rate' });
    scene.clock.advance(60_000);
    t.strictSame(await outcome(scene, bound), { started: 4, in: 500, blocked: 'rate' }, 'up to the burst');
  });

  test('a token that takes less than a millisecond is waited for a millisecond', async (scene, t) => {
    await addMany(scene, 3);
    const bound = { rate: { limit: 5_000, perMs: 1_000, burst: 1 } };
    t.strictSame(await outcome(scene, bound), { started: 1, in: 1, blocked: 'rate' });
  });

  test('rates that are no whole number of milliseconds keep their fractions', async (scene, t) => {
    await addMany(scene, 40);
    const bound = { rate: { limit: 7, perMs: 1_000, burst: 2 } };
    const starts: number[] = [];
    for (let passed = 0; passed < 3_000; ) {
      const { started, in: wait } = await outcome(scene, bound);
      if (started > 0) starts.push(passed);
      passed += wait!;
      scene.clock.advance(wait!);
    }
    t.equal(starts.length, 21, 'three seconds of seven each');
    t.strictSame(starts.slice(0, 4), [0, 143, 286, 429]);
  });

  test('a bucket is refilled while nothing is due', async (scene, t) => {
    await addMany(scene, 3);
    const bound = { rate: { limit: 1, perMs: 1_000, burst: 3 } };
    await scene.claim(3, bound);
    scene.clock.advance(1_500);
    t.strictSame(await outcome(scene, bound), { started: 0, in: null, blocked: null });
    scene.clock.advance(500);
    await addMany(scene, 5);
    t.strictSame(await outcome(scene, bound), { started: 2, in: 1_000, blocked: 'rate' });
  });

  test('another rate takes over what is in the bucket, up to its burst', async (scene, t) => {
    await addMany(scene, 30);
    await scene.claim(2, { rate: { limit: 1, perMs: 1_000, burst: 10 } });
    const smaller = { rate: { limit: 1, perMs: 1_000, burst: 5 } };
    t.strictSame(await outcome(scene, smaller, 1), { started: 1, in: 0, blocked: null });
    const larger = { rate: { limit: 1, perMs: 500, burst: 20 } };
    scene.clock.advance(1_000);
    t.strictSame(await outcome(scene, larger), { started: 6, in: 500, blocked: 'rate' });
  });

  test('the tenant starts no more in a second than is allowed, over all workers', async (scene, t) => {
    await addMany(scene, 5);
    await scene.create(Array.from({ length: 5 }, () => scene.make.newTask(scene.reporter)));
    const bound = { tenantPerSecond: 4 };
    t.strictSame(await outcome(scene, bound, 3), { started: 3, in: 0, blocked: null });
    const other = scene.make.claimRequest(scene.reporter.id, 5, bound);
    t.match(await scene.store.claim(ACME, other), { tasks: { length: 1 }, blocked: 'tenant_rate' });
    t.strictSame(await outcome(scene, bound), { started: 0, in: 250, blocked: 'tenant_rate' });
    scene.clock.advance(250);
    t.strictSame(await outcome(scene, bound), { started: 1, in: 250, blocked: 'tenant_rate' });
  });

  test('an attempt that is not counted has cost its token all the same', async (scene, t) => {
    await addMany(scene, 2);
    const bound = { rate: { limit: 1, perMs: 1_000, burst: 1 } };
    await scene.end((await scene.startOne(bound)).leaseId, 'released');
    t.strictSame(await outcome(scene, bound), { started: 0, in: 1_000, blocked: 'rate' });
  });

  test('a claim ends when the bodies of its tasks come to its bound of bytes', async (scene, t) => {
    const body = { payload: JSON.stringify('x'.repeat(READ_BYTES / 4)), headers: {} };
    await scene.create(Array.from({ length: 9 }, () => scene.newTask({}, { body })));
    const bound = { concurrency: 7, tenantPerSecond: 7 };
    t.strictSame(await outcome(scene, bound), { started: 4, in: 0, blocked: null });
    t.strictSame(
      await outcome(scene, bound),
      { started: 3, in: 1_000, blocked: 'concurrency' },
      'what was not started took nothing of other bounds',
    );
    scene.clock.advance(1_000);
    t.strictSame(await outcome(scene, {}), { started: 2, in: null, blocked: null });
  });

  test('a task whose body alone is larger starts', async (scene, t) => {
    const body = { payload: JSON.stringify('x'.repeat(2 * READ_BYTES)), headers: {} };
    await scene.create([scene.newTask({}, { body }), scene.newTask()]);
    const { tasks, now, nextAt } = await scene.claim(2);
    t.strictSame([tasks.length, nextAt], [1, now]);
    t.equal(tasks[0].body.payload, body.payload);
    t.strictSame(await outcome(scene, {}), { started: 1, in: null, blocked: null });
  });

  test('a worker that asked for a pause is given nothing until it is over', async (scene, t) => {
    await addMany(scene, 3);
    const { leaseId } = await scene.startOne();
    await scene.end(leaseId, 'deferred', { throttleMs: 5_000, delayMs: 60_000 });
    t.strictSame(await outcome(scene, {}), { started: 0, in: 5_000, blocked: 'throttled' });
    scene.clock.advance(4_999);
    t.strictSame(await outcome(scene, {}), { started: 0, in: 1, blocked: 'throttled' });
    scene.clock.advance(1);
    t.strictSame(await outcome(scene, {}), { started: 2, in: 55_000, blocked: null });
  });

  test('the longest pause counts, and no other worker has to wait', async (scene, t) => {
    await addMany(scene, 4);
    const { tasks } = await scene.claim(3);
    const later = { delayMs: 60_000 };
    await scene.end(tasks[0].leaseId, 'deferred', { ...later, throttleMs: 5_000 });
    await scene.end(tasks[1].leaseId, 'deferred', { ...later, throttleMs: 2_000 });
    await scene.end(tasks[2].leaseId, 'attempt_failed', later);
    t.strictSame(await outcome(scene, {}), { started: 0, in: 5_000, blocked: 'throttled' });
    await scene.create([scene.make.newTask(scene.reporter)]);
    const other = await scene.store.claim(ACME, scene.make.claimRequest(scene.reporter.id, 1));
    t.equal(other.tasks.length, 1);
  });

  test('a settlement that came too late pauses nobody', async (scene, t) => {
    await addMany(scene, 2);
    const { leaseId } = await scene.startOne();
    await scene.end(leaseId, 'succeeded');
    await scene.settle(leaseId, 'succeeded', { throttleMs: 5_000 });
    await scene.settle(leaseId, 'deferred', { throttleMs: 5_000 });
    t.strictSame(await outcome(scene, {}), { started: 1, in: null, blocked: null });
  });

  test('nothing is blocked when nothing is due', async (scene, t) => {
    await addMany(scene, 1);
    await scene.end((await scene.startOne()).leaseId, 'deferred', { throttleMs: 5_000, delayMs: 9_000 });
    t.strictSame(await outcome(scene, { concurrency: 0 }), { started: 0, in: 9_000, blocked: null });
  });

  const rate = { limit: 1, perMs: 1_000, burst: 2 };
  const bounds: readonly [string, Partial<ClaimRequest>, number, string | null][] = [
    [
      'the least room',
      { concurrency: 3, rate, tenantInFlight: 1, tenantPerSecond: 4 },
      1,
      'tenant_in_flight',
    ],
    [
      'the worker before the tenant',
      { concurrency: 2, tenantInFlight: 2, tenantPerSecond: 2 },
      2,
      'concurrency',
    ],
    [
      'attempts before starts',
      { concurrency: 2, rate, tenantInFlight: 2, tenantPerSecond: 2 },
      2,
      'concurrency',
    ],
    ['the rate of the worker before the tenant', { rate, tenantInFlight: 2, tenantPerSecond: 2 }, 2, 'rate'],
    [
      'attempts of the tenant before its starts',
      { tenantInFlight: 2, tenantPerSecond: 2 },
      2,
      'tenant_in_flight',
    ],
    ['the starts of the tenant', { concurrency: 5, tenantInFlight: 4, tenantPerSecond: 3 }, 3, 'tenant_rate'],
    [
      'nothing where there is room for all',
      { concurrency: 6, tenantInFlight: 6, tenantPerSecond: 6 },
      6,
      null,
    ],
  ];
  for (const [name, bound, started, blocked] of bounds) {
    test(`of several bounds ${name} is named`, async (scene, t) => {
      await addMany(scene, 6);
      const answer = await outcome(scene, bound);
      t.strictSame([answer.started, answer.blocked], [started, blocked]);
    });
  }

  test('a claim of nothing tells what would block a claim of one task, and when to ask again', async (scene, t) => {
    await addMany(scene, 4);
    t.strictSame(await outcome(scene, {}, 0), { started: 0, in: 0, blocked: null });
    t.strictSame(await outcome(scene, { concurrency: 0 }, 0), {
      started: 0,
      in: 1_000,
      blocked: 'concurrency',
    });
    t.strictSame(await outcome(scene, { tenantInFlight: 0 }, 0), {
      started: 0,
      in: 1_000,
      blocked: 'tenant_in_flight',
    });
    t.equal((await outcome(scene, { rate }, 2)).started, 2);
    t.strictSame(await outcome(scene, { rate }, 0), { started: 0, in: 1_000, blocked: 'rate' });
    scene.clock.advance(1_000);
    t.strictSame(await outcome(scene, { rate }, 0), { started: 0, in: 0, blocked: null });
    t.strictSame(await outcome(scene, { rate }, 1), { started: 1, in: 0, blocked: null });
  });

  test('a throttle is named before all others', async (scene, t) => {
    await addMany(scene, 3);
    await scene.end((await scene.startOne()).leaseId, 'deferred', { throttleMs: 5_000 });
    const answer = await outcome(scene, { concurrency: 0, tenantInFlight: 0 });
    t.strictSame(answer, { started: 0, in: 5_000, blocked: 'throttled' });
  });
};
