import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { CounterTable } from '../../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../../src/counters/embedded/embedded-store.ts';
import { loadSnapshot, readSnapshotKey, saveSnapshot } from '../../../../src/counters/embedded/snapshot.ts';
import { admit, atMs, fixedWindow, slidingWindow, tokenBucket } from '../../../support/admission.ts';
import { Child } from '../../../support/child-process.ts';
import { count, NOON } from '../../../support/counting.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { TEST_FINGERPRINT_KEY } from '../../../support/stores.ts';
import { type Teardown, tempDirectory } from '../../../support/temp-directory.ts';

const HEADER = { writtenMs: NOON.nowS * 1_000, fingerprintKey: TEST_FINGERPRINT_KEY };
const AT_NOON = { nowMs: NOON.nowS * 1_000, fingerprintKey: TEST_FINGERPRINT_KEY };
const HOUR = { ...NOON, expiryS: NOON.nowS + 3_600 };

const ops = (keys: number, hits: (i: number) => number) =>
  Array.from({ length: keys }, (_, i) => ({ key: `key-${i}`, hits: hits(i) }));

async function tableOf(keys: number): Promise<CounterTable> {
  const table = CounterTable.create(Math.max(keys, 1_024));
  await count(
    new EmbeddedCounterStore(table),
    ops(keys, i => i + 1),
    HOUR,
  );
  return table;
}

/** The present counts of the keys that {@link tableOf} counts. */
function countsIn(table: CounterTable, keys: number): Promise<number[]> {
  return count(
    new EmbeddedCounterStore(table),
    ops(keys, () => 0),
    HOUR,
  );
}

async function savedSnapshot(t: Teardown, keys: number): Promise<string> {
  const path = join(tempDirectory(t), 'counters');
  await saveSnapshot(path, await tableOf(keys), HEADER);
  return path;
}

const counted = (keys: number) => Array.from({ length: keys }, (_, i) => i + 1);

t.test('the greatest counts of every kind come back', async t => {
  const table = CounterTable.create(1_024);
  const penalty = { after: 1, forS: 60, factor: 1, maxS: 60, windowS: 3_600 };
  const most = 2 ** 53 - 1;
  const large = [
    { key: 'count', hits: most },
    { key: 'window', hits: 2 ** 51 - 1, terms: slidingWindow(2 ** 51 - 1, 60) },
    { key: 'bucket', hits: 9_007_199_254_740_000, terms: tokenBucket(9_007_199_254_740_000, 1) },
    { key: 'penalized', hits: most, terms: fixedWindow(most, 3_600, penalty) },
  ];
  const { afters } = await admit(new EmbeddedCounterStore(table), large);
  t.same(afters, [most, 2 ** 51 - 1, 9_007_199_254_740_000, most]);
  const path = join(tempDirectory(t), 'counters');
  await saveSnapshot(path, table, HEADER);
  const loaded = CounterTable.create(16_384);
  await loadSnapshot(path, loaded, AT_NOON);
  const asked = large.map(op => ({ ...op, hits: 0 }));
  t.same((await admit(new EmbeddedCounterStore(loaded), asked)).afters, afters);
});

t.test('counters come back as they were, whatever the size of the table', async t => {
  const path = await savedSnapshot(t, 20_000);
  for (const maxKeys of [20_000, 200_000]) {
    const table = CounterTable.create(maxKeys);
    t.same(await loadSnapshot(path, table, AT_NOON), {
      counters: 20_000,
      expired: 0,
      writtenMs: NOON.nowS * 1_000,
    });
    t.same(await countsIn(table, 20_000), counted(20_000));
    t.equal(table.evicted, 0);
  }
  const small = CounterTable.create(1_024);
  await loadSnapshot(path, small, AT_NOON);
  t.ok(small.evicted > 0, 'of more than it holds, some give way, which is counted');
});

