import t from 'tap';
import { orderedNumber, readNumber } from '../../../../src/rules/conditions/numbers.ts';

function read(text: string): number {
  const bytes = Buffer.from(`_${text}_`);
  return readNumber(bytes, 1, bytes.length - 1);
}

t.test('decimal numbers are read as they are written', async t => {
  for (const text of [
    '0',
    '7',
    '-7',
    '100',
    '0.5',
    '-0.25',
    '123456789012345',
    '1234567.12345678',
    '007',
    '-0',
  ])
    t.equal(read(text), Number(text), text);
});

t.test('other texts are no numbers', async t => {
  for (const text of [
    '',
    '-',
    '.',
    '1.',
    '.5',
    '1e3',
    '0x10',
    '1 ',
    '+1',
    '1.2.3',
    '--1',
    '1,5',
    'x',
    '1'.repeat(33),
  ])
    t.ok(Number.isNaN(read(text)), text);
});

t.test('the order of numbers is that of their words', async t => {
  const numbers = [
    Number.NEGATIVE_INFINITY,
    -1e15,
    -2,
    -1.5,
    -1,
    -0.1,
    0,
    1e-9,
    0.1,
    1,
    1.5,
    2,
    1e15,
    Number.POSITIVE_INFINITY,
  ];
  const ordered = numbers.map(orderedNumber);
  t.same(
    ordered.toSorted((a, b) => (a < b ? -1 : 1)),
    ordered,
  );
  t.equal(orderedNumber(-0), orderedNumber(0));
});
