import t from 'tap';
import { Fault } from '../../../src/base/fault.ts';
import { decodeBucketId, decodeUsageReports, QuotaActions } from '../../../src/messages/quota-codec.ts';
import { WireFault } from '../../../src/messages/wire.ts';
import { bucketId, type ReadAction, readActions, usageReports } from '../../support/quota/model-proxy.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

/** Bytes in hexadecimal, with spaces. */
function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(/\s/g, ''), 'hex');
}

/** `{ bucket: { user: "ann" } }` */
const ID = '0a 0b  0a 04 75736572  12 03 616e6e';

t.test('a report, byte by byte', async t => {
  const { domain, usages } = decodeUsageReports(
    hex(`
      0a 03 617069
      12 17  0a 0d ${ID}  12 02 08 05  18 07  20 02
      12 12  0a 0d ${ID}  18 ac 02
    `),
  );
  t.equal(domain, 'api');
  t.same(
    usages.map(({ id, allowed, denied }) => [Buffer.from(id), allowed, denied]),
    [
      [hex(ID), 7, 2],
      [hex(ID), 300, 0],
    ],
  );
});

t.test('fields that are not known, and those that are missing', async t => {
  const unknown = '2a 01 00  30 05  3d 00000000  41 0000000000000000';
  t.same(decodeUsageReports(hex(`${unknown} 12 04 0a 00 30 05`)), {
    domain: '',
    usages: [{ id: new Uint8Array(0), allowed: 0, denied: 0 }],
  });
  t.same(decodeUsageReports(new Uint8Array(0)), { domain: '', usages: [] });
});

t.test('counts are read as 64 bits without a sign, and as 2^32 at most', async t => {
  for (const [bytes, count] of [
    ['ff ff ff ff 0f', 2 ** 32 - 1],
    ['80 80 80 80 10', 2 ** 32],
    ['80 80 80 80 80 80 80 10', 2 ** 32],
    ['ff ff ff ff ff ff ff ff ff 01', 2 ** 32],
  ] as const) {
    const usage = hex(`18 ${bytes} 20 ${bytes}`);
    const { usages } = decodeUsageReports(Buffer.concat([Buffer.from([0x12, usage.length]), usage]));
    t.match(usages, [{ allowed: count, denied: count }]);
  }
});

t.test('bytes that are no message', async t => {
  for (const bytes of [
    '0a',
    '0a 05 61',
    '0a 01 ff',
    '12 02 0a 05',
    '12 02 1a 00',
    '00',
    '12 0c 18 ff ff ff ff ff ff ff ff ff ff 01',
    '0b',
  ])
    t.throws(() => decodeUsageReports(hex(bytes)), { name: 'WireFault' }, bytes);
});

t.test('random bytes are a message or a fault', async t => {
  const random = new SeededRandom(1);
  let messages = 0;
  for (let i = 0; i < 20_000; i++) {
    const bytes = Uint8Array.from({ length: random.below(12) }, () =>
      random.pick([0x0a, 0x12, 0x18, 0x20, 0, 1, 2, 3, random.below(256)]),
    );
    try {
      decodeUsageReports(bytes);
      messages++;
    } catch (fault) {
      if (!(fault instanceof WireFault)) throw fault;
    }
    try {
      decodeBucketId(bytes);
    } catch (fault) {
      if (!(fault instanceof WireFault)) throw fault;
    }
  }
  t.ok(messages > 1_000 && messages < 19_000);
});

t.test('a message has at most 100,000 reports, and an id at most 64 KiB', async t => {
  const empty = hex('12 00');
  t.equal(decodeUsageReports(Buffer.concat(Array(100_000).fill(empty))).usages.length, 100_000);
  const tooMany = 'a message reports more than 100000 buckets; send the others in another message';
  t.throws(
    () => decodeUsageReports(Buffer.concat(Array(100_001).fill(empty))),
    new Fault('too_large', tooMany),
  );
  const report = (bytes: number) =>
    usageReports('api', [{ id: new Uint8Array(bytes), allowed: 0, denied: 0 }]);
  t.equal(decodeUsageReports(report(65_536)).usages[0].id.length, 65_536);
  const tooLarge = 'the id of a bucket has 65537 bytes; send at most 65536';
  t.throws(() => decodeUsageReports(report(65_537)), new Fault('too_large', tooLarge));
});

t.test('the entries of an id', async t => {
  t.same(decodeBucketId(hex(ID)), [{ key: 'user', value: 'ann' }]);
  t.same(decodeBucketId(new Uint8Array(0)), []);
  t.same(decodeBucketId(hex('0a 00')), [{ key: '', value: '' }]);
  const twice = bucketId([
    ['user', 'ann'],
    ['plan', 'free'],
    ['user', 'bob'],
  ]);
  t.same(
    decodeBucketId(twice),
    [
      { key: 'user', value: 'bob' },
      { key: 'plan', value: 'free' },
    ],
    'the last one of a key counts',
  );
});

t.test('answers, byte by byte', async t => {
  const actions = new QuotaActions();
  const id = hex(ID);
  actions.assign(id, { kind: 'token_bucket', tokens: 100, intervalS: 1 }, 10);
  actions.assign(id, { kind: 'allow_all' }, 300);
  actions.assign(id, { kind: 'deny_all' }, 10);
  actions.abandon(id);
  t.equal(
    Buffer.from(actions.take()).toString('hex'),
    hex(`
      0a 23  0a 0d ${ID}  12 12  12 02 08 0a  1a 0c  1a 0a  08 64  12 02 08 64  1a 02 08 01
      0a 1a  0a 0d ${ID}  12 09  12 03 08 ac 02  1a 02 08 00
      0a 19  0a 0d ${ID}  12 08  12 02 08 0a  1a 02 08 01
      0a 11  0a 0d ${ID}  1a 00
    `).toString('hex'),
  );
  t.equal(actions.length, 0, 'the next message is empty');
});

t.test('random answers are read as they were written', async t => {
  const random = new SeededRandom(2);
  const actions = new QuotaActions();
  for (let message = 0; message < 200; message++) {
    const written: ReadAction[] = [];
    for (let i = 0; i <= random.below(20); i++) {
      const value = 'a'.repeat(1 + random.below(random.pick([10, 200, 20_000, 65_000])));
      const id = bucketId([['user', value]]);
      const kind = random.pick(['allow_all', 'deny_all', 'token_bucket', 'abandon'] as const);
      const tokens = kind === 'token_bucket' ? 1 + random.below(2 ** 32 - 1) : 0;
      const intervalS = kind === 'token_bucket' ? random.pick([1, 60]) : 0;
      const ttlS = kind === 'abandon' ? 0 : random.pick([1, 10, 300]);
      written.push({ bucket: `user=${value}`, kind, tokens, intervalS, ttlS });
      if (kind === 'abandon') actions.abandon(id);
      else if (kind === 'token_bucket') actions.assign(id, { kind, tokens, intervalS }, ttlS);
      else actions.assign(id, { kind }, ttlS);
    }
    t.same(readActions(actions.take()), written);
  }
});

t.test('random reports are read as they were written', async t => {
  const random = new SeededRandom(3);
  for (let message = 0; message < 200; message++) {
    const usages = Array.from({ length: random.below(20) }, () => ({
      id: bucketId([['user', 'a'.repeat(1 + random.below(300))]]),
      allowed: random.below(random.pick([2, 1_000, 2 ** 32])),
      denied: random.below(random.pick([2, 1_000, 2 ** 32])),
    }));
    t.same(decodeUsageReports(usageReports('api', usages)), { domain: 'api', usages });
  }
});