t.test('a table without counters, and no file at all', async t => {
  const path = await savedSnapshot(t, 0);
  t.match(await loadSnapshot(path, CounterTable.create(1_024), AT_NOON), { counters: 0 });
  t.equal(await loadSnapshot(`${path}-none`, CounterTable.create(1_024), AT_NOON), null);
  t.equal(readSnapshotKey(`${path}-none`), null);
});

t.test('expired counters are neither written nor read', async t => {
  const table = await tableOf(10);
  await count(new EmbeddedCounterStore(table), [{ key: 'minute', hits: 1 }], NOON);
  const path = join(tempDirectory(t), 'counters');
  t.equal(await saveSnapshot(path, table, HEADER), 11);
  const later = { ...AT_NOON, nowMs: AT_NOON.nowMs + 60_000 };
  t.match(await loadSnapshot(path, CounterTable.create(1_024), later), { counters: 10, expired: 1 });
  t.equal(await saveSnapshot(path, table, { ...HEADER, writtenMs: later.nowMs }), 10);
});

t.test('the key of the fingerprints is in the file, which nobody else may read', async t => {
  const path = await savedSnapshot(t, 3);
  t.same(readSnapshotKey(path), TEST_FINGERPRINT_KEY);
  t.equal(statSync(path).mode & 0o777, 0o600);
  chmodSync(path, 0o644);
  await saveSnapshot(path, await tableOf(3), HEADER);
  t.equal(statSync(path).mode & 0o777, 0o600, 'also when there was one that others could');
  const umask = process.umask(0o777);
  try {
    await saveSnapshot(path, await tableOf(3), HEADER);
  } finally {
    process.umask(umask);
  }
  t.equal(statSync(path).mode & 0o777, 0o600, 'and its owner may, whatever the umask is');
  await t.rejects(
    loadSnapshot(path, CounterTable.create(1_024), { ...AT_NOON, fingerprintKey: [1, 2, 3, 4] }),
    { message: 'it was replaced by another snapshot while it was read' },
  );
});

t.test('a file that is not whole is refused, and nothing of it gets into the table', async t => {
  const path = await savedSnapshot(t, 10_000);
  const whole = readFileSync(path);
  const refusal = async (bytes: Buffer): Promise<string> => {
    writeFileSync(path, bytes);
    const table = CounterTable.create(20_000);
    const reason = await loadSnapshot(path, table, AT_NOON).then(
      () => 'accepted',
      failure => String(failure.message),
    );
    if (!(await countsIn(table, 100)).every(found => found === 0)) return `${reason}, but it was loaded`;
    return reason;
  };
  t.equal(await refusal(Buffer.alloc(0)), 'it ends within its first 64 bytes');
  t.equal(await refusal(Buffer.from('domain: shop\n'.repeat(10))), 'it is not a snapshot of counters');
  t.match(await refusal(Buffer.concat([whole, Buffer.of(0)])), 'it has data after its end');
  const version = Buffer.from(whole);
  version.writeUInt32LE(4, 8);
  t.equal(await refusal(version), 'its version is 4, and only versions 1 to 3 are supported');
  const random = new SeededRandom(3);
  for (let i = 0; i < 15; i++) {
    const length = random.below(whole.length);
    t.match(
      await refusal(whole.subarray(0, length)),
      /^it(s end is missing| ends within)/,
      `cut at ${length}`,
    );
    const flipped = Buffer.from(whole);
    const at = random.below(whole.length);
    flipped[at] ^= 1 << random.below(8);
    t.match(await refusal(flipped), /damaged|missing|not a snapshot|of version|goes on/, `changed at ${at}`);
  }
  t.equal(await refusal(whole).then(reason => reason.slice(0, 8)), 'accepted', 'the whole one is accepted');
});

