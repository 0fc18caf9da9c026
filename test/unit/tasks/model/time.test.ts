import t from 'tap';
import { formatTime, formatTimeOrNull, parseTime } from '../../../../src/tasks/model/time.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

t.test('times of RFC 3339 are read', async t => {
  for (const [text, utc] of [
    ['2026-03-01T10:00:00Z', '2026-03-01T10:00:00.000Z'],
    ['2026-03-01t10:00:00z', '2026-03-01T10:00:00.000Z'],
    ['2026-03-01 10:00:00Z', '2026-03-01T10:00:00.000Z'],
    ['2026-03-01T10:00:00.5Z', '2026-03-01T10:00:00.500Z'],
    ['2026-03-01T10:00:00.123456789Z', '2026-03-01T10:00:00.123Z'],
    ['2026-03-01T00:30:00+01:00', '2026-02-28T23:30:00.000Z'],
    ['2025-12-31T20:00:00-05:30', '2026-01-01T01:30:00.000Z'],
    ['2024-02-29T23:59:59.999Z', '2024-02-29T23:59:59.999Z'],
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
    ['0050-01-01T00:00:00Z', '0050-01-01T00:00:00.000Z'],
  ] as const) {
    const ms = parseTime(text);
    t.equal(ms === null ? null : formatTime(ms), utc, text);
  }
});

t.test('texts that are not RFC 3339 times are rejected', async t => {
  for (const text of [
    '',
    '2026-03-01',
    '2026-03-01T10:00Z',
    '2026-03-01T10:00:00',
    '2026-3-1T10:00:00Z',
    '2026-02-29T10:00:00Z',
    '2026-13-01T10:00:00Z',
    '2026-00-01T10:00:00Z',
    '2026-03-00T10:00:00Z',
    '2026-03-01T24:00:00Z',
    '2026-03-01T10:60:00Z',
    '2026-03-01T10:00:61Z',
    '2026-03-01T10:00:00+24:00',
    '2026-03-01T10:00:00+01:60',
    '2026-03-01T10:00:00+0100',
    '2026-03-01T10:00:00.Z',
    '2026-03-01T10:00:00Z\n',
    'tomorrow',
  ]) {
    t.equal(parseTime(text), null, text);
  }
});

t.test('a time that is not there stays null', async t => {
  t.equal(formatTimeOrNull(null), null);
  t.equal(formatTimeOrNull(0), '1970-01-01T00:00:00.000Z');
});

t.test('any time is written as JavaScript writes it, also behind one of another day', async t => {
  const random = new SeededRandom(11);
  const edges = [
    0, -1, 86_399_999, 86_400_000, -86_400_000, 8.64e15, -8.64e15, 253_402_300_800_000, 1_500.75,
  ];
  const times = Array.from(
    { length: 2_000 },
    () => random.below(4_000_000_000) * 1_000 + random.below(1_000),
  );
  for (const ms of [...edges, ...times, ...edges]) t.equal(formatTime(ms), new Date(ms).toISOString());
  for (const ms of [Number.NaN, Number.POSITIVE_INFINITY, 8.64e15 + 1])
    t.throws(() => formatTime(ms), RangeError);
});
