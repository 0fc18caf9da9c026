import type { GroupRules } from '../../../src/tasks/model/documents.ts';
import type { Task } from '../../../src/tasks/model/task.ts';
import type { ClaimRequest } from '../../../src/tasks/store/requests.ts';
import type { Topic } from './exam.ts';
import { ACME, type Scene } from './scene.ts';

type Bounds = Partial<Pick<ClaimRequest, 'concurrency' | 'rate' | 'tenantInFlight' | 'tenantPerSecond'>>;

/** What blocks the mailer and the reporter. */
function blocksOf(scene: Scene, bounds: Bounds = {}) {
  const { concurrency = null, rate = null, tenantInFlight = 1_000, tenantPerSecond = 1_000 } = bounds;
  const workers = [scene.mailer, scene.reporter].map(({ id }) => ({
    workerId: id,
    concurrency,
    rate,
    inGroup: null,
  }));
  return scene.store.blocks(ACME, { workers, tenantInFlight, tenantPerSecond });
}

/** New tasks of the mailer, one in each group. */
async function addAll(scene: Scene, groups: readonly string[]): Promise<Task[]> {
  const tasks: Task[] = [];
  for (const group of groups) tasks.push(await scene.add({ group }));
  return tasks;
}

/** What blocks tasks of the mailer. */
function groupBlocks(scene: Scene, rules: GroupRules, tasks: readonly Task[], bounds: Bounds = {}) {
  const { concurrency = null, rate = null, tenantInFlight = 1_000, tenantPerSecond = 1_000 } = bounds;
  const workers = tasks.map(({ id, group }) => {
    const inGroup = { group: group!, rules, taskId: id };
    return { workerId: scene.mailer.id, concurrency, rate, inGroup };
  });
  return scene.store.blocks(ACME, { workers, tenantInFlight, tenantPerSecond });
}

export const blocked: Topic = test => {
  test('nothing blocks workers that never ran anything, those of nobody, or none at all', async (scene, t) => {
    t.strictSame(await blocksOf(scene, { concurrency: 1, tenantInFlight: 1 }), [null, null]);
    const workers = [{ workerId: 'wrk_nobody', concurrency: 1, rate: null, inGroup: null }];
    const bounds = { tenantInFlight: 1, tenantPerSecond: 1 };
    t.strictSame(await scene.store.blocks('nobody', { ...bounds, workers }), [null]);
    t.strictSame(await scene.store.blocks(ACME, { ...bounds, workers: [] }), []);
  });

  test('what runs blocks the worker by its concurrency, and all by that of the tenant', async (scene, t) => {
    await scene.add();
    const { leaseId } = await scene.startOne();
    t.strictSame(await blocksOf(scene, { concurrency: 1 }), ['concurrency', null]);
    t.strictSame(await blocksOf(scene, { tenantInFlight: 1 }), ['tenant_in_flight', 'tenant_in_flight']);
    t.strictSame(await blocksOf(scene, { concurrency: 2, tenantInFlight: 2 }), [null, null]);
    await scene.end(leaseId, 'succeeded');
    t.strictSame(await blocksOf(scene, { concurrency: 1, tenantInFlight: 1 }), [null, null]);
  });

  test('a bucket blocks until it has a token, and looking takes none', async (scene, t) => {
    const rate = { limit: 1, perMs: 10_000, burst: 1 };
    await scene.add();
    await scene.startOne({ rate });
    t.strictSame(await blocksOf(scene, { rate }), ['rate', null]);
    scene.clock.advance(9_999);
    for (const _ of [1, 2]) t.strictSame(await blocksOf(scene, { rate }), ['rate', null]);
    scene.clock.advance(1);
    for (const _ of [1, 2]) t.strictSame(await blocksOf(scene, { rate }), [null, null]);
  });

  test('the starts of a second block all workers of the tenant', async (scene, t) => {
    await scene.add();
    await scene.startOne({ tenantPerSecond: 1 });
    const both = ['tenant_rate', 'tenant_rate'];
    t.strictSame(await blocksOf(scene, { tenantPerSecond: 1 }), both);
    scene.clock.advance(1_000);
    t.strictSame(await blocksOf(scene, { tenantPerSecond: 1 }), [null, null]);
  });

  test('a throttled worker is blocked for so long, whatever else would block it', async (scene, t) => {
    await scene.add();
    const { leaseId } = await scene.startOne();
    await scene.end(leaseId, 'deferred', { throttleMs: 5_000 });
    t.strictSame(await blocksOf(scene, { tenantInFlight: 0 }), ['throttled', 'tenant_in_flight']);
    scene.clock.advance(5_000);
    t.strictSame(await blocksOf(scene), [null, null]);
  });

  test('a group blocks its tasks while as many of them run as it may have', async (scene, t) => {
    const rules = { concurrency: 2, fifo: false };
    const tasks = await addAll(scene, ['a', 'a', 'a', 'b']);
    t.strictSame(await groupBlocks(scene, rules, tasks), [null, null, null, null]);
    const [first] = (await scene.claim(2, { groups: rules })).tasks;
    t.strictSame(await groupBlocks(scene, rules, tasks.slice(2)), ['group', null]);
    t.strictSame(await groupBlocks(scene, { ...rules, concurrency: 3 }, tasks.slice(2)), [null, null]);
    t.strictSame(
      await groupBlocks(scene, rules, tasks.slice(2), { concurrency: 2 }),
      ['group', 'concurrency'],
      'the group before the bounds of the worker',
    );
    await scene.end(first.leaseId, 'succeeded');
    t.strictSame(await groupBlocks(scene, rules, tasks.slice(2)), [null, null]);
  });

  test('in a fifo group every waiting task but the first is blocked', async (scene, t) => {
    const rules = { concurrency: 1, fifo: true };
    const tasks = await addAll(scene, ['a', 'a', 'b']);
    const sooner = await scene.add({ group: 'a', runAt: scene.now - 1, expiresAt: scene.now + 1_000 });
    t.strictSame(await groupBlocks(scene, rules, [sooner, ...tasks]), [null, 'group', 'group', null]);
    scene.clock.advance(1_000);
    t.strictSame(await groupBlocks(scene, rules, tasks), [null, 'group', null], 'it has expired');
    const { leaseId } = await scene.startOne({ groups: rules });
    t.strictSame(await groupBlocks(scene, rules, tasks.slice(1)), ['group', null]);
    await scene.end(leaseId, 'attempt_failed', { delayMs: 60_000 });
    t.strictSame(await groupBlocks(scene, rules, tasks.slice(1)), ['group', null], 'the first is retried');
    await scene.changed(tasks[0].id, 'pause');
    t.strictSame(await groupBlocks(scene, rules, tasks.slice(1)), [null, null]);
  });
};
