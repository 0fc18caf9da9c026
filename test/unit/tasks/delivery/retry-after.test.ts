import t from 'tap';
import { retryAfterMs } from '../../../../src/tasks/delivery/reply.ts';

const NOW = Date.parse('2026-03-01T10:00:00.000Z');
const DAY = 86_400_000;

t.test('seconds', async t => {
  t.equal(retryAfterMs('120', NOW), 120_000);
  t.equal(retryAfterMs('0', NOW), 0);
  t.equal(retryAfterMs(' 7 ', NOW), 7_000);
  t.equal(retryAfterMs('007', NOW), 7_000);
});

t.test('a date in each of the three forms that HTTP has', async t => {
  t.equal(retryAfterMs('Sun, 01 Mar 2026 10:02:00 GMT', NOW), 120_000);
  t.equal(retryAfterMs('Sunday, 01-Mar-26 10:02:00 GMT', NOW), 120_000);
  t.equal(retryAfterMs('Sun Mar  1 10:02:00 2026', NOW), 120_000);
});

t.test('a date that has passed is now', async t => {
  t.equal(retryAfterMs('Sun, 06 Nov 1994 08:49:37 GMT', NOW), 0);
});

t.test('more than a day is a day', async t => {
  t.equal(retryAfterMs('86401', NOW), DAY);
  t.equal(retryAfterMs(String(10 * 365 * 86_400), NOW), DAY);
  t.equal(retryAfterMs('9'.repeat(400), NOW), DAY);
  t.equal(retryAfterMs('Fri, 01 Mar 2036 10:00:00 GMT', NOW), DAY);
});

t.test('what is neither is as if it were not there', async t => {
  const texts = [
    '',
    ' ',
    '-1',
    '-120',
    '+5',
    '1.5',
    '1e3',
    '0x10',
    'soon',
    'garbage 5',
    '5 minutes',
    '2026-03-01T10:02:00Z',
    'Sun, 01 Mar 2026 10:02:00 CET',
    'Sun, 41 Mar 2026 10:02:00 GMT',
    'Sun, 01 Foo 2026 10:02:00 GMT',
    'Sun, 01 Mar 2026 10:02:00 GMT, 5',
    '٣',
  ];
  for (const text of texts) t.equal(retryAfterMs(text, NOW), null, text);
});
