import t from 'tap';
import { SafeAddresses } from '../../../../src/tasks/delivery/worker-url.ts';

const SPECIAL: Readonly<Record<string, readonly string[]>> = {
  unspecified: ['0.0.0.0', '0.255.255.255', '::'],
  loopback: ['127.0.0.1', '127.255.255.255', '::1'],
  private: ['10.0.0.0', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255'],
  shared: ['100.64.0.0', '100.127.255.255'],
  'link-local': ['169.254.0.1', '169.254.169.254', 'fe80::1', 'febf::1', 'fe80::1%eth0', '2606:4700::1%eth0'],
  'site-local': ['fec0::1'],
  'unique-local': ['fc00::1', 'fd00:ec2::254', 'fdff:ffff::1'],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1', 'ff0e::1'],
  'reserved and broadcast': ['240.0.0.1', '255.255.255.255'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.255', '2001:db8::1', '3fff::1', '3fff:fff::1'],
  'protocol assignments': ['192.0.0.1', '192.0.0.170', '2001:10::1', '2001:20::1', '2001:1ff:ffff::1'],
  benchmarks: ['198.18.0.1', '198.19.255.255', '2001:2::1'],
  mapped: ['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:a9fe:a9fe', '::ffff:8.8.8.8'],
  compatible: ['::127.0.0.1', '::8.8.8.8'],
  'translated mapped': ['::ffff:0:127.0.0.1'],
  NAT64: ['64:ff9b::127.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b::8.8.8.8', '64:ff9b:1::10.0.0.1'],
  '6to4': ['2002:7f00:1::', '2002:a9fe:a9fe::1', '192.88.99.1'],
  Teredo: ['2001::1', '2001:0:53aa:64c:0:1:f5ff:fffe'],
  'not given out': ['4000::1', '1000::1', 'e000::1', '100::1', '5f00::1'],
  'no address': ['', 'localhost', '127.1', '0x7f.0.0.1', '1.2.3', '::1::', '[::1]'],
};

const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '169.253.255.255',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2606:4700::1111',
  '2001:200::1',
  '2001:4860:4860::8888',
  '2a00:1450::1',
];

for (const [kind, addresses] of Object.entries(SPECIAL)) {
  t.test(`tasks are not pushed to addresses of the kind: ${kind}`, async t => {
    const safe = new SafeAddresses([]);
    for (const address of addresses) t.equal(safe.allow(address), false, address);
  });
}

t.test('tasks are pushed to the others, also to those just beside the special ones', async t => {
  const safe = new SafeAddresses([]);
  for (const address of PUBLIC) t.equal(safe.allow(address), true, address);
});

t.test('the operator can allow networks, and nothing beside them', async t => {
  const safe = new SafeAddresses(['10.1.0.0/16', '127.0.0.1/32', 'fd00:1::/32', '64:ff9b::/96']);
  for (const address of [
    '10.1.0.0',
    '10.1.255.255',
    '127.0.0.1',
    'fd00:1::5',
    '64:ff9b::808:808',
    '8.8.8.8',
  ]) {
    t.equal(safe.allow(address), true, address);
  }
  for (const address of ['10.0.255.255', '10.2.0.0', '127.0.0.2', 'fd00:2::5', '::1', 'fd00:1::5%eth0']) {
    t.equal(safe.allow(address), false, address);
  }
});

t.test('a network of IPv4 allows the mapped form of its addresses', async t => {
  const safe = new SafeAddresses(['10.1.0.0/16']);
  t.equal(safe.allow('::ffff:10.1.0.1'), true);
  t.equal(safe.allow('::ffff:10.2.0.1'), false);
});

t.test('a network that cannot be read is refused with its text', async t => {
  for (const network of [
    '10.0.0.0',
    '10.0.0.0/33',
    '10.0.0/8',
    'fd00::/129',
    '10.0.0.0/8/8',
    'x/8',
    '10.0.0.0/',
    '10.0.0.0/-1',
  ]) {
    t.throws(() => new SafeAddresses([network]), {
      message: `${JSON.stringify(network)} is not a network in CIDR notation such as 10.0.0.0/8 or fd00::/8`,
    });
  }
});
