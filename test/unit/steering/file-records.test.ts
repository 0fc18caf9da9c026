import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { systemClock } from '../../../src/base/clock.ts';
import { FileLock } from '../../../src/base/files/file-lock.ts';
import { FileRecords } from '../../../src/steering/file-records.ts';
import { MAX_RECORDS, recordJson } from '../../../src/steering/record.ts';
import { Steering } from '../../../src/steering/steering.ts';
import { examineSteeringStore, followed } from '../../exam/steering-store.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { record } from '../../support/steering.ts';
import { tempDirectory } from '../../support/temp-directory.ts';
import { until } from '../../support/until.ts';

const CLOCK_MS = 1_700_000_000_000;

/** Two locks of one process are as good as those of two processes. */
function records(t: Test, path: string | null) {
  const clock = new ManualClock(CLOCK_MS);
  const logger = new KeepingLogger();
  const lock = path === null ? null : new FileLock(path);
  if (lock !== null) t.teardown(() => lock.release());
  const file = path === null || lock === null ? null : { path, lock };
  return { store: new FileRecords(file, clock, logger), lock, clock, logger };
}

function pathOf(t: Test): string {
  return join(tempDirectory(t), 'counters.steering');
}

t.test('in a file', async t => {
  examineSteeringStore(t, async t => {
    const path = pathOf(t);
    const lock = new FileLock(path);
    t.teardown(() => lock.release());
    return () => new FileRecords({ path, lock }, systemClock, new KeepingLogger());
  });
});

t.test('without a file, records end with the process', async t => {
  const first = await followed(t, () => records(t, null).store);
  await first.put(record('ban', 'user=ann'));
  t.equal(first.records.length, 1);
  const second = await followed(t, () => records(t, null).store);
  t.strictSame(second.records, []);
});

t.test(
  'a second process with the file applies its records, and changes them once the first has ended',
  async t => {
    const path = pathOf(t);
    const ann = record('ban', 'user=ann');
    const bob = record('ban', 'user=bob');
    const owner = records(t, path);
    const first = await followed(t, () => owner.store);
    await first.put(ann);
    const other = records(t, path);
    const second = await followed(t, () => other.store);
    t.strictSame(second.records, [ann]);
    await t.rejects(second.put(bob), {
      code: 'store_failed',
      message:
        /another process uses it\); nothing was changed\. Set MEMORY_STORE_SNAPSHOT_PATH to a different file/,
    });
    t.strictSame(second.records, [ann]);
    await first.put(bob);
    other.clock.advance(250);
    await until(() => second.records.length === 2);
    await first.remove(ann.id);
    other.clock.advance(250);
    await until(() => second.records.length === 1);
    await first.store.stop();
    await owner.lock?.release();
    await second.put(record('ban', 'user=cid'));
    t.equal(second.records.length, 2, 'what the first process has changed is kept');
    other.clock.advance(250);
    t.equal(other.clock.pending, 0, 'the owner does not look at the file again');
    t.match(other.logger.lines, [
      { level: 'warning', message: /cannot be changed in this process/, fields: { path, reason: /another/ } },
      { level: 'warning', message: /can be changed in this process/ },
    ]);
    t.strictSame(owner.logger.lines, []);
  },
);

t.test('a damaged file is set aside by the process that may write it', async t => {
  const path = pathOf(t);
  writeFileSync(path, '[{', { mode: 0o600 });
  const lock = new FileLock(path);
  await lock.take();
  const reading = records(t, path);
  await followed(t, () => reading.store);
  t.equal(existsSync(path), true);
  t.match(reading.logger.lines[0], { level: 'error', fields: { kept: path } });
  await reading.store.stop();
  await lock.release();
  const { store, logger } = records(t, path);
  const { records: known } = await followed(t, () => store);
  t.strictSame(known, []);
  t.equal(readFileSync(`${path}.damaged`, 'utf8'), '[{');
  t.equal(existsSync(path), false);
  t.match(logger.lines, [{ level: 'error' }]);
});

t.test('the file is only for its owner, also one that others could read', async t => {
  const path = pathOf(t);
  const mode = () => statSync(path).mode & 0o777;
  writeFileSync(path, '[]');
  chmodSync(path, 0o644);
  const { store, logger } = records(t, path);
  const first = await followed(t, () => store);
  t.equal(mode(), 0o600);
  t.match(logger.lines, [{ level: 'warning', fields: { path, mode: '644' } }]);
  // A crash has left the file that replaces the other one.
  writeFileSync(`${path}.new`, '');
  chmodSync(`${path}.new`, 0o666);
  await first.put(record('ban', 'user=ann'));
  t.equal(mode(), 0o600);
});

t.test('a record that cannot be saved is not active', async t => {
  const path = '/nonexistent/records';
  const { store, logger } = records(t, path);
  const first = await followed(t, () => store);
  await t.rejects(first.put(record('ban', 'user=ann')), { code: 'store_failed', message: /ENOENT|EACCES/ });
  t.strictSame(first.records, []);
  t.match(logger.lines, [{ level: 'warning', fields: { path } }]);
});

/** Puts bans for descriptors with these values, as an operator does. */
async function putter(t: Test, { store, clock }: Pick<ReturnType<typeof records>, 'store' | 'clock'>) {
  const steering = new Steering(store, clock);
  await steering.start();
  t.teardown(() => steering.stop());
  const put = (...values: readonly string[]) => {
    const entries = values.map(value => ({ key: 'user', value }));
    const until = new Date(CLOCK_MS + 60_000).toISOString();
    return steering.put({ domain: 'd', entries, until, reason: 'test' }, 'ban', 'tests');
  };
  return { steering, put };
}

t.test(
  'changes at the same moment do not exceed the number of records, and a file that has more is cut',
  async t => {
    const path = pathOf(t);
    const many = Array.from({ length: MAX_RECORDS + 5 }, (_, i) => record('ban', `user=u${i}`));
    writeFileSync(path, JSON.stringify(many.map(recordJson)), { mode: 0o600 });
    const { logger, ...opened } = records(t, path);
    const { steering, put } = await putter(t, opened);
    t.equal(steering.list('ban').length, MAX_RECORDS);
    t.match(logger.lines, [{ level: 'error', fields: { ignored: 5 } }]);
    const { id } = steering.list('ban')[0];
    const changes = await Promise.allSettled([
      put('one'),
      steering.remove('ban', id),
      put('two'),
      put('three'),
    ]);
    t.match(changes, [
      { status: 'rejected', reason: /1000 records already/ },
      { status: 'fulfilled' },
      { status: 'fulfilled' },
      { status: 'rejected' },
    ]);
    t.equal(steering.list('ban').length, MAX_RECORDS);
  },
);

t.test('changes at the same moment do not exceed the number of sorts', async t => {
  const { put } = await putter(t, records(t, null));
  const changes = Array.from({ length: 70 }, (_, i) => put(`w${i}*`, 'x'));
  const made = await Promise.allSettled(changes);
  t.equal(made.filter(({ status }) => status === 'fulfilled').length, 64);
  t.match(made.at(-1), { status: 'rejected', reason: /more than 64 sorts/ });
});
