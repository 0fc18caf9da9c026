import t from 'tap';
import { ownRecord, RECORD_HEAD_BYTES, Records } from '../../../src/decision/records.ts';

t.test('a record in memory of its own is the record that would be appended', t => {
  const content = Uint8Array.from({ length: 70_000 }, (_, i) => i);
  const appended = new Records();
  appended.add(1, content);
  const owned = ownRecord(1, content);
  t.ok(Buffer.from(owned).equals(content));
  const records = new Records();
  records.take(owned.buffer, owned.buffer.byteLength, 1);
  t.strictSame([records.kindAt(0), records.sizeAt(0), records.count], [1, content.length, 1]);
  t.equal(records.length, RECORD_HEAD_BYTES + content.length);
  t.ok(Buffer.from(records.bytes).equals(appended.bytes.subarray(0, appended.length)));
  t.end();
});