t.test('plain counts alone make the file of earlier releases', async t => {
  const earlier = Buffer.from(
    'U0xVSUNFQ1QBAAAAAAAAAAAAgFb+vHhCZ0UjAd+8mvjOikYCQ4bK/gAAAAAAAAAAAAAAAAAAAAAAAAAAN4AORgIAAA' +
      'CuZsR3iko5SfwlDme67chOEP9TZQAAAAAAAPA/b6mnJ9zPJ0Y6xg3DEP9TZQAAAAAAAABAAAAAAPme/hMAAAAAAAAAQA==',
    'base64',
  );
  const path = await savedSnapshot(t, 2);
  t.same(readFileSync(path), earlier);
  const table = CounterTable.create(1_024);
  t.match(await loadSnapshot(path, table, AT_NOON), { counters: 2 });
  t.same(await countsIn(table, 2), [1, 2]);
});

const WINDOW = { key: 'window', terms: slidingWindow(100, 60) };
const BUCKET = { key: 'bucket', terms: tokenBucket(7, 3_600, 1_000) };

/** A table with a plain count, a window and a bucket, 90 seconds after noon. */
async function mixedTable(hits: number): Promise<CounterTable> {
  const table = CounterTable.create(1_024);
  const store = new EmbeddedCounterStore(table);
  await admit(
    store,
    [
      { key: 'plain', hits },
      { ...WINDOW, hits: 2 * hits },
      { ...BUCKET, hits },
    ],
    atMs(1),
  );
  await admit(store, [{ ...WINDOW, hits }], atMs(59_999));
  return table;
}

const LATER = 59_999;

/** The levels in a table 59.999 seconds after noon. */
async function levelsIn(table: CounterTable): Promise<number[]> {
  const ops = [{ key: 'plain' }, WINDOW, BUCKET].map(op => ({ ...op, hits: 0 }));
  return (await admit(new EmbeddedCounterStore(table), ops, atMs(LATER))).afters;
}

const MIXED = { nowMs: NOON.nowS * 1_000 + LATER, fingerprintKey: TEST_FINGERPRINT_KEY };

async function savedMixed(t: Teardown, hits: number): Promise<string> {
  const path = join(tempDirectory(t), 'counters');
  await saveSnapshot(path, await mixedTable(hits), { ...HEADER, writtenMs: MIXED.nowMs });
  return path;
}

t.test('windows and buckets come back as they were', async t => {
  const path = await savedMixed(t, 20);
  const levels = await levelsIn(await mixedTable(20));
  for (const maxKeys of [1_024, 100_000]) {
    const table = CounterTable.create(maxKeys);
    t.match(await loadSnapshot(path, table, MIXED), { counters: 3, expired: 0 });
    t.same(await levelsIn(table), levels);
  }
  const bytes = readFileSync(path);
  bytes[100] ^= 1;
  writeFileSync(path, bytes);
  const table = CounterTable.create(1_024);
  await t.rejects(loadSnapshot(path, table, MIXED), { message: /damaged/ });
  t.same(await levelsIn(table), [0, 0, 0]);
});

t.test('the hits of two processes are added, also those of windows and buckets', async t => {
  const path = await savedMixed(t, 20);
  const table = await mixedTable(5);
  const [plain, window, bucket] = await levelsIn(table);
  const [, storedWindow, storedBucket] = await levelsIn(await mixedTable(20));
  await loadSnapshot(path, table, MIXED);
  const [plainSum, windowSum, bucketSum] = await levelsIn(table);
  t.equal(plainSum, plain + 20);
  t.ok(Math.abs(windowSum - window - storedWindow) <= 1, 'each part is rounded up');
  const { drain } = BUCKET.terms;
  t.ok(
    bucketSum >= bucket + storedBucket && bucketSum <= bucket + storedBucket + 2 * drain,
    'to a millisecond',
  );
});

