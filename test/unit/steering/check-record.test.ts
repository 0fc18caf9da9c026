import t from 'tap';
import type { JsonObject } from '../../../src/base/json.ts';
import { checkRecord, type RecordRefused, readRecord } from '../../../src/steering/check-record.ts';
import { recordJson } from '../../../src/steering/record.ts';
import { record } from '../../support/steering.ts';

const NOW_S = Date.parse('2026-01-01T00:00:00Z') / 1_000;
const GIVEN = {
  domain: 'shop',
  entries: [{ key: 'user', value: 'ann' }],
  until: '2026-01-02T00:00:00Z',
  reason: 'big sale',
};

function faultsOf(given: JsonObject, kind: 'override' | 'ban' = 'ban'): Record<string, string> {
  try {
    checkRecord(given, { kind, nowS: NOW_S, by: 'tests' });
  } catch (refused) {
    return Object.fromEntries((refused as RecordRefused).faults.map(each => [each.pointer, each.detail]));
  }
  return {};
}

t.test('a record is stored and read as it is shown', async t => {
  const given = { ...GIVEN, entries: [{ key: 'user', value: '*-bot' }, { key: 'path' }], factor: 0.5 };
  const made = checkRecord(given, { kind: 'override', nowS: NOW_S, by: 'admin' });
  const shown = recordJson(made);
  t.match(shown, { ...given, kind: 'override', created: '2026-01-01T00:00:00Z', by: 'admin' });
  t.strictSame(readRecord(shown), made);
  t.equal(readRecord({ ...shown, kind: 'tag' }), null, 'a kind of a later version');
  t.equal(readRecord({ ...shown, domain: 'other' }), null, 'the id is that of other descriptors');
});

t.test('records for the same descriptors have the same id, others have not', async t => {
  const { id } = record('ban', 'user=ann');
  t.equal(record('ban', 'user=ann', { reason: 'another' }).id, id);
  for (const other of [
    record('pass', 'user=ann'),
    record('ban', 'user=bob'),
    record('ban', 'user=ann,path'),
  ]) {
    t.not(other.id, id);
  }
});

t.test('all faults are listed, with their places', async t => {
  const faults = faultsOf({
    domain: '',
    entries: [{ key: 'us*r' }, { value: 'x' }, { key: 'k', value: 'v'.repeat(1_025) }],
    until: 'tomorrow',
    factor: 2,
  });
  t.strictSame(Object.keys(faults).sort(), [
    '/domain',
    '/entries/0/key',
    '/entries/1/key',
    '/entries/2/value',
    '/factor',
    '/reason',
    '/until',
  ]);
});

t.test('a record ends, within 400 days', async t => {
  t.strictSame(faultsOf({ ...GIVEN, until: '2027-02-05T00:00:00+00:00' }), {});
  for (const until of [
    '2026-02-30T00:00:00Z',
    '2026-04-31T00:00:00+02:00',
    '2026-01-01T00:00:00Z',
    '2027-02-06T00:00:00Z',
    '2026-01-02',
    '2026-13-01T00:00:00Z',
  ]) {
    t.match(faultsOf({ ...GIVEN, until })['/until'], 'within 400 days', until);
  }
});

t.test('an override has a limit or a factor', async t => {
  t.match(faultsOf(GIVEN, 'override')[''], 'one of');
  t.match(faultsOf({ ...GIVEN, factor: 1, requests_per_unit: 1 }, 'override')[''], 'one of');
  t.strictSame(faultsOf({ ...GIVEN, requests_per_unit: 9_007_199_254_740_991 }, 'override'), {});
  for (const requests_per_unit of [-1, 1.5, 9_007_199_254_740_992, '5']) {
    t.ok(faultsOf({ ...GIVEN, requests_per_unit }, 'override')['/requests_per_unit']);
  }
  for (const factor of [-0.1, 1e9, 'x']) t.ok(faultsOf({ ...GIVEN, factor }, 'override')['/factor']);
});

t.test('a record has at most 4 KiB', async t => {
  const entries = Array.from({ length: 5 }, (_, i) => ({ key: `k${i}`, value: 'v'.repeat(1_000) }));
  t.match(faultsOf({ ...GIVEN, entries })[''], '4096 bytes');
});
