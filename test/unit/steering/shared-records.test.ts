import t from 'tap';
import { MAX_RECORDS } from '../../../src/steering/record.ts';
import { SharedRecords, SharedRecordsReader } from '../../../src/steering/shared-records.ts';
import { record } from '../../support/steering.ts';

const NOW_MS = 1_700_000_000_000;

t.test('without records there is no table', async t => {
  const shared = new SharedRecords();
  const reader = new SharedRecordsReader(shared.buffer);
  t.equal(reader.at(NOW_MS), null);
  shared.publish([record('ban', 'user=ann')]);
  t.not(reader.at(NOW_MS), null);
  shared.publish([]);
  t.equal(reader.at(NOW_MS), null);
});

t.test('the table stays the same until a record ends or records are published', async t => {
  const shared = new SharedRecords();
  const records = [record('ban', 'user=ann', { seconds: 10 }), record('ban', 'user=bob', { seconds: 20 })];
  shared.publish(records);
  const reader = new SharedRecordsReader(shared.buffer);
  const table = reader.at(NOW_MS);
  t.equal(reader.at(NOW_MS + 9_999), table);
  const later = reader.at(NOW_MS + 10_000);
  t.not(later, table);
  t.equal(reader.at(NOW_MS + 19_999), later);
  t.equal(reader.at(NOW_MS + 20_000), null);
  t.not(reader.at(NOW_MS + 19_999), null, 'the clock was set back');
  shared.publish(records);
  t.not(reader.at(NOW_MS), later);
});

t.test('a record ends by the clock of the store, however far that of the process is from it', async t => {
  for (const aheadMs of [-7_250, 3_600_001]) {
    const shared = new SharedRecords();
    shared.publish([record('ban', 'user=ann', { seconds: 10 })]);
    shared.publishAhead(aheadMs);
    const reader = new SharedRecordsReader(shared.buffer);
    const endMs = NOW_MS + 10_000 - aheadMs;
    t.equal(reader.at(endMs - 1)?.aheadMs, aheadMs);
    t.equal(reader.at(endMs), null);
    shared.publishAhead(0);
    t.equal(reader.at(NOW_MS + 9_999)?.aheadMs, 0, 'the clock of the process was corrected');
  }
});

t.test('the memory holds as many records as there may be, of the greatest size', async t => {
  const shared = new SharedRecords();
  // All entries but one lack a value, so each record is as long as possible in memory.
  const rest = Array.from({ length: 15 }, (_, i) => `,${String.fromCharCode(97 + i).repeat(240)}`).join('');
  const records = Array.from({ length: MAX_RECORDS }, (_, i) =>
    record('ban', `a=${i}${rest}`, { reason: '"'.repeat(60) }),
  );
  shared.publish(records);
  const reader = new SharedRecordsReader(shared.buffer);
  t.not(reader.at(NOW_MS), null);
});
