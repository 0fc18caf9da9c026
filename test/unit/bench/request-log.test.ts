import t from 'tap';
import { readRequestLog } from '../../../bench/support/request-log.ts';

const line = (duration: number): string => `1795255766632222\t200\t${duration}\n`;

t.test('gives the third column of every line in ascending order', async t => {
  const log = Buffer.from([811, 9, 120_034].map(line).join(''));
  t.same([...readRequestLog(log)], [9, 811, 120_034]);
});

t.test('an empty log has no requests', async t => {
  t.equal(readRequestLog(Buffer.alloc(0)).length, 0);
});

t.test('a last line without an end is left out', async t => {
  t.same([...readRequestLog(Buffer.from(`${line(5)}1795255766632222\t200\t8`))], [5]);
});

t.test('a line of other columns is refused by its number', async t => {
  t.throws(() => readRequestLog(Buffer.from(`${line(5)}what is this\n`)), {
    message: 'line 2 of the request log has not three columns',
  });
});
