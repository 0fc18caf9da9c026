import type { Test } from 'tap';
import t from 'tap';
import {
  MAX_DESCRIPTORS,
  MAX_ENTRIES,
  RequestTable,
  TOO_MANY_DESCRIPTORS,
  TOO_MANY_ENTRIES,
} from '../../../src/messages/request-table.ts';
import { WireFault } from '../../../src/messages/wire.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { readIndependently } from './independent-codec.ts';
import { randomRequestBytes } from './random-request-bytes.ts';
import { type ReadRequest, readTable } from './read-table.ts';
import { fixed, message, number, varint } from './wire-bytes.ts';

function read(...bytes: Uint8Array[]): ReadRequest {
  const table = new RequestTable();
  table.add(Buffer.concat(bytes));
  return readTable(table)[0];
}

const entry = (key: string, value: string): Buffer => message(1, message(1, key), message(2, value));

t.test('random messages are read as protobufjs reads them', async t => {
  const random = new SeededRandom(11);
  const table = new RequestTable();
  let expected: ReadRequest[] = [];
  for (let i = 0; i < 1_000; i++) {
    const bytes = randomRequestBytes(random);
    table.add(bytes);
    expected.push(readIndependently(bytes));
    if (random.below(40) > 0) continue;
    t.strictSame(readTable(table), expected, `${expected.length} messages up to the ${i}th`);
    table.reset();
    expected = [];
  }
});

t.test('of a plain field that comes twice the last one counts', async t => {
  const bytes = [message(1, 'first'), number(3, 7), message(1, 'last'), number(3, 0)];
  t.strictSame(read(...bytes), { domain: 'last', descriptors: [], hits: 0 });
  const twice = message(2, message(1, message(1, 'k'), message(2, 'v'), message(1, ''), message(2, 'w')));
  t.strictSame(read(twice).descriptors[0].entries, [{ key: '', value: 'w' }]);
  t.equal(read(message(1, 'd'), message(1, '')).domain, '');
});

t.test('a message field that comes twice is merged', async t => {
  const limits = message(2, message(2, number(1, 5), number(2, 3)), message(2, number(2, 4)), message(2));
  t.strictSame(read(limits).descriptors[0].limit, { requestsPerUnit: 5, unit: 4 });
  const hits = message(2, message(3, number(1, 9)), message(3));
  t.equal(read(hits).descriptors[0].hits, 9);
});

t.test('a field set to its default differs from a field that is not set', async t => {
  const { descriptors } = read(message(2), message(2, message(2)), message(2, message(3)));
  t.strictSame(descriptors, [
    { entries: [], limit: null, hits: null, isRefund: false },
    { entries: [], limit: { requestsPerUnit: 0, unit: 0 }, hits: null, isRefund: false },
    { entries: [], limit: null, hits: 0, isRefund: false },
  ]);
});

t.test('unknown fields, and known numbers with another wire type, are passed over', async t => {
  const unknown = [number(9, 1), message(10, 'x'), fixed(11, 4), fixed(12, 8), message(2 ** 29 - 1, 'x')];
  const inRequest = [...unknown, number(1, 5), fixed(2, 8), fixed(3, 4), message(3, 'x')];
  const inDescriptor = [...unknown, number(1, 5), fixed(2, 4), number(3, 5), message(4, 'x')];
  const inEntry = [...unknown, fixed(1, 8), message(1, 'k'), number(2, 3)];
  const inLimit = [...unknown, message(1, 'x'), number(1, 6), fixed(2, 4)];
  const inHits = [...unknown, message(1, 'x'), number(1, 7), fixed(1, 8)];
  const descriptor = [...inDescriptor, message(1, ...inEntry), message(2, ...inLimit), message(3, ...inHits)];
  t.strictSame(read(message(1, 'd'), message(2, ...descriptor), ...inRequest), {
    domain: 'd',
    descriptors: [
      {
        entries: [{ key: 'k', value: '' }],
        limit: { requestsPerUnit: 6, unit: 0 },
        hits: 7,
        isRefund: false,
      },
    ],
    hits: 0,
  });
});

t.test('numbers are held to their width: 32 bits are cut, 64 bits stop at what is exact', async t => {
  const hits = (value: bigint) => read(message(2, message(3, number(1, value)))).descriptors[0].hits;
  t.equal(hits(2n ** 53n - 1n), Number.MAX_SAFE_INTEGER);
  t.equal(hits(2n ** 53n), Number.MAX_SAFE_INTEGER);
  t.equal(hits(2n ** 64n - 1n), Number.MAX_SAFE_INTEGER);
  t.equal(hits(2n ** 32n), 2 ** 32);
  t.equal(read(number(3, 2n ** 32n - 1n)).hits, 4_294_967_295);
  t.equal(read(number(3, 2n ** 32n + 3n)).hits, 3);
  for (let bytes = 1; bytes <= 10; bytes++)
    t.equal(read(number(3, 5, bytes)).hits, 5, `a 5 in ${bytes} bytes`);
  const negative = read(message(2, message(2, number(2, -1n)))).descriptors[0].limit;
  t.equal(negative?.unit, 4_294_967_295, 'a negative enum is not a defined value');
});