t.test('windows that two processes have used at different times are put together', async t => {
  const tableOfTimes = async (times: readonly (readonly [ms: number, hits: number])[]) => {
    const table = CounterTable.create(1_024);
    const store = new EmbeddedCounterStore(table);
    for (const [ms, hits] of times) await admit(store, [{ ...WINDOW, hits }], atMs(ms));
    return table;
  };
  const [early, late, both] = [
    [[1, 10]],
    [[70_000, 4]],
    [
      [1, 10],
      [70_000, 4],
    ],
  ] as const;
  const nowMs = NOON.nowS * 1_000 + 75_000;
  const levelOf = async (table: CounterTable) =>
    (await admit(new EmbeddedCounterStore(table), [{ ...WINDOW, hits: 0 }], atMs(75_000))).afters;
  const expected = await levelOf(await tableOfTimes(both));
  for (const [saved, present] of [
    [early, late],
    [late, early],
  ]) {
    const path = join(tempDirectory(t), 'counters');
    await saveSnapshot(path, await tableOfTimes(saved), { ...HEADER, writtenMs: nowMs });
    const table = await tableOfTimes(present);
    await loadSnapshot(path, table, { ...MIXED, nowMs });
    t.same(await levelOf(table), expected);
  }
});

const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
const writer = fileURLToPath(new URL(`./snapshot-writer.${extension}`, import.meta.url));

t.test('a process that is killed while it writes leaves the old file or the new one', async t => {
  const path = join(tempDirectory(t), 'counters');
  const random = new SeededRandom(4);
  for (let round = 0; round < 3; round++) {
    const child = new Child({ command: process.execPath, args: [writer, path, '30000'], env: process.env });
    await child.line(line => (line === 'saved' ? true : undefined), 60_000);
    for (let turns = random.below(200); turns > 0; turns--)
      await new Promise(resolve => setImmediate(resolve));
    await child.end('SIGKILL', 60_000);
    const table = CounterTable.create(30_000);
    t.match(await loadSnapshot(path, table, AT_NOON), { counters: 30_000 });
    t.same(await countsIn(table, 30_000), counted(30_000), `round ${round}`);
  }
});

t.test('a disk that is full leaves the old file, and nothing beside it', async t => {
  const path = await savedSnapshot(t, 5);
  // In blocks of 512 bytes: the file may grow to 16 KiB, and would need 700. The test runner puts a loader into
  // NODE_OPTIONS of every child, which writes files as well.
  const limited = `unset NODE_OPTIONS; ulimit -f 32; exec "$0" "$@"`;
  const child = new Child({
    command: 'sh',
    args: ['-c', limited, process.execPath, writer, path, '30000', 'once'],
    env: process.env,
  });
  await child.ended;
  t.match(child.output, /^failed: EFBIG/m);
  t.same(readdirSync(dirname(path)), ['counters']);
  const table = CounterTable.create(1_024);
  await loadSnapshot(path, table, AT_NOON);
  t.same(await countsIn(table, 5), counted(5));
});

t.test('a place that cannot be written is an error with the path', async t => {
  const directory = tempDirectory(t);
  const table = await tableOf(1);
  await t.rejects(saveSnapshot(join(directory, 'none', 'counters'), table, HEADER), {
    message: /ENOENT.*none/,
  });
  writeFileSync(join(directory, 'file'), '');
  await t.rejects(saveSnapshot(join(directory, 'file', 'counters'), table, HEADER), { message: /ENOTDIR/ });
});

t.test('decisions go on while a snapshot is written', async t => {
  const table = await tableOf(100_000);
  const store = new EmbeddedCounterStore(table);
  const path = join(tempDirectory(t), 'counters');
  let isWritten = false;
  let turns = 0;
  const saving = saveSnapshot(path, table, HEADER).then(() => {
    isWritten = true;
  });
  while (!isWritten) {
    await count(store, [{ key: 'key-0', hits: 1 }], HOUR);
    await new Promise(resolve => setImmediate(resolve));
    turns++;
  }
  await saving;
  // Of 256 regions eight are copied in one go, and each block of the file is waited for.
  t.ok(turns >= 20, `${turns} times others had their turn`);
  t.notOk(existsSync(`${path}.tmp`));
});
