import t from 'tap';
import { MAX_RECORDS } from '../../../src/steering/record.ts';
import { SharedRecords, SharedRecordsReader } from '../../../src/steering/shared-records.ts';
import { record } from '../../support/steering.ts';

const NOW_S = 1_700_000_000;

t.test('without records there is no table', async t => {
  const shared = new SharedRecords();
  const reader = new SharedRecordsReader(shared.buffer);
  t.equal(reader.at(NOW_S), null);
  shared.publish([record('ban', 'user=ann')]);
  t.not(reader.at(NOW_S), null);
  shared.publish([]);
  t.equal(reader.at(NOW_S), null);
});

t.test('the table stays the same until a record ends or records are published', async t => {
  const shared = new SharedRecords();
  const records = [record('ban', 'user=ann', { seconds: 10 }), record('ban', 'user=bob', { seconds: 20 })];
  shared.publish(records);
  const reader = new SharedRecordsReader(shared.buffer);
  const table = reader.at(NOW_S);
  t.equal(reader.at(NOW_S + 9), table);
  const later = reader.at(NOW_S + 10);
  t.not(later, table);
  t.equal(reader.at(NOW_S + 19), later);
  t.equal(reader.at(NOW_S + 20), null);
  t.not(reader.at(NOW_S + 19), null, 'the clock was set back');
  shared.publish(records);
  t.not(reader.at(NOW_S), later);
});

t.test('the memory holds as many records as there may be, of the greatest size', async t => {
  const shared = new SharedRecords();
  const value = 'é'.repeat(500);
  const records = Array.from({ length: MAX_RECORDS }, (_, i) =>
    record('ban', `a=${i},b=${value},c=${value},d=${value}`, { reason: '"'.repeat(240) }),
  );
  shared.publish(records);
  const reader = new SharedRecordsReader(shared.buffer);
  t.not(reader.at(NOW_S), null);
});