t.test('texts must be UTF-8, wherever they stand', async t => {
  const places = (text: Uint8Array): Buffer[] => [
    message(1, text),
    message(2, message(1, message(1, text))),
    message(2, message(1, message(2, text))),
    Buffer.concat([message(1, text), message(1, 'overwritten')]),
  ];
  const wrong = [
    '80',
    'c3',
    'c328',
    'c080',
    'e28082'.slice(0, 4),
    'eda080',
    'f0808080',
    'f4908080',
    'ff',
    '6162ff63',
  ];
  for (const hex of wrong) {
    for (const bytes of places(Buffer.from(hex, 'hex')))
      t.throws(
        () => read(bytes),
        { name: 'WireFault', message: /`(domain|key|value)` is not valid UTF-8/ },
        hex,
      );
  }
  for (const text of ['ü', '\ufeffbom', '😀', '\u{10ffff}', '\u0000', '\ufffd']) {
    t.equal(read(message(1, text)).domain, text);
    t.equal(read(message(2, entry(text, text))).descriptors[0].entries[0].value, text);
  }
  t.strictSame(read(message(9, Buffer.from('ff', 'hex'))).domain, '', 'unknown fields are bytes');
});

t.test('faults count bytes from the start of their own message', async t => {
  const table = new RequestTable();
  const faulty: [Buffer, string][] = [
    [Buffer.concat([message(1, 'd'), varint(10), varint(5)]), 'field 1 is longer than the message at byte 4'],
    [
      Buffer.concat([message(1, 'd'), message(1, Buffer.from('ff', 'hex'))]),
      'the text of `domain` is not valid UTF-8 at byte 5',
    ],
    [message(2, message(1, message(1, 'k'), varint(128).subarray(0, 1))), 'incomplete varint at byte 7'],
  ];
  for (const [bytes, text] of faulty) {
    for (let before = 0; before < 3; before++) {
      t.throws(() => table.add(bytes), { name: 'WireFault', message: text });
      table.add(message(1, 'before'));
    }
  }
});

t.test('a nested message may not be longer than the one around it', async t => {
  const long = Buffer.concat([varint(10), varint(20)]);
  for (const bytes of [
    Buffer.concat([message(2, long), Buffer.alloc(40)]),
    Buffer.concat([message(2, message(1, long)), Buffer.alloc(40)]),
    Buffer.concat([message(2, message(2, varint(8))), number(3, 1)]),
    Buffer.concat([message(2, message(3, varint(8))), number(3, 1)]),
  ]) {
    t.throws(() => read(bytes), { name: 'WireFault' }, bytes.toString('hex'));
  }
});

t.test('a message may lie anywhere in its memory, and is copied', async t => {
  const bytes = Buffer.concat([Buffer.from('before'), message(1, 'domain'), Buffer.from('after')]);
  const table = new RequestTable();
  table.add(bytes.subarray(6, bytes.length - 5));
  bytes.fill(0);
  t.equal(readTable(table)[0].domain, 'domain');
});

t.test('a table grows with its requests, and is empty after a reset', async t => {
  const table = new RequestTable();
  const one = (i: number) =>
    Buffer.concat([
      message(1, `domain ${i}`),
      message(2, entry('k', `${i}`), entry('l', 'x'.repeat(i % 300)), message(3, number(1, i))),
    ]);
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 700; i++) table.add(one(i));
    t.strictSame(
      readTable(table),
      Array.from({ length: 700 }, (_, i) => readIndependently(one(i))),
    );
    table.reset();
    t.strictSame([table.requestCount, table.descriptorRows, table.entryRows, table.byteCount], [0, 0, 0, 0]);
  }
});

t.test('descriptors of a request and entries of a descriptor are limited', async t => {
  const table = new RequestTable();
  const descriptors = (count: number) => Buffer.concat(Array.from({ length: count }, () => message(2)));
  const entries = (count: number) => message(2, ...Array.from({ length: count }, () => entry('k', 'v')));
  table.add(descriptors(MAX_DESCRIPTORS));
  t.equal(table.descriptorCount[0], MAX_DESCRIPTORS);
  t.throws(() => table.add(descriptors(MAX_DESCRIPTORS + 1)), {
    code: 'too_large',
    message: TOO_MANY_DESCRIPTORS,
  });
  table.add(entries(MAX_ENTRIES));
  t.equal(table.entryCount[table.firstDescriptor[1]], MAX_ENTRIES);
  t.throws(() => table.add(entries(MAX_ENTRIES + 1)), {
    code: 'too_large',
    message: TOO_MANY_ENTRIES,
  });
  table.add(Buffer.concat([entries(MAX_ENTRIES), entries(MAX_ENTRIES)]));
  t.equal(table.requestCount, 3, 'what was refused left nothing, and the bound is for each');
});

