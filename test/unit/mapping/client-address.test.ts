import t from 'tap';
import { addressOf, clientAddress } from '../../../src/mapping/client-address.ts';
import { forwardedFor } from '../../../src/mapping/forwarded.ts';

const PEER = '10.0.0.9';

const behind = (trustedProxies: number, list: string): string =>
  clientAddress({ header: 'x-forwarded-for', trustedProxies }, list, PEER);

t.test('the address is that of the client of the first trusted proxy', async t => {
  const list = '6.6.6.6, 203.0.113.7, 10.0.0.1';
  t.equal(behind(1, list), '10.0.0.1');
  t.equal(behind(2, list), '203.0.113.7');
  t.equal(behind(3, list), '6.6.6.6');
  t.equal(behind(16, list), '6.6.6.6', 'all of a list that is too short are from trusted proxies');
  t.equal(behind(1, '203.0.113.7'), '203.0.113.7');
});

t.test('what a client has sent before that address changes nothing', async t => {
  for (const sent of ['', ',', ',,,', 'unknown, ', '"', '[', '1.2.3.4:x, ', `${'9.9.9.9, '.repeat(4_000)}`])
    t.equal(behind(2, `${sent}, 203.0.113.7,10.0.0.1`), '203.0.113.7', sent.slice(0, 20));
});

t.test('without a trusted proxy, the address is that of the caller', async t => {
  t.equal(behind(0, '6.6.6.6'), PEER);
});

t.test('nothing takes the place of an address that is missing', async t => {
  for (const list of [
    '',
    ' ',
    ',',
    '203.0.113.7,',
    'unknown',
    '_hidden',
    'example.com',
    '1.2.3',
    'a'.repeat(10_000),
  ])
    t.equal(behind(1, list), '', list.slice(0, 20));
});

t.test('another header has one address', async t => {
  const rule = { header: 'cf-connecting-ip', trustedProxies: 1 };
  t.equal(clientAddress(rule, '203.0.113.7', PEER), '203.0.113.7');
  t.equal(clientAddress(rule, '6.6.6.6,203.0.113.7', PEER), '203.0.113.7', 'of a repeated one, the last');
  t.equal(clientAddress(rule, '', PEER), '');
});

t.test('an address has one spelling', async t => {
  const spellings: Readonly<Record<string, string>> = {
    ' 203.0.113.7 ': '203.0.113.7',
    '203.0.113.7:8080': '203.0.113.7',
    '2001:DB8:0:0:0:0:0:1': '2001:db8::1',
    '[2001:db8::1]': '2001:db8::1',
    '[2001:db8::1]:443': '2001:db8::1',
    'fe80::1%eth0': 'fe80::1',
    '::ffff:203.0.113.7': '203.0.113.7',
    '[::ffff:203.0.113.7]:1': '203.0.113.7',
    '203.0.113.7:x:y': '',
    '[2001:db8::1': '',
    '203.0.113.07': '',
    '256.0.0.1': '',
  };
  for (const [written, address] of Object.entries(spellings)) t.equal(addressOf(written), address, written);
});

t.test('a Forwarded header is read from its end', async t => {
  const list = 'for=6.6.6.6, for=203.0.113.7;proto=https;by=10.0.0.1, For="[2001:db8::1]:4711"';
  t.equal(forwardedFor(list, 1), '[2001:db8::1]:4711');
  t.equal(forwardedFor(list, 2), '203.0.113.7');
  t.equal(forwardedFor(list, 3), '6.6.6.6');
  t.equal(forwardedFor(list, 9), '6.6.6.6');
  const rule = { header: 'forwarded', trustedProxies: 1 };
  t.equal(clientAddress(rule, list, PEER), '2001:db8::1');
  t.equal(clientAddress(rule, 'for=unknown', PEER), '');
  t.equal(clientAddress(rule, 'for="_SEVKISEK"', PEER), '', 'hidden names can be different for each request');
  t.equal(clientAddress(rule, 'proto=https;by=10.0.0.1', PEER), '');
});

t.test('what stands in quotes in a Forwarded header is no parameter', async t => {
  for (const list of [
    'proto=http;host="x;for=6.6.6.6";by=10.0.0.1;for=203.0.113.7',
    'host="a\\";for=6.6.6.6;x=";for=203.0.113.7',
    'x-for=6.6.6.6;for=203.0.113.7',
    ';;\tFOR\t=\t"203.0.113.7" ; proto=http',
    'for;for=203.0.113.7',
  ])
    t.equal(forwardedFor(list, 1), '203.0.113.7', list);
  t.equal(forwardedFor('host="x;for=6.6.6.6"', 1), '');
  t.equal(addressOf(forwardedFor('for="203.0.113.7', 1)), '', 'a quotation without an end');
});

t.test('quotations of a client do not take up what a trusted proxy adds', async t => {
  for (const sent of [
    'for="',
    'for="a\\',
    'for="a, for="b',
    'for="\\"',
    '"',
    `${'for="x", '.repeat(2_000)}`,
  ]) {
    t.equal(forwardedFor(`${sent}, for=203.0.113.7`, 1), '203.0.113.7', sent.slice(0, 20));
    t.equal(forwardedFor(`${sent}, for="203.0.113.7:1"`, 1), '203.0.113.7:1', sent.slice(0, 20));
  }
  t.equal(forwardedFor('for="a,b;c=\\"d\\"", for=203.0.113.7', 2), 'a,b;c="d"');
});
