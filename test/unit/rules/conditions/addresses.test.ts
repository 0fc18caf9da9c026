import { BlockList, isIP, isIPv4 } from 'node:net';
import t from 'tap';
import { networkText, readAddress, readNetwork } from '../../../../src/rules/conditions/addresses.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

const words = new Int32Array(4);

function familyOf(text: string): number {
  const bytes = Buffer.from(`[${text}]`);
  return readAddress(bytes, 1, bytes.length - 1, words);
}

t.test('addresses are read like those of Node.js', async t => {
  const texts = [
    ...[
      '0.0.0.0',
      '255.255.255.255',
      '1.2.3.4',
      '1.2.3',
      '1.2.3.4.5',
      '1.2.3.256',
      '1.2.3.04',
      '1..2.3',
      '.1.2.3',
    ],
    ...[
      '::',
      '::1',
      '1::',
      '1:2:3:4:5:6:7:8',
      '1:2:3:4:5:6:7',
      '1:2:3:4:5:6:7:8:9',
      '1::2::3',
      ':1',
      '1:',
      ':::',
      '12345::',
    ],
    ...[
      '1:2:3:4:5:6:7::',
      '::2:3:4:5:6:7:8',
      '1:2:3:4::5:6:7:8',
      '2001:DB8::a',
      'g::',
      '::1.2.3.4',
      '1::1.2.3.4',
    ],
    ...[
      '1:2:3:4:5:6:1.2.3.4',
      '1:2:3:4:5:6:7:1.2.3.4',
      '1:2:3:4:5:1.2.3.4',
      '::1.2.3',
      '::1.2.3.4:5',
      'fe80::1%eth0',
      '',
    ],
  ];
  for (const text of texts) t.equal(familyOf(text) > 0, isIP(text) > 0, text);
});

t.test('an IPv4 address that is written in IPv6 is an IPv4 address', async t => {
  for (const text of ['::ffff:10.1.2.3', '::FFFF:a01:203', '0:0:0:0:0:ffff:10.1.2.3']) {
    t.equal(familyOf(text), 4, text);
    t.equal(words[0], 0x0a010203, text);
  }
  t.equal(familyOf('::10.1.2.3'), 6);
});

t.test('a text that is far longer than an address is none, and not read', async t => {
  t.equal(familyOf(`fe80::1%${'x'.repeat(1_000_000)}`), 0);
});

t.test('a network says what is wrong with it, and what to write', async t => {
  const cases: Readonly<Record<string, RegExp>> = {
    '10.0.0.1/8':
      /has bits beyond its first 8: write 10\.0\.0\.0\/8 for the network, or 10\.0\.0\.1 for the address/,
    '2001:db8::1/32': /write 2001:db8::\/32 for the network/,
    '10.0.0.0/33': /has a length that is not from 0 to 32/,
    '10.0.0.0/08': /has a length/,
    '::ffff:10.0.0.0/8': /has a length that is not from 96 to 128/,
    'fe80::%eth0/64': /is not a network/,
    '10.0.0.0/8/8': /is not a network/,
    ten: /is not a network/,
  };
  for (const [text, fault] of Object.entries(cases)) t.match(readNetwork(text), { fault }, text);
});

t.test('networks are written in one form', async t => {
  const cases: Readonly<Record<string, string>> = {
    '10.0.0.0/8': '10.0.0.0/8',
    '10.0.0.1': '10.0.0.1',
    '10.0.0.1/32': '10.0.0.1',
    '::ffff:10.0.0.0/104': '10.0.0.0/8',
    '2001:DB8:0:0::/32': '2001:db8::/32',
    '1:0:0:2:0:0:0:3': '1:0:0:2::3',
    '::/0': '::/0',
    '1:0:2:0:3:0:4:0': '1:0:2:0:3:0:4:0',
  };
  for (const [text, written] of Object.entries(cases)) {
    const network = readNetwork(text);
    t.equal('fault' in network ? network.fault : networkText(network), written, text);
  }
});

t.test('random addresses are in the networks that Node.js finds them in', async t => {
  const random = new SeededRandom(7);
  const octets = (): string => Array.from({ length: 4 }, () => random.below(256)).join('.');
  const groups = (): string =>
    Array.from({ length: 8 }, () => (random.below(3) > 0 ? random.below(65_536) : 0).toString(16)).join(':');
  for (let i = 0; i < 2_000; i++) {
    const [one, other] = random.below(2) === 0 ? [octets(), octets()] : [groups(), groups()];
    const bits = random.below(isIPv4(one) ? 33 : 129);
    const near = random.below(3) === 0 ? other : one;
    const list = new BlockList();
    list.addSubnet(one, bits, isIPv4(one) ? 'ipv4' : 'ipv6');
    const family = familyOf(one);
    const number = numberOf(family);
    const rest = BigInt((family === 4 ? 32 : 128) - bits);
    familyOf(near);
    const isIn = numberOf(family) >> rest === number >> rest;
    t.equal(isIn, list.check(near, isIPv4(near) ? 'ipv4' : 'ipv6'), `${near} in ${one}/${bits}`);
  }
});

function numberOf(family: number): bigint {
  const count = family === 4 ? 1 : 4;
  return [...words.subarray(0, count)].reduce((number, word) => (number << 32n) | BigInt(word >>> 0), 0n);
}
