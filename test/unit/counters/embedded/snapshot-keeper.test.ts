import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { FileLock } from '../../../../src/base/files/file-lock.ts';
import { CounterTable } from '../../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../../src/counters/embedded/embedded-store.ts';
import { SnapshotKeeper } from '../../../../src/counters/embedded/snapshot-keeper.ts';
import type { FingerprintKey } from '../../../../src/counters/fingerprint.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { Child } from '../../../support/child-process.ts';
import { count, NOON } from '../../../support/counting.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { TEST_FINGERPRINT_KEY } from '../../../support/stores.ts';
import { type Teardown, tempDirectory } from '../../../support/temp-directory.ts';
import { until } from '../../../support/until.ts';

const ONE = [{ key: 'a', hits: 1 }];
/** Counters that outlive an interval between snapshots. */
const HOUR = { ...NOON, ttlS: 3_600, expiryS: NOON.nowS + 3_600 };

/** A store with its snapshots, as a process has them. */
function keep(t: Teardown, path: string, fingerprintKey: FingerprintKey = TEST_FINGERPRINT_KEY) {
  const table = CounterTable.create(1_024);
  const clock = new ManualClock(NOON.nowS * 1_000);
  const logger = new KeepingLogger();
  const stats = new StatsRegistry();
  const keeper = new SnapshotKeeper({
    path,
    lock: new FileLock(path),
    intervalMs: 60_000,
    table,
    fingerprintKey,
    counters: { saved: stats.counter('saved'), failed: stats.counter('failed') },
    clock,
    logger,
  });
  t.teardown(() => keeper.stop());
  const total = (name: string) => new Map(stats.counters()).get(name) ?? 0;
  return { keeper, store: new EmbeddedCounterStore(table), clock, logger, total };
}

t.test('what is counted before a stop is there after the next start', async t => {
  const path = join(tempDirectory(t), 'counters');
  const before = keep(t, path);
  await before.keeper.start();
  await count(before.store, [{ key: 'a', hits: 7 }]);
  await before.keeper.stop();
  const after = keep(t, path);
  await after.keeper.start();
  t.same(await count(after.store, ONE), [8]);
  t.match(after.logger.lines[0], {
    level: 'info',
    message: 'Counter snapshot loaded',
    fields: { counters: 1, expired: 0 },
  });
  await after.keeper.stop();
  t.same(readdirSync(dirname(path)), ['counters'], 'no lock and no other file is left');
});

t.test('the file is written at the start and over and over, so that a crash forgets little', async t => {
  const path = join(tempDirectory(t), 'counters');
  const { keeper, clock, total } = keep(t, path);
  await keeper.start();
  for (let saved = 1; saved <= 3; saved++) {
    await until(() => total('saved') === saved && clock.pending === 1);
    t.same(clock.pendingDelaysMs, [60_000]);
    clock.advance(60_000);
  }
});

t.test('a file that others could read is restricted to its owner', async t => {
  const path = join(tempDirectory(t), 'counters');
  const before = keep(t, path);
  await before.keeper.start();
  await before.keeper.stop();
  chmodSync(path, 0o644);
  const after = keep(t, path);
  await after.keeper.start();
  t.match(after.logger.lines[0], { level: 'warning', fields: { path, mode: '644' } });
  await after.keeper.stop();
  t.equal(statSync(path).mode & 0o777, 0o600);
});

t.test('an unreadable file is logged, set aside, and replaced', async t => {
  const path = join(tempDirectory(t), 'counters');
  writeFileSync(path, 'garbage'.repeat(100), { mode: 0o600 });
  const { keeper, store, logger } = keep(t, path);
  await keeper.start();
  t.match(logger.lines, [
    {
      level: 'warning',
      message: 'Could not load the counter snapshot; counters start at 0',
      fields: { path, reason: 'it is not a snapshot of counters', kept: `${path}.damaged` },
    },
  ]);
  t.same(await count(store, ONE), [1]);
  await keeper.stop();
  t.equal(readFileSync(`${path}.damaged`, 'utf8').slice(0, 7), 'garbage');
  const next = keep(t, path);
  await next.keeper.start();
  t.same(await count(next.store, ONE), [2]);
});

