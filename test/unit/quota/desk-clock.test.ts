import t from 'tap';
import { DeskScene } from '../../support/quota/desk-scene.ts';

const HOUR_MS = 3_600_000;

function rulesPer(unit: string): string {
  return `{ domain: api, descriptors: [{ key: user, rate_limit: { unit: ${unit}, requests_per_unit: 600 } }] }`;
}

for (const [what, byMs] of [
  ['back', -HOUR_MS],
  ['forward', HOUR_MS],
] as const)
  t.test(`the clock is set ${what} by an hour: proxies get grants again, and they are paid`, async t => {
    const scene = new DeskScene({ rules: rulesPer('minute') });
    const { clock } = scene.decisions;
    const proxy = scene.open();
    const second = async () => {
      await scene.pass(1_000);
      return proxy.reports('user=ann', 10);
    };
    for (let i = 0; i < 5; i++) t.match(await second(), [{ kind: 'token_bucket' }]);
    clock.moveTo(clock.nowMs() + byMs);
    for (let i = 0; i < 3; i++) await second();
    const [{ kind, tokens, ttlS }] = await second();
    t.same([kind, ttlS], ['token_bucket', 10]);
    t.ok((await scene.counted('user=ann')) >= 40 + 10 * tokens, 'what it may admit is paid');
    await scene.pass(1_000);
    for (const { limits } of scene.desk.buckets) t.ok(limits[0].windows.length <= 3);
  });

t.test('the clock is set back: windows of a second that have ended are forgotten', async t => {
  const scene = new DeskScene({ rules: rulesPer('second') });
  const { clock } = scene.decisions;
  const proxy = scene.open();
  for (let i = 0; i < 3; i++) {
    await proxy.reports('user=ann', 10);
    await scene.pass(1_000);
  }
  clock.moveTo(clock.nowMs() - HOUR_MS);
  let most = 0;
  for (let i = 0; i < 100; i++) {
    await scene.pass(1_000);
    await proxy.reports('user=ann', 10);
    for (const { limits } of scene.desk.buckets) most = Math.max(most, limits[0].windows.length);
  }
  t.ok(most <= 30, `${most} windows`);
});

t.test('two proxies divide a limit equally after the clock was set back', async t => {
  const scene = new DeskScene({ rules: rulesPer('second') });
  const { clock } = scene.decisions;
  const proxies = [scene.open(), scene.open()];
  const second = async () => {
    for (const proxy of proxies) await proxy.reports('user=ann', 300, 400);
    await scene.pass(1_000);
  };
  for (let i = 0; i < 5; i++) await second();
  clock.moveTo(clock.nowMs() - HOUR_MS);
  await second();
  const asked: number[] = [];
  for (const bucket of scene.desk.buckets) asked.push(bucket.askedInterval);
  for (let i = 0; i < 5; i++) await second();
  for (const bucket of scene.desk.buckets)
    t.not(bucket.askedInterval, asked[0], 'sums of demand are written');
});
