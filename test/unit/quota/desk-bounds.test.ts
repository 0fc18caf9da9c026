import t from 'tap';
import { ByteWriter } from '../../../src/base/bytes.ts';
import { Fault } from '../../../src/base/fault.ts';
import { writeBytes } from '../../../src/messages/wire.ts';
import { GatedStore } from '../../support/gated-store.ts';
import { DeskScene } from '../../support/quota/desk-scene.ts';
import { bucketId, usageReports } from '../../support/quota/model-proxy.ts';
import { embeddedStore } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

const RULES = `
  domain: api
  descriptors:
    - key: user
      rate_limit: { unit: minute, requests_per_unit: 6000 }
`;

t.test('a proxy that reports a thousand times a second gets few grants', async t => {
  let most = 0;
  for (const requests of [600, 6_000]) {
    const scene = new DeskScene({ rules: RULES.replace('6000', String(requests)) });
    const proxies = Array.from({ length: 5 }, () => scene.open());
    for (const proxy of proxies) await proxy.reports('user=ann');
    const [bucket] = scene.desk.buckets;
    for (let report = 0; report < 500; report++) {
      await scene.pass(1);
      const proxy = proxies[report % 3 === 0 ? 0 : report % 5];
      await proxy.reports('user=ann', 1, report % 11);
      for (const { grants } of bucket.subscribers) most = Math.max(most, grants.length);
    }
    t.ok(most <= 25, `${most} grants of ${requests} requests`);
  }
  t.ok(most > 1, `${most} grants`);
});

/** A report of one request in a bucket with this id, as bytes. */
function reportOf(id: Uint8Array): Uint8Array {
  return usageReports('api', [{ id, allowed: 1, denied: 0 }]);
}

t.test('a proxy is told to forget a bucket whose id no rule could match', async t => {
  const scene = new DeskScene({ rules: RULES });
  const proxy = scene.open();
  const many = Array.from({ length: 33 }, (_, i): [string, string] => [`key${i}`, 'a']);
  const ids = [
    bucketId([]),
    bucketId([['', 'ann']]),
    bucketId([['user', '']]),
    bucketId(many),
    bucketId([['user', 'a'.repeat(4_096)]]),
    bucketId([['user', 'a'.repeat(65_000)]]),
    Buffer.from([0x0a, 0x05, 0x01]),
    Buffer.from([0x0a, 0x03, 0x0a, 0x01, 0xff]),
  ];
  for (const id of ids) {
    proxy.send(reportOf(id));
    await scene.desk.idle();
    t.match(proxy.sentKinds(), ['abandon'], `${id.length} bytes`);
  }
  t.equal(scene.desk.bucketCount, 0);
  t.equal(scene.decisions.counter('ratelimit.quota.rejected'), ids.length);
  t.match(
    await proxy.reports(
      many
        .slice(0, 32)
        .map(pair => pair.join('='))
        .join(','),
    ),
    [{ kind: 'allow_all' }],
  );
});

t.test('a stream with an id of more than 64 KiB ends', async t => {
  const proxy = new DeskScene({ rules: RULES }).open();
  const id = bucketId([['user', 'a'.repeat(65_536)]]);
  const fault = new Fault('too_large', 'the id of a bucket has 65550 bytes; send at most 65536');
  t.throws(() => proxy.send(reportOf(id)), fault);
});

t.test('a message with too many reports is refused before any of them is taken', async t => {
  const scene = new DeskScene({ rules: RULES });
  const proxy = scene.open();
  const message = new ByteWriter();
  message.copy(usageReports('api', []), 0, usageReports('api', []).length);
  for (let usage = 0; usage < 100_001; usage++) writeBytes(message, 2, new Uint8Array(0));
  t.throws(
    () => proxy.send(message.take()),
    new Fault('too_large', 'a message reports more than 100000 buckets; send the others in another message'),
  );
  t.equal(scene.decisions.counter('ratelimit.quota.reports'), 0);
});

t.test('a domain of more than 1,024 bytes is refused', async t => {
  const proxy = new DeskScene({ rules: RULES }).open();
  const id = bucketId([['user', 'ann']]);
  t.throws(
    () => proxy.send(usageReports('a'.repeat(1_025), [{ id, allowed: 1, denied: 0 }])),
    new Fault('bad_request', '`domain` has 1025 bytes; it may have at most 1024'),
  );
});