t.test('of two processes with one file, the second says so, and takes over from the first', async t => {
  const path = join(tempDirectory(t), 'counters');
  const first = keep(t, path);
  await first.keeper.start();
  await count(first.store, [{ key: 'a', hits: 5 }]);
  const second = keep(t, path, [9, 9, 9, 9]);
  await second.keeper.start();
  t.same(await count(second.store, ONE), [1], 'its counters are its own');
  await until(() => second.clock.pending === 1);
  for (let i = 0; i < 3; i++) {
    second.clock.advance(60_000);
    await until(() => second.clock.pending === 1);
  }
  t.match(second.logger.lines, [
    {
      level: 'error',
      message: 'Cannot write the counter snapshot; a restart will lose the counts',
      fields: {
        reason: /another process uses this file: set MEMORY_STORE_SNAPSHOT_PATH to/,
      },
    },
  ]);
  t.equal(second.total('saved'), 0);
  await first.keeper.stop();
  second.clock.advance(60_000);
  await until(() => second.total('saved') === 1);
  t.match(second.logger.lines.at(-1), { level: 'warning', message: 'The counter snapshot is written again' });
});

t.test('a process that replaces a running one takes over what that one has counted', async t => {
  const path = join(tempDirectory(t), 'counters');
  const first = keep(t, path);
  await first.keeper.start();
  // The key of the counters is read from the file at the start, so it is the same.
  const second = keep(t, path);
  await second.keeper.start();
  await until(() => second.clock.pending === 1);
  t.same(await count(second.store, ONE, HOUR), [1]);
  await count(first.store, [{ key: 'a', hits: 5 }], HOUR);
  await first.keeper.stop();
  second.clock.advance(60_000);
  await until(() => second.total('saved') === 1);
  t.same(await count(second.store, ONE, HOUR), [7]);
  t.match(second.logger.at('info')[0], { message: 'Counter snapshot loaded', fields: { counters: 1 } });
  await second.keeper.stop();
  const third = keep(t, path);
  await third.keeper.start();
  t.same(await count(third.store, ONE, HOUR), [8]);
});

t.test('the lock of a process that was killed is taken over', async t => {
  const path = join(tempDirectory(t), 'counters');
  const script = `require('node:net').createServer().listen(${JSON.stringify(`${path}.lock`)}, () => console.log('up'))`;
  const owner = new Child({ command: process.execPath, args: ['-e', script], env: process.env });
  await owner.line(line => (line === 'up' ? true : undefined), 60_000);
  await owner.end('SIGKILL', 60_000);
  t.ok(existsSync(`${path}.lock`), 'it could not remove it');
  const { keeper, total } = keep(t, path);
  await keeper.start();
  await until(() => total('saved') === 1);
});

t.test('a failed write is logged once, and so is the next successful one', async t => {
  const directory = tempDirectory(t);
  const path = join(directory, 'counters');
  const { keeper, clock, logger, total } = keep(t, path);
  await keeper.start();
  await until(() => clock.pending === 1);
  const next = async () => {
    clock.advance(60_000);
    await until(() => clock.pending === 1);
  };
  // A directory in its place cannot be replaced by a file.
  rmSync(path);
  mkdirSync(join(path, 'full'), { recursive: true });
  await next();
  await next();
  t.equal(total('failed'), 2);
  t.match(logger.at('error'), [
    { message: /^Cannot write the counter snapshot/, fields: { path, reason: /EISDIR|ENOTEMPTY|EEXIST/ } },
  ]);
  rmSync(path, { recursive: true });
  await next();
  t.match(logger.lines.at(-1), { level: 'warning', message: 'The counter snapshot is written again' });
});

t.test('a stop during the start writes nothing over the file that was not read yet', async t => {
  const path = join(tempDirectory(t), 'counters');
  const before = keep(t, path);
  await before.keeper.start();
  await count(before.store, [{ key: 'a', hits: 7 }]);
  await before.keeper.stop();
  const bytes = readFileSync(path);
  const hasty = keep(t, path);
  await Promise.all([hasty.keeper.start(), hasty.keeper.stop()]);
  await hasty.keeper.stop();
  t.same(readFileSync(path), bytes);
});
