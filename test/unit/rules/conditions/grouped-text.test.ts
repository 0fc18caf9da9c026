import t from 'tap';
import { ByteWriter } from '../../../../src/base/bytes.ts';
import { writeGroup } from '../../../../src/rules/conditions/grouped-text.ts';
import { type Grouping, groupingBits } from '../../../../src/rules/conditions/grouping.ts';

function groupOf(grouping: Grouping, value: string): string {
  const to = new ByteWriter();
  const bytes = Buffer.from(`_${value}_`);
  writeGroup(groupingBits(grouping), bytes, 1, bytes.length - 1, to);
  return Buffer.from(to.view()).toString();
}

function byPrefix(ipv4Bits: number, ipv6Bits: number): Grouping {
  return { by: 'prefix', ipv4Bits, ipv6Bits };
}

t.test('addresses of a network have its text', async t => {
  t.equal(groupOf(byPrefix(24, 64), '10.1.2.3'), '10.1.2.0/24');
  t.equal(groupOf(byPrefix(24, 64), '::ffff:10.1.2.200'), '10.1.2.0/24');
  t.equal(groupOf(byPrefix(0, 64), '10.1.2.3'), '0.0.0.0/0');
  t.equal(groupOf(byPrefix(32, 64), '10.1.2.3'), '10.1.2.3/32');
  t.equal(groupOf(byPrefix(24, 64), '2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64');
  t.equal(groupOf(byPrefix(24, 44), '2001:db8:ffff:2::1'), '2001:db8:fff0::/44');
  t.equal(groupOf(byPrefix(24, 128), '2001:db8::1%eth0'), '2001:db8:0:0:0:0:0:1/128');
  t.equal(groupOf(byPrefix(24, 0), '2001:db8::1'), '::/0');
});

t.test('a value that is not an address stays as it is', async t => {
  for (const value of ['', 'unknown', '10.1.2', '10.1.2.3:80'])
    t.equal(groupOf(byPrefix(24, 64), value), value);
});

t.test('paths with the same first segments have their text', async t => {
  const segments = (count: number): Grouping => ({ by: 'segments', count });
  t.equal(groupOf(segments(1), '/api/v1/users?id=5'), '/api');
  t.equal(groupOf(segments(2), '/api/v1/users'), '/api/v1');
  t.equal(groupOf(segments(2), '/api?x=/a/b'), '/api');
  t.equal(groupOf(segments(3), '/api/v1'), '/api/v1');
  t.equal(groupOf(segments(1), 'api/v1'), 'api');
  t.equal(groupOf(segments(1), '/'), '/');
  t.equal(groupOf(segments(1), '//a'), '/');
  t.equal(groupOf(segments(31), ''), '');
});
