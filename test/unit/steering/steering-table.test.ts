import t from 'tap';
import { encodeRateLimitRequest } from '../../../src/messages/client-codec.ts';
import { RequestTable } from '../../../src/messages/request-table.ts';
import type { SteeringRecord } from '../../../src/steering/record.ts';
import { layerCount, SteeringTable } from '../../../src/steering/steering-table.ts';
import { request } from '../../support/decisions.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { record } from '../../support/steering.ts';

/** The record that a table finds for a descriptor. */
function found(records: readonly SteeringRecord[], descriptor: string, domain = 'd'): SteeringRecord | null {
  const table = new SteeringTable(records);
  const requests = new RequestTable();
  requests.add(encodeRateLimitRequest(request(domain, descriptor)));
  return table.select(requests, 0) ? table.find(requests, 0) : null;
}

t.test('a ban takes precedence over a pass, and both over an override', async t => {
  const override = record('override', 'user=ann', { factor: 2 });
  const pass = record('pass', 'user=*');
  const ban = record('ban', 'user');
  t.equal(found([override, pass, ban], 'user=ann'), ban);
  t.equal(found([override, pass], 'user=ann'), pass);
  t.equal(found([override], 'user=ann'), override);
});

t.test('exact values take precedence over wildcards, and wildcards over keys alone', async t => {
  const records = ['user', 'user=a*', 'user=ann'].map((text, i) => record('override', text, { factor: i }));
  t.equal(found(records, 'user=ann'), records[2]);
  t.equal(found(records, 'user=abe'), records[1]);
  t.equal(found(records, 'user=bob'), records[0]);
});

t.test('a record never switches off another one, as an entry of rules would', async t => {
  const wide = record('ban', 'user=*,path=*');
  const narrow = record('ban', 'user=ann,path=/a');
  t.equal(found([narrow, wide], 'user=ann,path=/b'), wide);
  const records = [record('pass', 'user=a*,path=/a'), record('pass', 'user=*n,path=/b')];
  t.equal(found(records, 'user=ann,path=/b'), records[1]);
});

t.test('records apply to their domain only', async t => {
  t.equal(found([record('ban', 'user')], 'user=ann', 'other'), null);
});

t.test('layers are as few as the shapes of records', async t => {
  const exact = Array.from({ length: 100 }, (_, i) => record('ban', `user=${i}`));
  t.equal(layerCount(exact), 1);
  const wild = Array.from({ length: 10 }, (_, i) => record('ban', `user=${i}*,path`));
  t.equal(layerCount([...exact, ...wild]), 11);
});

t.test('random records: what is found matches, by kind and closeness', async t => {
  const random = new SeededRandom(7);
  const pick = <T>(list: readonly T[]): T => list[random.below(list.length)];
  const kinds = ['ban', 'pass', 'override'] as const;
  const patterns = ['', '=a', '=ab', '=a*', '=*b', '=*', '=*a*b*'];
  const values = ['a', 'ab', 'ba', 'aab', 'x'];
  for (let round = 0; round < 300; round++) {
    const records = Array.from({ length: 1 + random.below(8) }, () => {
      const kind = pick(kinds);
      const levels = Array.from({ length: 1 + random.below(3) }, (_, i) => `k${i}${pick(patterns)}`);
      return record(kind, levels.join(','), kind === 'override' ? { factor: 1 } : {});
    });
    const levels = Array.from({ length: 1 + random.below(3) }, (_, i) => `k${i}=${pick(values)}`);
    const descriptor = levels.join(',');
    const expected = records.filter(each => matches(each, descriptor)).map(rankOf);
    const one = found(records, descriptor);
    t.equal(one === null ? undefined : rankOf(one), expected.sort()[0], descriptor);
    if (one !== null) t.ok(matches(one, descriptor));
  }
});

function matches({ entries }: SteeringRecord, descriptor: string): boolean {
  const levels = descriptor.split(',').map(text => text.split('='));
  if (levels.length !== entries.length) return false;
  return entries.every(({ key, value }, i) => {
    if (key !== levels[i][0]) return false;
    const pattern = value.split('*').join('.*');
    return value === '' || new RegExp(`^${pattern}$`).test(levels[i][1]);
  });
}

/** Sorts by precedence. */
function rankOf({ kind, entries }: SteeringRecord): string {
  const shape = entries.map(({ value }) => (value === '' ? 2 : value.includes('*') ? 1 : 0));
  return `${['ban', 'pass', 'override'].indexOf(kind)} ${shape.join('')}`;
}
