import t from 'tap';
import { RULE_STAT, RULE_STATS, sanitiseStatName } from '../../../src/stats/names.ts';

t.test('colons and bars, which end a name in line protocols, become underscores', async t => {
  t.equal(sanitiseStatName('a:b|c::|d'), 'a_b_c___d');
});

t.test('the dots of what looks like an IPv4 address become underscores', async t => {
  for (const [name, expected] of [
    ['10.0.0.1', '10_0_0_1'],
    ['ip_10.0.0.1', 'ip_10_0_0_1'],
    ['d.ip_10.0.0.1.path', 'd.ip_10_0_0_1.path'],
    ['1.2.3.4.5', '1_2_3_4.5'],
    ['1.2.3.4.5.6.7.8', '1_2_3_4.5_6_7_8'],
    ['999.999.999.999', '999_999_999_999'],
    ['1234.5.6.7', '1234_5_6_7'],
    ['1.2.3.4567', '1_2_3_4567'],
    ['1.2345.6.7', '1.2345.6.7'],
    ['1.2345.6.7.8', '1.2345_6_7_8'],
    ['1.2.3', '1.2.3'],
    ['1.2..3.4', '1.2..3.4'],
    ['a.1.b.2', 'a.1.b.2'],
    ['1.2.3.x4', '1.2.3.x4'],
    ['10.0.0.1:80', '10_0_0_1_80'],
    ['1:2.3.4.5', '1_2_3_4_5'],
    ['10.0.0.1,10.0.0.2', '10_0_0_1,10_0_0_2'],
  ]) {
    t.equal(sanitiseStatName(name), expected, name);
  }
});

t.test('an address that spans domain and keys is one too', async t => {
  t.equal(sanitiseStatName('1.2.3.4'), '1_2_3_4');
  t.equal(sanitiseStatName('d.1.2.3.4'), 'd.1_2_3_4');
});

t.test('line breaks cannot begin a line of the protocol', async t => {
  t.equal(sanitiseStatName('a\nb\r\nc'), 'a_b__c');
});

t.test('everything else stays', async t => {
  for (const name of ['', 'a b', 'a/*', 'é.日本', 'a.b.c', '-_+', '\t', '\u0000', '1,5', '٣.٣.٣.٣'])
    t.equal(sanitiseStatName(name), name);
});

t.test('each statistic of a rule has a slot of its own', async t => {
  const slots = Object.entries(RULE_STAT).map(([name, slot]) => [slot, name]);
  t.strictSame(
    slots.map(([slot]) => RULE_STATS[slot as number]),
    slots.map(([, name]) => String(name).replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)),
  );
  t.equal(slots.length, RULE_STATS.length);
});
