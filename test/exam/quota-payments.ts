import type { Test } from 'tap';
import type { CounterStore } from '../../src/counters/store.ts';
import { DeskScene, type SceneProxy } from '../support/quota/desk-scene.ts';
import type { Exemptions } from './exemptions.ts';

type Open = (t: Test) => Promise<CounterStore>;

const REQUESTS = 600;

/** What quotas need of every counter store that can take hits back. `open` gives a started, empty store. */
export function quotaExam(t: Test, open: Open, exempt: Exemptions = {}): void {
  const sceneOf = async (inner: Test, limit: string) =>
    new DeskScene({
      rules: `{ domain: api, descriptors: [{ key: user, rate_limit: { ${limit} } }] }`,
      store: await open(inner),
    });
  paysAhead(t, sceneOf);
  isSeenByCallers(t, sceneOf);
  givesBack(t, sceneOf);
  t.test('limits whose hits the store admits', { skip: exempt.admission ?? false }, async t => {
    for (const algorithm of ['sliding_window', 'token_bucket'])
      await sharesLevel(t, sceneOf, `unit: minute, requests_per_unit: ${REQUESTS}, algorithm: ${algorithm}`);
    const classes = 'classes: { key: tier, high: 100%, low: 50% }';
    await sharesLevel(t, sceneOf, `unit: minute, requests_per_unit: ${REQUESTS}, ${classes}`);
  });
}

type SceneOf = (t: Test, limit: string) => Promise<DeskScene>;

/** A proxy that has reported requests for some seconds, all of which were denied, so that it gets a large grant. */
async function eagerProxy(scene: DeskScene, rate: number): Promise<SceneProxy> {
  const proxy = scene.open();
  for (let second = 0; second < 4; second++) {
    await proxy.reports('user=ann', 0, rate);
    await scene.pass(1_000);
  }
  return proxy;
}

function paysAhead(t: Test, sceneOf: SceneOf): void {
  t.test('windows that have not begun are paid for, as long as a grant lasts', async t => {
    const scene = await sceneOf(t, 'unit: second, requests_per_unit: 100');
    const proxy = await eagerProxy(scene, 50);
    const [{ tokens, ttlS }] = await proxy.reports('user=ann', 0, 50);
    proxy.close();
    await scene.pass(0);
    for (let second = 0; second < ttlS; second++) {
      t.equal(await scene.counted('user=ann'), tokens, `after ${second} s`);
      await scene.pass(1_000);
    }
    await scene.pass(2_000);
    t.equal(await scene.counted('user=ann'), 0, 'the grant has ended');
  });
}

function isSeenByCallers(t: Test, sceneOf: SceneOf): void {
  t.test('callers get what proxies have left, and no more', async t => {
    const scene = await sceneOf(t, `unit: minute, requests_per_unit: ${REQUESTS}`);
    await eagerProxy(scene, 20);
    const paid = await scene.counted('user=ann');
    t.ok(paid > 200 && paid < REQUESTS, `${paid} are paid`);
    t.notOk(await scene.asks('user=ann', REQUESTS - paid + 1));
    await scene.pass(60_000);
    t.ok(await scene.asks('user=ann', REQUESTS), 'the next minute');
  });
}

function givesBack(t: Test, sceneOf: SceneOf): void {
  t.test(
    'what a proxy does not need any more is given back, also in windows that have not begun',
    async t => {
      const scene = await sceneOf(t, 'unit: second, unit_multiplier: 10, requests_per_unit: 2000');
      const proxy = await eagerProxy(scene, 100);
      await proxy.reports('user=ann', 0, 100);
      const paid = await scene.counted('user=ann');
      for (let second = 0; second < 4; second++) {
        await proxy.reports('user=ann', 0, 0);
        await scene.pass(1_000);
      }
      await proxy.reports('user=ann', 0, 0);
      const now = await scene.counted('user=ann');
      t.ok(paid > 500 && now < 0.6 * paid, `${now} of ${paid}`);
      await scene.pass(10_000);
      const later = await scene.counted('user=ann');
      t.ok(later < 0.5 * paid, `${later} of ${paid} in the next window`);
    },
  );
}

async function sharesLevel(t: Test, sceneOf: SceneOf, limit: string): Promise<void> {
  await t.test(limit, async t => {
    const scene = await sceneOf(t, limit);
    const proxy = await eagerProxy(scene, 20);
    const paid = await scene.counted('user=ann');
    t.ok(paid > 0 && paid < REQUESTS, `${paid} are paid`);
    t.notOk(await scene.asks('user=ann', REQUESTS - paid + 20));
    for (let second = 0; second < 4; second++) {
      await scene.pass(1_000);
      await proxy.reports('user=ann', 0, 0);
    }
    const now = await scene.counted('user=ann');
    t.ok(now < paid, `${now} of ${paid}`);
  });
}
