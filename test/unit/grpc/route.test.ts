import t from 'tap';
import { parseTimeoutMs } from '../../../src/grpc/route.ts';

t.test('every unit is read', async t => {
  const expected: Record<string, number> = {
    '1H': 3_600_000,
    '2M': 120_000,
    '3S': 3_000,
    '4m': 4,
    '5u': 0.005,
    '6n': 0.000006,
  };
  for (const [text, ms] of Object.entries(expected)) t.ok(Math.abs(parseTimeoutMs(text) - ms) < 1e-9, text);
});

t.test('the longest timeout of eight digits is read whole', async t => {
  t.equal(parseTimeoutMs('99999999H'), 99_999_999 * 3_600_000);
});

t.test('no time at all is a timeout', async t => {
  t.equal(parseTimeoutMs('0n'), 0);
  t.equal(parseTimeoutMs('00000000S'), 0);
});

t.test('any other text is not a number', async t => {
  const wrong = [
    '1',
    'S',
    '',
    '123456789S',
    '1s',
    '1h',
    '-1S',
    '+1S',
    '1.5S',
    '1 S',
    ' 1S',
    '1S ',
    '1SS',
    '１S',
  ];
  for (const text of wrong) t.ok(Number.isNaN(parseTimeoutMs(text)), JSON.stringify(text));
});