t.test(
  'a stream has at most 20,000 buckets; others are to be forgotten until there is room again',
  async t => {
    const scene = new DeskScene({ rules: RULES, store: embeddedStore(65_536) });
    const proxy = scene.open();
    const usages = Array.from({ length: 20_000 }, (_, i) => ({
      id: bucketId([['user', String(i)]]),
      allowed: 1,
      denied: 0,
    }));
    proxy.send(usageReports('api', usages));
    await scene.desk.idle();
    t.same(new Set(proxy.sentKinds()), new Set(['token_bucket']));
    t.match(await proxy.reports('user=ann'), [{ kind: 'abandon', bucket: 'user=ann' }]);
    t.match(await scene.open().reports('user=ann'), [{ kind: 'token_bucket' }], 'another stream');
  },
);

t.test('orders of entries of a bucket are one bucket, however many there are', async t => {
  const scene = new DeskScene({ rules: RULES });
  const proxy = scene.open();
  const keys = ['a', 'b', 'c', 'd', 'e'];
  for (let order = 0; order < 100; order++) {
    const entries = keys.map((_, i) => `${keys[(i + order) % 5]}=1`);
    if (order % 2 === 0) entries.reverse();
    t.match(await proxy.reports(entries.join(',')), [{ bucket: 'a=1,b=1,c=1,d=1,e=1' }]);
  }
  t.equal(scene.desk.bucketCount, 1);
});

t.test('closed streams leave nothing behind', async t => {
  const scene = new DeskScene({ rules: RULES });
  const proxies = Array.from({ length: 10 }, () => scene.open());
  for (const proxy of proxies)
    for (const user of ['ann', 'bob', 'eve']) await proxy.reports(`user=${user}`, 10);
  t.equal(scene.desk.bucketCount, 3);
  for (const proxy of proxies) proxy.close();
  await scene.desk.idle();
  t.equal(scene.desk.bucketCount, 0);
  t.equal(scene.desk.streams.size, 0);
  t.equal(scene.decisions.clock.pending, 0, 'no timer');
});

t.test('a bucket that is forgotten does not take another one of its name with it', async t => {
  const store = new GatedStore();
  const scene = new DeskScene({ rules: RULES, store });
  const passAll = async () => {
    for (let turn = 0; turn < 20; turn++) {
      await new Promise(setImmediate);
      while (store.waiting.length > 0) store.waiting.shift()!.pass();
    }
  };
  const first = scene.open();
  const reported = first.reports('user=ann', 100);
  await until(() => store.waiting.length > 0);
  first.send(usageReports('api', [{ id: bucketId([['user', 'ann']]), allowed: 1_000, denied: 0 }]));
  first.close();
  // The next round pays for the last report of the closed stream when another proxy reports the bucket.
  await until(() => {
    if (scene.desk.bucketCount === 0 && store.waiting.length > 0) return true;
    store.waiting.shift()?.pass();
    return false;
  });
  const second = scene.open();
  second.send(reportOf(bucketId([['user', 'ann']])));
  await passAll();
  await reported;
  t.equal(scene.desk.bucketCount, 1);
  t.equal([...scene.desk.buckets][0].subscribers.size, 1);
});

t.test('between two rounds, the thread does other work', async t => {
  const scene = new DeskScene({ rules: RULES, store: embeddedStore(65_536) });
  const proxy = scene.open();
  const usages = Array.from({ length: 2_000 }, (_, i) => ({
    id: bucketId([['user', String(i)]]),
    allowed: 1,
    denied: 0,
  }));
  proxy.send(usageReports('api', usages));
  const answered: number[] = [];
  let isIdle = false;
  void scene.desk.idle().then(() => {
    isIdle = true;
  });
  while (!isIdle) {
    await new Promise(setImmediate);
    answered.push(proxy.sent().length);
  }
  const most = Math.max(...answered);
  t.ok(most > 0 && most <= 250, `${most} buckets in one turn of the event loop`);
});

t.test('a bucket beyond those that a proxy may have is not kept', async t => {
  const scene = new DeskScene({ rules: RULES });
  const proxy = scene.open();
  const usages = Array.from({ length: 20_001 }, (_, i) => ({
    id: bucketId([['user', String(i)]]),
    allowed: 1,
    denied: 0,
  }));
  proxy.send(usageReports('api', usages));
  t.equal(scene.decisions.counter('ratelimit.quota.rejected'), 1);
  t.equal(scene.desk.bucketCount, 20_000);
});
