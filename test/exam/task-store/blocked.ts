import type { ClaimRequest } from '../../../src/tasks/store/requests.ts';
import type { Topic } from './exam.ts';
import { ACME, type Scene } from './scene.ts';

type Bounds = Partial<Pick<ClaimRequest, 'concurrency' | 'rate' | 'tenantInFlight' | 'tenantPerSecond'>>;

/** What blocks the mailer and the reporter. */
function blocksOf(scene: Scene, bounds: Bounds = {}) {
  const { concurrency = null, rate = null, tenantInFlight = 1_000, tenantPerSecond = 1_000 } = bounds;
  const workers = [scene.mailer, scene.reporter].map(({ id }) => ({ workerId: id, concurrency, rate }));
  return scene.store.blocks(ACME, { workers, tenantInFlight, tenantPerSecond });
}

export const blocked: Topic = (t, open) => {
  t.test('nothing blocks workers that never ran anything, those of nobody, or none at all', async t => {
    const scene = await open(t);
    t.strictSame(await blocksOf(scene, { concurrency: 1, tenantInFlight: 1 }), [null, null]);
    const workers = [{ workerId: 'wrk_nobody', concurrency: 1, rate: null }];
    const bounds = { tenantInFlight: 1, tenantPerSecond: 1 };
    t.strictSame(await scene.store.blocks('nobody', { ...bounds, workers }), [null]);
    t.strictSame(await scene.store.blocks(ACME, { ...bounds, workers: [] }), []);
  });

  t.test('what runs blocks the worker by its concurrency, and all by that of the tenant', async t => {
    const scene = await open(t);
    await scene.add();
    const { leaseId } = await scene.startOne();
    t.strictSame(await blocksOf(scene, { concurrency: 1 }), ['concurrency', null]);
    t.strictSame(await blocksOf(scene, { tenantInFlight: 1 }), ['tenant_in_flight', 'tenant_in_flight']);
    t.strictSame(await blocksOf(scene, { concurrency: 2, tenantInFlight: 2 }), [null, null]);
    await scene.end(leaseId, 'succeeded');
    t.strictSame(await blocksOf(scene, { concurrency: 1, tenantInFlight: 1 }), [null, null]);
  });

  t.test('a bucket blocks until it has a token, and looking takes none', async t => {
    const scene = await open(t);
    const rate = { limit: 1, perMs: 10_000, burst: 1 };
    await scene.add();
    await scene.startOne({ rate });
    t.strictSame(await blocksOf(scene, { rate }), ['rate', null]);
    scene.clock.advance(9_999);
    for (const _ of [1, 2]) t.strictSame(await blocksOf(scene, { rate }), ['rate', null]);
    scene.clock.advance(1);
    for (const _ of [1, 2]) t.strictSame(await blocksOf(scene, { rate }), [null, null]);
  });

  t.test('the starts of a second block all workers of the tenant', async t => {
    const scene = await open(t);
    await scene.add();
    await scene.startOne({ tenantPerSecond: 1 });
    const both = ['tenant_rate', 'tenant_rate'];
    t.strictSame(await blocksOf(scene, { tenantPerSecond: 1 }), both);
    scene.clock.advance(1_000);
    t.strictSame(await blocksOf(scene, { tenantPerSecond: 1 }), [null, null]);
  });

  t.test('a throttled worker is blocked for so long, whatever else would block it', async t => {
    const scene = await open(t);
    await scene.add();
    const { leaseId } = await scene.startOne();
    await scene.end(leaseId, 'deferred', { throttleMs: 5_000 });
    t.strictSame(await blocksOf(scene, { tenantInFlight: 0 }), ['throttled', 'tenant_in_flight']);
    scene.clock.advance(5_000);
    t.strictSame(await blocksOf(scene), [null, null]);
  });
};
