import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { FileRecords } from '../../../src/steering/file-records.ts';
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
  writeFileSync(path, '[{');
  const logger = new KeepingLogger();
  const followed = new FollowedStore(new FileRecords(path, logger));
  await followed.start();
  t.strictSame(followed.records, []);
  t.equal(readFileSync(`${path}.damaged`, 'utf8'), '[{');
  t.equal(existsSync(path), false);
  t.match(logger.lines[0], { level: 'error' });
});

t.test('a record that cannot be saved is not active', async t => {
  const followed = new FollowedStore(new FileRecords('/nonexistent/records', new KeepingLogger()));
  await followed.start();
  await t.rejects(followed.store.put(record('ban', 'user=ann'), []), { code: 'store_failed' });
  t.strictSame(followed.records, []);
});
