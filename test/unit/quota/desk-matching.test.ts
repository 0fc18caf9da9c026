import t from 'tap';
import { DeskScene, pairsOf } from '../../support/quota/desk-scene.ts';
import { bucketId, usageReports } from '../../support/quota/model-proxy.ts';

const LIMIT = 'rate_limit: { unit: minute, requests_per_unit: 6000 }';

function sceneOf(descriptors: string): DeskScene {
  return new DeskScene({ rules: `{ domain: api, descriptors: [${descriptors}] }` });
}

t.test('entries in any order are the same bucket, with the order of the rule', async t => {
  const scene = sceneOf(`{ key: user, descriptors: [{ key: plan, ${LIMIT} }] }`);
  const [one, other] = [scene.open(), scene.open()];
  t.match(await one.reports('plan=free,user=ann'), [{ bucket: 'plan=free,user=ann', kind: 'token_bucket' }]);
  t.match(await other.reports('user=ann,plan=free'), [{ kind: 'token_bucket' }]);
  t.equal(scene.desk.bucketCount, 1);
  t.ok((await scene.counted('user=ann,plan=free')) > 0);
  t.equal(await scene.counted('user=bob,plan=free'), 0);
});

t.test('a proxy is answered with the id as it wrote it first', async t => {
  const scene = sceneOf(`{ key: user, ${LIMIT} }`);
  const sent: Uint8Array[] = [];
  const stream = scene.desk.open('', message => sent.push(message.slice()));
  const id = bucketId(pairsOf('user=ann'));
  const withUnknownField = Buffer.concat([id, Buffer.from([0x10, 0x01])]);
  for (const each of [withUnknownField, id]) {
    scene.desk.report(stream, usageReports('api', [{ id: each, allowed: 1, denied: 0 }]));
    await scene.desk.idle();
  }
  t.equal(scene.desk.bucketCount, 1);
  for (const message of sent) t.ok(Buffer.from(message).includes(withUnknownField));
});

t.test('values select the rule, as they do for descriptors', async t => {
  const scene = sceneOf(`
    { key: path, value: "/api/*", ${LIMIT} },
    { key: path, value: /api/free, rate_limit: { unlimited: true } },
    { key: path, value: /closed, rate_limit: { unit: minute, requests_per_unit: 0 } },
  `);
  const proxy = scene.open();
  t.match(await proxy.reports('path=/api/a'), [{ kind: 'token_bucket' }]);
  t.match(await proxy.reports('path=/api/free'), [{ kind: 'allow_all' }]);
  t.match(await proxy.reports('path=/closed'), [{ kind: 'deny_all' }]);
  t.match(await proxy.reports('path=/others'), [{ kind: 'allow_all' }]);
});

t.test('keys that two paths have in different orders have no rule', async t => {
  const scene = sceneOf(`
    { key: user, descriptors: [{ key: plan, ${LIMIT} }] },
    { key: plan, descriptors: [{ key: user, ${LIMIT} }] },
  `);
  t.match(await scene.open().reports('user=ann,plan=free'), [{ kind: 'allow_all' }]);
});

t.test('a bucket with more or fewer keys than a path has no rule', async t => {
  const scene = sceneOf(`{ key: user, descriptors: [{ key: plan, ${LIMIT} }] }`);
  const proxy = scene.open();
  t.match(await proxy.reports('user=ann'), [{ kind: 'allow_all' }]);
  t.match(await proxy.reports('user=ann,plan=free,more=1'), [{ kind: 'allow_all' }]);
});

t.test('a bucket of a class gets the share of its class', async t => {
  const scene = sceneOf(`{ key: model, rate_limit: { unit: minute, requests_per_unit: 6000,
    classes: { key: tier, critical: 100%, sheddable: 50% } } }`);
  const proxy = scene.open();
  t.match(await proxy.reports('model=large,tier=sheddable', 3_500), [{ kind: 'deny_all' }]);
  await proxy.reports('model=large,tier=critical', 0);
  await scene.pass(1_000);
  const sent = await proxy.reports('tier=critical,model=large', 0, 20);
  t.match(sent.filter(({ bucket }) => bucket === 'model=large,tier=critical').at(-1), {
    kind: 'token_bucket',
  });
});