t.test('every number but 0 says that the hits are given back, and the last one counts', async t => {
  const refunds = (...values: number[]): boolean =>
    read(message(2, ...values.map(value => number(4, value)))).descriptors[0].isRefund;
  t.strictSame(
    [refunds(), refunds(0), refunds(1), refunds(2 ** 40), refunds(1, 0)],
    [false, false, true, true, false],
  );
});

/** Adds bytes that may be wrong: whatever is thrown must be a WireFault that leaves the table alone. */
function addOrFault(t: Test, table: RequestTable, bytes: Uint8Array): boolean {
  const counts = (): number[] => [table.requestCount, table.descriptorRows, table.entryRows, table.byteCount];
  const before = counts();
  try {
    table.add(bytes);
    return true;
  } catch (fault) {
    if (!(fault instanceof WireFault)) t.fail(`${Buffer.from(bytes).toString('hex')} threw ${fault}`);
    if (counts().join() !== before.join())
      t.fail(`${Buffer.from(bytes).toString('hex')} left something behind`);
    return false;
  }
}

t.test('a message cut off at any byte is refused, or is the message of its whole fields', async t => {
  const random = new SeededRandom(12);
  const table = new RequestTable();
  const kept = randomRequestBytes(random);
  table.add(kept);
  let refused = 0;
  for (let i = 0; i < 20; i++) {
    const bytes = randomRequestBytes(random);
    for (let length = 0; length < bytes.length; length++) {
      const cut = bytes.subarray(0, length);
      const taken = addOrFault(t, table, cut);
      if (!taken) refused++;
      else if (JSON.stringify(readTable(table)[1]) !== JSON.stringify(readIndependently(cut)))
        t.strictSame(readTable(table)[1], readIndependently(cut), cut.toString('hex'));
      if (taken !== cutsBetweenFields(bytes, length))
        t.fail(`${length} bytes of ${bytes.toString('hex')} are ${taken ? 'taken' : 'refused'}`);
      table.reset();
      table.add(kept);
    }
  }
  t.strictSame(readTable(table), [readIndependently(kept)]);
  t.ok(refused > 300, `${refused} refused`);
});

t.test('random and damaged bytes are refused or read, and never hurt the rows before them', async t => {
  const random = new SeededRandom(13);
  const table = new RequestTable();
  const kept = [randomRequestBytes(random), randomRequestBytes(random)];
  for (const bytes of kept) table.add(bytes);
  const expected = JSON.stringify(kept.map(readIndependently));
  const outcomes = { read: 0, refused: 0 };
  for (let i = 0; i < 4_000; i++) {
    const bytes = i % 2 === 0 ? randomBytes(random) : damaged(random, randomRequestBytes(random));
    const taken = addOrFault(t, table, bytes);
    outcomes[taken ? 'read' : 'refused']++;
    const rows = readTable(table);
    if (JSON.stringify(rows.slice(0, 2)) !== expected)
      t.strictSame(rows.slice(0, 2), kept.map(readIndependently));
    if (!taken) continue;
    table.reset();
    for (const each of kept) table.add(each);
  }
  t.ok(outcomes.read > 100 && outcomes.refused > 100, JSON.stringify(outcomes));
});

/** Whether `length` is a boundary between top-level fields, by the lengths that the fields themselves say. */
function cutsBetweenFields(bytes: Buffer, length: number): boolean {
  let at = 0;
  while (at < length) {
    const tag = readVarint(bytes, at);
    at = tag.end;
    const wireType = Number(tag.value & 7n);
    if (wireType === 0) at = readVarint(bytes, at).end;
    else if (wireType === 1) at += 8;
    else if (wireType === 5) at += 4;
    else {
      const size = readVarint(bytes, at);
      at = size.end + Number(size.value);
    }
  }
  return at === length;
}

function readVarint(bytes: Buffer, start: number): { value: bigint; end: number } {
  let value = 0n;
  let end = start;
  for (let shift = 0n; ; shift += 7n) {
    const byte = bytes[end++];
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return { value, end };
  }
}

function randomBytes(random: SeededRandom): Buffer {
  // Mostly small numbers: tags and lengths that lead somewhere.
  return Buffer.from(
    Array.from({ length: random.below(24) }, () =>
      random.below(3) === 0 ? random.below(256) : random.below(30),
    ),
  );
}

function damaged(random: SeededRandom, bytes: Buffer): Buffer {
  for (let i = random.below(3); i >= 0 && bytes.length > 0; i--)
    bytes[random.below(bytes.length)] = random.below(256);
  return bytes;
}
