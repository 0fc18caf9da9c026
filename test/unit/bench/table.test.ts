import t from 'tap';
import { formatMegabytes, formatNumber, formatTable } from '../../../bench/support/table.ts';

t.test('columns are as wide as their widest cell; the first is aligned left, others right', async t => {
  const lines = formatTable(
    ['server', 'calls/s'],
    [
      ['own', '640 800'],
      ['node:http2', '7'],
    ],
  );
  t.same(lines, ['server      calls/s', 'own         640 800', 'node:http2        7']);
});

t.test('a short row leaves its last cells empty', async t => {
  t.same(formatTable(['a', 'b'], [['x']]), ['a  b', 'x']);
});

t.test('numbers have spaces between thousands and as many decimals as asked for', async t => {
  t.equal(formatNumber(1_234_567.8), '1 234 568');
  t.equal(formatNumber(999), '999');
  t.equal(formatNumber(1234.5678, 3), '1 234.568');
  t.equal(formatNumber(Number.NaN), '-');
  t.equal(formatMegabytes(140_260_000), '140.3');
});