t.test('values of all buckets that match one pattern share its counter', async t => {
  const scene = sceneOf(`{ key: file, value: "/videos/*", share_threshold: true, ${LIMIT} }`);
  const proxy = scene.open();
  await proxy.reports('file=/videos/a', 100);
  const one = await scene.counted('file=/videos/c');
  await proxy.reports('file=/videos/b', 100);
  t.ok(one >= 100 && (await scene.counted('file=/videos/c')) >= one + 100);
});

t.test('`share` is the part of the limit that proxies get, and `for` how long grants last', async t => {
  const scene = sceneOf(`{ key: user, quota: { share: 10%, for: 30s }, ${LIMIT} }`);
  const proxy = scene.open();
  await proxy.reports('user=ann', 0, 1_000);
  for (let second = 0; second < 5; second++) {
    await scene.pass(1_000);
    const [action] = await proxy.reports('user=ann', 0, 1_000);
    if (action !== undefined) t.match(action, { kind: 'token_bucket', ttlS: 30 });
  }
  const counted = await scene.counted('user=ann');
  t.ok(counted > 300 && counted <= 600, `${counted} of 6,000`);
});

t.test(
  'of several limits, the one with the least rate decides, and grants last for the shortest `for`',
  async t => {
    const scene = sceneOf(`{ key: user, quota: { for: 20s }, rate_limits: [
    { unit: day, requests_per_unit: 100000 }, { unit: minute, requests_per_unit: 600 } ] }`);
    const proxy = scene.open();
    await proxy.reports('user=ann', 0, 100);
    let most = 0;
    for (let second = 0; second < 10; second++) {
      await scene.pass(1_000);
      for (const { tokens, ttlS } of await proxy.reports('user=ann', 0, 100)) {
        most = Math.max(most, tokens);
        t.equal(ttlS, 20);
      }
    }
    t.ok(most > 5 && most <= 25, `${most} tokens of a limit of 600 in a minute`);
  },
);

t.test(
  'reports without rules are kept, and are answered with the first report after rules were loaded',
  async t => {
    const scene = sceneOf(`{ key: user, ${LIMIT} }`);
    const { generation } = scene;
    scene.generation = null;
    const proxy = scene.open();
    t.same(await proxy.reports('user=ann', 20), []);
    scene.generation = generation;
    t.match(await proxy.reports('user=ann', 30), [{ kind: 'token_bucket' }]);
    t.same(scene.decisions.rule('api.user'), { total_hits: 50, within_limit: 50 });
  },
);

t.test(
  'a message without a domain belongs to that of the first message; any other one ends the stream',
  async t => {
    const scene = sceneOf(`{ key: user, ${LIMIT} }`);
    const usage = { id: bucketId(pairsOf('user=ann')), allowed: 1, denied: 0 };
    const proxy = scene.open();
    t.throws(() => proxy.send(usageReports('', [usage])), {
      code: 'bad_request',
      message: '`domain` is empty; set it in the first message of the stream',
    });
    proxy.send(usageReports('api', [usage]));
    proxy.send(usageReports('', [usage]));
    await scene.desk.idle();
    t.same(proxy.sentKinds(), ['token_bucket']);
    t.throws(() => proxy.send(usageReports('web', [usage])), {
      code: 'bad_request',
      message: '`domain` is "web", but the first message had "api"; open a stream for each domain',
    });
    t.throws(() => proxy.send(Buffer.from([0x0a, 0x05])), {
      code: 'unparseable',
      message: 'not a RateLimitQuotaUsageReports: field 1 is longer than the message at byte 1',
    });
  },
);

t.test('a message without reports is no fault', async t => {
  const scene = sceneOf(`{ key: user, ${LIMIT} }`);
  const proxy = scene.open();
  proxy.send(usageReports('api', []));
  await scene.desk.idle();
  t.same(proxy.sent(), []);
});

t.test(
  'a proxy is told to forget a bucket that it has not used for two minutes, and may report it again',
  async t => {
    const scene = sceneOf(`{ key: user, ${LIMIT} }`);
    const proxy = scene.open();
    await proxy.reports('user=ann', 10);
    const kinds: string[] = [];
    for (let second = 0; second < 140; second++) {
      await scene.pass(1_000);
      if (scene.desk.bucketCount > 0)
        await proxy.reports('user=ann', 0).then(sent => kinds.push(...sent.map(({ kind }) => kind)));
      kinds.push(...proxy.sentKinds());
    }
    t.equal(kinds.at(-1), 'abandon');
    t.equal(scene.desk.bucketCount, 0);
    t.match(await proxy.reports('user=ann', 1), [{ kind: 'token_bucket' }]);
  },
);
