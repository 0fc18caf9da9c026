import t from 'tap';
import { formatTimeOrNull, parseTime, parseTimeRange } from '../../../../src/tasks/model/time.ts';

const NOW = parseTime('2026-03-10T12:00:00Z')!;

function range(start?: string, end?: string): string {
  const parsed = parseTimeRange(start, end, NOW);
  if (parsed.kind === 'fault') return `${parsed.parameter}: ${parsed.detail}`;
  return `${formatTimeOrNull(parsed.from)} – ${formatTimeOrNull(parsed.before)}`;
}

t.test('without parameters there is no bound', async t => {
  t.equal(range(), 'null – null');
});

t.test('a partial value covers its whole period', async t => {
  t.equal(range('2026', '2026'), '2026-01-01T00:00:00.000Z – 2027-01-01T00:00:00.000Z');
  t.equal(range('2026-12', '2026-12'), '2026-12-01T00:00:00.000Z – 2027-01-01T00:00:00.000Z');
  t.equal(range('2024-02', '2024-02'), '2024-02-01T00:00:00.000Z – 2024-03-01T00:00:00.000Z');
  t.equal(range('2024-02-29', '2024-02-29'), '2024-02-29T00:00:00.000Z – 2024-03-01T00:00:00.000Z');
  t.equal(range('2025-12-31', '2025-12-31'), '2025-12-31T00:00:00.000Z – 2026-01-01T00:00:00.000Z');
  t.equal(range(undefined, '2026-03'), 'null – 2026-04-01T00:00:00.000Z');
});

t.test('a full timestamp is included as a start, and not as an end', async t => {
  const at = '2026-03-01T10:00:00.250Z';
  t.equal(range(at, at), `${at} – ${at}`);
  t.equal(range('2026-03-01T11:00:00.25+01:00'), `${at} – null`);
});

t.test('Unix times are seconds or milliseconds, by their number of digits', async t => {
  t.equal(range('1767225600', '1767225600123'), '2026-01-01T00:00:00.000Z – 2026-01-01T00:00:00.123Z');
  t.equal(range('999999999'), '2001-09-09T01:46:39.000Z – null');
  t.equal(range('946684800000'), '2000-01-01T00:00:00.000Z – null');
});

t.test('a time ago counts from now', async t => {
  t.equal(range('-24h', '-1h30m'), '2026-03-09T12:00:00.000Z – 2026-03-10T10:30:00.000Z');
});

t.test('a fault names the parameter, what was given and what is accepted', async t => {
  t.equal(
    range('yesterday'),
    'start: start "yesterday" is not valid: use a time as in RFC 3339 ("2026-03-01T10:00:00Z"), a date ("2026-03-01"), ' +
      'a month ("2026-03"), a year ("2026"), Unix seconds or milliseconds (9 or 10, 12 or 13 digits), or a time ago ("-24h")',
  );
  for (const text of [
    '',
    '20260301',
    '26',
    '2026-13',
    '2026-02-30',
    '2026-3',
    '24h',
    '-',
    '-24',
    '+24h',
    '12345678901',
  ]) {
    t.match(range('2026', text), /^end: end ".*" is not valid/, text);
  }
  t.match(range('x'.repeat(10_000)), /^start: start "x{40}…" is not valid/);
});

t.test('an end before the start is a fault, and an empty range is valid', async t => {
  t.match(range('2026', '2025-06'), /^end: end is before start/);
  t.match(range('2026', '2025'), /^end: end is before start/);
  t.equal(range('2026', '2026-01-01T00:00:00Z'), '2026-01-01T00:00:00.000Z – 2026-01-01T00:00:00.000Z');
});
