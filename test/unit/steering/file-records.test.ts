import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { FileRecords } from '../../../src/steering/file-records.ts';
import { MAX_RECORDS, recordJson } from '../../../src/steering/record.ts';
import { examineSteeringStore, FollowedStore } from '../../exam/steering-store.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { record } from '../../support/steering.ts';
import { tempDirectory } from '../../support/temp-directory.ts';

t.test('in a file', async t => {
  examineSteeringStore(t, async t => {
    const path = join(tempDirectory(t), 'counters.steering');
    return () => new FileRecords(path, new KeepingLogger());
  });
});

t.test('without a file, records end with the process', async t => {
  const first = new FollowedStore(new FileRecords(null, new KeepingLogger()));
  await first.start();
  await first.store.put(record('ban', 'user=ann'), []);
  t.equal(first.records.length, 1);
  const second = new FollowedStore(new FileRecords(null, new KeepingLogger()));
  await second.start();
  t.strictSame(second.records, []);
});

t.test('a damaged file is set aside', async t => {
  const path = join(tempDirectory(t), 'records');
  writeFileSync(path, '[{', { mode: 0o600 });
  const logger = new KeepingLogger();
  const followed = new FollowedStore(new FileRecords(path, logger));
  await followed.start();
  t.strictSame(followed.records, []);
  t.equal(readFileSync(`${path}.damaged`, 'utf8'), '[{');
  t.equal(existsSync(path), false);
  t.match(logger.lines[0], { level: 'error' });
});

t.test('the file is only for its owner, also one that others could read', async t => {
  const path = join(tempDirectory(t), 'records');
  const mode = () => statSync(path).mode & 0o777;
  writeFileSync(path, '[]');
  chmodSync(path, 0o644);
  const logger = new KeepingLogger();
  const followed = new FollowedStore(new FileRecords(path, logger));
  await followed.start();
  t.equal(mode(), 0o600);
  t.match(logger.lines, [{ level: 'warning', fields: { path, mode: '644' } }]);
  // A crash has left the file that replaces the other one.
  writeFileSync(`${path}.new`, '');
  chmodSync(`${path}.new`, 0o666);
  await followed.store.put(record('ban', 'user=ann'), []);
  t.equal(mode(), 0o600);
});

t.test('a record that cannot be saved is not active', async t => {
  const followed = new FollowedStore(new FileRecords('/nonexistent/records', new KeepingLogger()));
  await followed.start();
  await t.rejects(followed.store.put(record('ban', 'user=ann'), []), { code: 'store_failed' });
  t.strictSame(followed.records, []);
});

t.test(
  'changes at the same moment do not exceed the limit of records, and a file that has more is cut',
  async t => {
    const path = join(tempDirectory(t), 'records');
    const many = Array.from({ length: MAX_RECORDS + 5 }, (_, i) => record('ban', `user=u${i}`));
    writeFileSync(path, JSON.stringify(many.map(recordJson)), { mode: 0o600 });
    const logger = new KeepingLogger();
    const followed = new FollowedStore(new FileRecords(path, logger));
    await followed.start();
    t.equal(followed.records.length, MAX_RECORDS);
    t.match(logger.lines, [{ level: 'error' }]);
    const faults = await Promise.allSettled([
      followed.store.put(record('ban', 'user=one-more'), []),
      followed.store.put(record('ban', 'user=u0', { reason: 'again' }), []),
    ]);
    t.match(faults, [{ status: 'rejected', reason: { code: 'store_failed' } }, { status: 'fulfilled' }]);
    t.equal(followed.records.length, MAX_RECORDS);
  },
);
