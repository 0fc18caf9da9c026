import t from 'tap';
import { DynamicTable, fieldSize } from '../../../../src/http2/hpack/dynamic-table.ts';
import type { HeaderField } from '../../../../src/http2/hpack/encoder.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { sizeOf } from './blocks.ts';
import { PlainTable } from './plain-table.ts';

function entriesOf(table: DynamicTable): HeaderField[] {
  return Array.from({ length: table.count }, (_, i) => [table.name(i + 1), table.value(i + 1)]);
}

t.test('an entry counts its octets and 32', async t => {
  t.equal(fieldSize(10, 13), 55);
  const table = new DynamicTable(4096);
  table.add('custom-key', 'custom-header');
  t.equal(table.size, 55);
});

t.test('the newest entry has index 1', async t => {
  const table = new DynamicTable(4096);
  table.add('a', '1');
  table.add('b', '2');
  t.same(entriesOf(table), [
    ['b', '2'],
    ['a', '1'],
  ]);
});

t.test('entries that fit to the octet stay, and one octet more evicts the oldest', async t => {
  const table = new DynamicTable(70);
  table.add('a', '12');
  table.add('b', '34');
  t.same([table.count, table.size], [2, 70]);
  table.add('c', '567');
  t.same(entriesOf(table), [['c', '567']], 'the second would have made 71');
  t.equal(table.size, 36);
});

t.test('an entry above the bound empties the table', async t => {
  const table = new DynamicTable(100);
  table.add('a', '1');
  table.add('b', 'x'.repeat(68));
  t.same([table.count, table.size], [0, 0]);
  table.add('c', 'x'.repeat(67));
  t.same([table.count, table.size], [1, 100], 'one that just fits stays');
});

t.test('a lower bound evicts, a higher one brings nothing back', async t => {
  const table = new DynamicTable(4096);
  for (const name of ['a', 'b', 'c']) table.add(name, '1');
  table.resize(68);
  t.same(entriesOf(table).flat(), ['c', '1', 'b', '1']);
  table.resize(4096);
  t.equal(table.count, 2);
  table.resize(0);
  t.same([table.count, table.size, table.maxSize], [0, 0, 0]);
  table.add('d', '');
  t.equal(table.count, 0, 'a table without room holds nothing');
});

t.test('the version is another one after whatever may change an index', async t => {
  const table = new DynamicTable(100);
  const versions = new Set([table.version]);
  for (const change of [
    () => table.add('a', '1'),
    () => table.add('a', '1'),
    () => table.add('a', 'x'.repeat(100)),
    () => table.resize(200),
    () => table.resize(10),
  ]) {
    change();
    versions.add(table.version);
  }
  t.equal(versions.size, 6);
});

t.test('random changes leave what the RFC describes, through growth and wrapping of the ring', async t => {
  const random = new SeededRandom(1);
  for (const bound of [0, 100, 1000, 4096, 65_536]) {
    const table = new DynamicTable(bound);
    const plain = new PlainTable(bound);
    let wrong = 0;
    for (let i = 0; i < 1500; i++) {
      if (random.below(40) === 0) {
        const size = random.below(bound + 1);
        table.resize(size);
        plain.resize(size);
      } else {
        const field: HeaderField = [`n${random.below(50)}`, 'v'.repeat(random.below(60))];
        table.add(...field);
        plain.add(...field);
      }
      const same = JSON.stringify(entriesOf(table)) === JSON.stringify(plain.entries);
      if (!same || table.size !== sizeOf(plain.entries)) wrong++;
    }
    t.equal(wrong, 0, `bound ${bound}`);
  }
});
