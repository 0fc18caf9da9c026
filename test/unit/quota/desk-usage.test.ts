import t from 'tap';
import { DeskScene } from '../../support/quota/desk-scene.ts';

function sceneOf(limit: string): DeskScene {
  return new DeskScene({ rules: `{ domain: api, descriptors: [{ key: user, rate_limit: { ${limit} } }] }` });
}

const LIED = 2 ** 53;

t.test(
  'reported requests are hits in the statistics of the rule, also those of a stream that has closed',
  async t => {
    const scene = sceneOf('unit: minute, requests_per_unit: 6000');
    const [proxy, other] = [scene.open(), scene.open()];
    await proxy.reports('user=ann', 10, 5);
    const reported = other.reports('user=ann', 7);
    other.close();
    await reported;
    await scene.desk.idle();
    t.same(scene.decisions.rule('api.user'), { total_hits: 22, within_limit: 17, over_limit: 5 });
    t.equal(scene.decisions.counter('ratelimit.quota.allowed'), 17);
    t.equal(scene.decisions.counter('ratelimit.quota.denied'), 5);
  },
);

t.test('payments and refunds are no hits in the statistics of the rule', async t => {
  const scene = sceneOf('unit: minute, requests_per_unit: 6000');
  const proxy = scene.open();
  await proxy.reports('user=ann', 0);
  for (let second = 0; second < 20; second++) {
    await scene.pass(1_000);
    await proxy.reports('user=ann', 0);
  }
  proxy.close();
  await scene.desk.idle();
  t.same(scene.decisions.rule('api.user'), {});
});

t.test(
  'requests that a proxy has allowed without a grant are counted, also if its stream closes at once',
  async t => {
    const scene = sceneOf('unit: minute, requests_per_unit: 6000');
    const proxy = scene.open();
    await proxy.reports('user=ann', 0);
    const reported = proxy.reports('user=ann', 1_000);
    proxy.close();
    await reported;
    await scene.desk.idle();
    t.ok((await scene.counted('user=ann')) >= 1_000);
  },
);

t.test('the first report of a stream that closes before it is looked at is counted', async t => {
  const scene = sceneOf('unit: minute, requests_per_unit: 6000');
  const proxy = scene.open();
  const reported = proxy.reports('user=ann', 1_000);
  proxy.close();
  await reported;
  await scene.desk.idle();
  t.equal(await scene.counted('user=ann'), 1_000);
});

t.test('a report that arrives in a new window is counted in it, also if its stream closes', async t => {
  const scene = sceneOf('unit: minute, requests_per_unit: 6000');
  const proxy = scene.open();
  await proxy.reports('user=ann', 0);
  await scene.pass(600_000);
  const reported = proxy.reports('user=ann', 1_000);
  proxy.close();
  await reported;
  await scene.desk.idle();
  t.equal(await scene.counted('user=ann'), 1_000);
});

t.test('a proxy that reports huge numbers uses up a fixed window, and no more than that', async t => {
  const scene = sceneOf('unit: minute, requests_per_unit: 6000');
  const proxy = scene.open();
  for (let report = 0; report < 3; report++) {
    await proxy.reports('user=ann', LIED, LIED);
    await scene.pass(1_000);
  }
  t.match(await proxy.reports('user=ann', 1), [{ kind: 'deny_all' }]);
  await scene.pass(60_000);
  await proxy.reports('user=ann', 10);
  await scene.pass(1_000);
  t.match(await proxy.reports('user=ann', 10), [{ kind: 'token_bucket' }]);
  t.ok((await scene.counted('user=ann')) < 6_000);
  t.same(scene.decisions.logger.lines, []);
});

for (const algorithm of ['sliding_window', 'token_bucket'])
  t.test(`a ${algorithm} has room again when a proxy that reported huge numbers has gone`, async t => {
    const scene = sceneOf(`unit: minute, requests_per_unit: 6000, algorithm: ${algorithm}`);
    const [liar, honest] = [scene.open(), scene.open()];
    await liar.reports('user=ann', LIED);
    await honest.reports('user=ann', 10);
    liar.close();
    for (let second = 0; second < 150; second++) {
      await scene.pass(1_000);
      await honest.reports('user=ann', 1, 10);
    }
    const [action] = await honest.reports('user=ann', 1, 10);
    t.equal(action?.kind ?? 'kept', 'token_bucket');
  });

for (const algorithm of ['fixed_window', 'sliding_window', 'token_bucket'])
  t.test(`a ${algorithm} in shadow mode counts what fits`, async t => {
    const limit = `unit: minute, requests_per_unit: 100, algorithm: ${algorithm}`;
    const scene = new DeskScene({
      rules: `{ domain: api, descriptors: [{ key: user, shadow_mode: true, rate_limit: { ${limit} } }] }`,
    });
    const proxy = scene.open();
    await proxy.reports('user=ann', 60);
    await proxy.reports('user=ann', 1_000);
    await proxy.reports('user=ann', 1_000);
    t.equal(await scene.counted('user=ann'), 100);
  });

t.test('the demand of the others stays exact when a proxy has reported huge numbers', async t => {
  const scene = sceneOf('unit: minute, requests_per_unit: 6000');
  const [liar, honest] = [scene.open(), scene.open()];
  for (let report = 0; report < 3; report++) {
    await liar.reports('user=ann', LIED, LIED);
    await honest.reports('user=ann', 10);
    await scene.pass(1_000);
  }
  const reported = liar.reports('user=ann', LIED);
  liar.close();
  await reported;
  await honest.reports('user=ann', 10);
  for (const { demand } of scene.desk.buckets) t.ok(Math.abs(demand - 10) < 0.1, `${demand} a second`);
});
