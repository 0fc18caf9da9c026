import t from 'tap';
import { FailingStore } from '../../support/failing-store.ts';
import { DeskScene } from '../../support/quota/desk-scene.ts';
import { record, sharedRecords } from '../../support/steering.ts';
import { embeddedStore } from '../../support/stores.ts';

/** A desk with rules of the domain `api`. */
function sceneOf(
  descriptors: string,
  more: Partial<ConstructorParameters<typeof DeskScene>[0]> = {},
): DeskScene {
  return new DeskScene({ rules: `{ domain: api, descriptors: [${descriptors}] }`, ...more });
}

const PER_MINUTE = 'rate_limit: { unit: minute, requests_per_unit: 6000 }';
const USER = `{ key: user, ${PER_MINUTE} }`;
const ALLOW_ALL = [{ bucket: 'user=ann', kind: 'allow_all', tokens: 0, intervalS: 0, ttlS: 10 }];
const DENY_ALL = [{ ...ALLOW_ALL[0], kind: 'deny_all' }];

t.test('a bucket with a limit gets a token bucket for ten seconds', async t => {
  const proxy = sceneOf(USER).open();
  const [{ bucket, kind, tokens, intervalS, ttlS }] = await proxy.reports('user=ann');
  t.same(
    { bucket, kind, intervalS, ttlS },
    { bucket: 'user=ann', kind: 'token_bucket', intervalS: 1, ttlS: 10 },
  );
  t.ok(tokens >= 1);
});

t.test('a bucket without a rule is allowed everything', async t => {
  t.same(await sceneOf('{ key: plan }').open().reports('user=ann'), ALLOW_ALL);
  t.same(await sceneOf('{ key: user }').open().reports('user=ann'), ALLOW_ALL, 'a rule without a limit');
  const ofOthers = new DeskScene({ rules: `{ domain: others, descriptors: [${USER}] }` });
  t.same(await ofOthers.open().reports('user=ann'), ALLOW_ALL, 'a domain without rules');
});

t.test('an unlimited bucket is allowed everything', async t => {
  const proxy = sceneOf('{ key: user, rate_limit: { unlimited: true } }').open();
  t.same(await proxy.reports('user=ann'), ALLOW_ALL);
});

t.test('a limit of 0 denies everything', async t => {
  const proxy = sceneOf('{ key: user, rate_limit: { unit: minute, requests_per_unit: 0 } }').open();
  t.same(await proxy.reports('user=ann'), DENY_ALL);
});

t.test('a limit in shadow mode is counted, and allows everything', async t => {
  const scenes = [
    sceneOf(`{ key: user, shadow_mode: true, ${PER_MINUTE} }`),
    sceneOf(USER, { isShadow: true }),
    sceneOf('{ key: user, shadow_mode: true, rate_limit: { unit: minute, requests_per_unit: 0 } }'),
  ];
  for (const scene of scenes) {
    const proxy = scene.open();
    t.same(await proxy.reports('user=ann', 7), ALLOW_ALL);
    t.same(await proxy.reports('user=ann', 8), ALLOW_ALL);
  }
  t.equal(await scenes[0].counted('user=ann'), 15);
});

t.test('of several limits, one in shadow mode only counts', async t => {
  const scene = sceneOf(`{ key: user, rate_limits: [
    { name: few, shadow_mode: true, unit: minute, requests_per_unit: 1 },
    { name: many, unit: minute, requests_per_unit: 6000 },
  ] }`);
  const proxy = scene.open();
  await proxy.reports('user=ann', 10);
  await scene.pass(1_000);
  const [{ kind, tokens }] = await proxy.reports('user=ann', 10);
  t.equal(kind, 'token_bucket');
  t.ok(tokens > 10, `${tokens} tokens`);
});

t.test('a ban denies, a pass allows, and an override changes the limit, from the next report on', async t => {
  const shared = sharedRecords();
  const scene = sceneOf(USER, { steering: shared.buffer });
  const proxy = scene.open();
  const next = async (...records: Parameters<typeof record>[]) => {
    shared.publish(records.map(each => record(each[0], each[1], { ...each[2], domain: 'api' })));
    await scene.pass(1_000);
    return proxy.reports('user=ann', 0, 40);
  };
  await proxy.reports('user=ann');
  t.match(await next(), [{ kind: 'token_bucket' }]);
  t.same(await next(['ban', 'user=ann']), DENY_ALL);
  t.same(await next(['pass', 'user=ann']), ALLOW_ALL);
  t.same(await next(['override', 'user=ann', { requests_per_unit: 0 }]), DENY_ALL);
  t.match(await next(['override', 'user=ann', { requests_per_unit: 3000 }]), [{ kind: 'token_bucket' }]);
  const [{ tokens }] = await next();
  t.ok(tokens > 45 && tokens <= 50, `${tokens} for 40 requests a second`);
  t.match(await next(['ban', 'user=bob']), [{ kind: 'token_bucket' }]);
});

t.test(
  'a limit with a penalty or with leases cannot be divided: everything is allowed, nothing counted',
  async t => {
    const penalty = '{ for: 10m }';
    const scenes = [
      sceneOf(`{ key: user, rate_limit: { unit: minute, requests_per_unit: 1, penalty: ${penalty} } }`),
      sceneOf(
        '{ key: user, holder: id, rate_limit: { unit: minute, requests_per_unit: 1, reserve: { for: 10s } } }',
      ),
      sceneOf('{ key: user, holder: id, rate_limit: { concurrency: { limit: 1, for: 10s } } }'),
    ];
    for (const scene of scenes) {
      const proxy = scene.open();
      for (let report = 0; report < 3; report++) {
        t.same(await proxy.reports('user=ann', 5), ALLOW_ALL);
        await scene.pass(1_000);
      }
      t.same(
        [...scene.desk.buckets].map(({ isUnserved }) => isUnserved),
        [true],
      );
      t.ok(await scene.asks('user=ann,id=2'), 'the limit is not used');
    }
  },
);

t.test('the store is not asked about a bucket that has one answer for all requests', async t => {
  const rules = [
    '{ key: plan }',
    '{ key: user, rate_limit: { unit: minute, requests_per_unit: 0 } }',
    '{ key: user, rate_limit: { unit: minute, requests_per_unit: 1, penalty: { for: 10m } } }',
    '{ key: user, holder: id, rate_limit: { concurrency: { limit: 1, for: 10s } } }',
  ];
  for (const rule of rules) {
    const store = new FailingStore(embeddedStore());
    await sceneOf(rule, { store }).open().reports('user=ann', 5);
    t.same(store.asked, [], rule);
  }
});

t.test(
  'a proxy that is denied everything gets a grant when the next window begins, before it reports',
  async t => {
    const scene = sceneOf('{ key: user, rate_limit: { unit: minute, requests_per_unit: 600 } }');
    const proxy = scene.open();
    t.ok(await scene.asks('user=ann', 600));
    t.match(await proxy.reports('user=ann', 0, 10), [{ kind: 'deny_all' }]);
    // The minute has 40 s left.
    for (let second = 0; second < 39; second++) await scene.pass(1_000);
    t.same(proxy.sent(), []);
    await scene.pass(1_250);
    t.match(proxy.sent(), [{ kind: 'token_bucket' }]);
  },
);
