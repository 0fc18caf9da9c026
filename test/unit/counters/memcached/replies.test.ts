import t from 'tap';
import { keyFault, ReplyReader } from '../../../../src/counters/memcached/protocol.ts';

function reading() {
  const seen: (string | [string, string | null])[] = [];
  const reader = new ReplyReader({
    line: text => seen.push(text),
    value: (key, data) => seen.push([key, data]),
  });
  return { seen, reader };
}

const ANSWERS = Buffer.from(
  `VALUE a 0 1\r\n7\r\nVALUE b 5 2 99\r\n12\r\nEND\r\nVALUE long 0 3000\r\n${'\r\nEND\r\n'.repeat(428)}xxxx\r\nVALUE c 0 0\r\n\r\nEND\r\n41\r\nNOT_FOUND\r\nSERVER_ERROR out of memory\r\n`,
);
const SEEN = [
  ['a', '7'],
  ['b', '12'],
  'END',
  ['long', null],
  ['c', ''],
  'END',
  '41',
  'NOT_FOUND',
  'SERVER_ERROR out of memory',
];

t.test('answers are the same however they are cut, and what an item holds is no answer', async t => {
  for (const size of [1, 2, 3, 7, 64, 1_000, ANSWERS.length]) {
    const { seen, reader } = reading();
    for (let at = 0; at < ANSWERS.length; at += size) reader.feed(ANSWERS.subarray(at, at + size));
    t.strictSame(seen, SEEN, `pieces of ${size} bytes`);
  }
});

t.test('bytes beyond ASCII come through one by one', async t => {
  const { seen, reader } = reading();
  reader.feed(Buffer.from('VALUE kä\u00a0y 0 1\r\n3\r\nEND\r\n'));
  t.strictSame(seen, [[Buffer.from('kä\u00a0y').toString('latin1'), '3'], 'END']);
});

t.test('a line that does not end and a value without a size are no answers', async t => {
  const { reader } = reading();
  reader.feed(Buffer.alloc(2_000, 'x'));
  t.throws(() => reader.feed(Buffer.alloc(100, 'x')), { message: 'it sent a line that does not end' });
  for (const head of ['VALUE a 0', 'VALUE a 0 x', 'VALUE a 0 -1', 'VALUE a 0 1e30']) {
    t.throws(() => reading().reader.feed(Buffer.from(`${head}\r\n`)), { message: /without a size/ }, head);
  }
});

t.test('memcached holds keys of 1 to 250 bytes without white space and control characters', async t => {
  t.equal(keyFault('domain_key_value_1699999200'), '');
  t.equal(keyFault('k'.repeat(250)), '');
  t.equal(keyFault('\u00e4\u00a0\u0085!~'), '');
  t.match(keyFault('k'.repeat(251)), 'at most 250 bytes, and this one has 251');
  t.match(keyFault(''), 'cannot be empty');
  for (const bad of ['a b', 'a\tb', 'a\r\nb', 'a\0b', 'a\x7fb', ' a'])
    t.match(keyFault(bad), 'cannot contain white space');
});
