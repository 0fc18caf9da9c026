import t from 'tap';
import {
  clusterEndpoints,
  readTcpAddress,
  redisAddressFault,
  redisEndpoint,
  sentinelAddress,
} from '../../../../src/settings/kinds/redis-address.ts';
import { words } from '../../../support/words.ts';

const tcp = (url: string, auth = '') => redisEndpoint({ socketType: 'tcp', url, auth });

t.test('host and port, with or without brackets', async t => {
  const plain = { username: '', password: '', database: 0 };
  t.same(tcp('redis.local:6380'), {
    ...plain,
    shown: 'redis.local:6380',
    target: { host: 'redis.local', port: 6380, family: 0 },
  });
  t.same(tcp('[::1]:6380'), {
    ...plain,
    shown: '[::1]:6380',
    target: { host: '::1', port: 6380, family: 0 },
  });
});

t.test('tcp4 and tcp6 allow one version of IP only', async t => {
  t.match(redisEndpoint({ socketType: 'tcp4', url: 'h:1', auth: '' }), { target: { family: 4 } });
  t.match(redisEndpoint({ socketType: 'tcp6', url: 'h:1', auth: '' }), { target: { family: 6 } });
});

t.test('a path is a unix socket', async t => {
  t.same(redisEndpoint({ socketType: 'unix', url: '/run/redis.sock', auth: 'pw' }), {
    shown: '/run/redis.sock',
    target: { path: '/run/redis.sock' },
    username: '',
    password: 'pw',
    database: 0,
  });
});

t.test('a redis:// address carries user, password and database, before the @ or as parameters', async t => {
  const expected = { target: { host: 'h', port: 6380 }, username: 'ann', password: 'p@ss', database: 3 };
  t.match(tcp('redis://ann:p%40ss@h:6380/3'), expected);
  t.match(tcp('REDIS://ann:p%40ss@h:6380/3'), expected);
  t.match(tcp('redis://h:6380?username=ann&password=p%40ss&db=3'), expected);
  t.match(tcp('redis://h'), { target: { host: 'h', port: 6379 }, database: 0 });
  t.match(tcp('redis://[::1]/'), { target: { host: '::1', port: 6379 }, database: 0 });
});

t.test('explicit credentials win over those of the address, and split at the first colon', async t => {
  t.match(tcp('redis://ann:a@h:1', 'bob:b:c'), { username: 'bob', password: 'b:c' });
  t.match(tcp('h:1', 'secret'), { username: '', password: 'secret' });
  t.match(tcp('redis://ann:a@h:1', 'secret'), { username: '', password: 'secret' });
});

t.test('what is shown of an address holds no credentials, however they are written', async t => {
  const shown = {
    'redis://ann:p4ss@h:1/2': 'redis://*****@h:1/2',
    'REDIS://:p4ss@h:1': 'redis://*****@h:1',
    'redis://:p4@p4ss@h:1': 'redis://*****@h:1',
    'redis://p4ss@h': 'redis://*****@h:6379',
    'redis://h:1?password=p4ss': 'redis://*****@h:1',
    'redis://h:1?db=2&x=p4ss': 'redis://h:1/2',
    'redis://[::1]:1': 'redis://[::1]:1',
  };
  for (const [url, expected] of Object.entries(shown)) t.equal(tcp(url).shown, expected, url);
  t.equal(tcp('h:1', 'p4ss').shown, 'h:1');
});

t.test('an address that cannot be right is refused with what is wrong in it, and without it', async t => {
  const wrong: [RegExp, string[]][] = [
    [/the port is missing/, ['p4ss']],
    [/neither host:port nor a redis:\/\/ address/, ['h:65536', 'h:0', '[h]:1', 'http://:p4ss@h:1']],
    [/not a URL/, ['redis://h:p4ss', 'redis://:p4ss/@h:1']],
    [/the host is missing or invalid/, ['redis://', 'redis:/:p4ss@h:1', 'redis://p4ss%20x', 'redis://ü']],
    [/port/, ['redis://:p4ss@h:0']],
    [/database/, ['redis://:p4ss@h/abc', 'redis://:p4ss@h/-1', 'redis://:p4ss@h/1/2', 'redis://h?db=x']],
    [/database/, ['redis://:p4ss@h/2147483648', 'redis://:p4ss@h/1.5', 'redis://a:12/p4ss@h:1']],
    [
      /percent sign/,
      words(`redis://:p4ss%zz@h:1 redis://:p4ss%@h:1 redis://h?password=%zz redis://:%ff@h redis://%:41@h`),
    ],
    [/`#`/, ['redis://u#p4ss@h:1']],
  ];
  for (const [problem, urls] of wrong) {
    for (const url of urls) {
      t.throws(() => readTcpAddress(url), { name: 'RedisAddressFault', message: problem }, url);
      t.throws(() => readTcpAddress(url), { message: /^(?!.*p4ss)/ }, url);
    }
  }
  t.equal(readTcpAddress('redis://h/2147483647').database, 2_147_483_647);
});

t.test('a cluster is a list of nodes, with the credentials that are set or of the first', async t => {
  const family = 0;
  const auth = 'ann:pw';
  t.match(clusterEndpoints({ url: 'a:1,[::1]:2', auth }), [
    { shown: 'a:1', target: { host: 'a', port: 1, family }, username: 'ann', password: 'pw' },
    { shown: '[::1]:2', target: { host: '::1', port: 2, family }, username: 'ann', password: 'pw' },
  ]);
  t.match(clusterEndpoints({ url: 'redis://bob:x@a:1,b:2,redis://:y@c:3', auth: '' }), [
    { username: 'bob', password: 'x' },
    { username: 'bob', password: 'x' },
    { username: '', password: 'y' },
  ]);
});

t.test('sentinels are a list after the name of the master, with credentials of their own', async t => {
  const url = 'limits,redis://:in-url@a:1,b:2';
  t.match(sentinelAddress({ url, auth: 'ann:pw' }, ''), {
    masterName: 'limits',
    sentinels: [
      { shown: 'redis://*****@a:1', target: { host: 'a', port: 1 }, password: 'in-url' },
      { shown: 'b:2', target: { host: 'b', port: 2 }, password: 'in-url' },
    ],
    access: { username: 'ann', password: 'pw' },
  });
  t.match(sentinelAddress({ url, auth: '' }, 'sam:s'), {
    sentinels: [
      { username: 'sam', password: 's' },
      { username: 'sam', password: 's' },
    ],
    access: { username: '', password: '' },
  });
});

t.test('a list that cannot be right is refused with what to write', async t => {
  const fault = (type: 'sentinel' | 'cluster', url: string) =>
    redisAddressFault({ type, socketType: 'unix', url, typeName: 'KVCACHE_TYPE' })?.problem;
  t.equal(fault('cluster', 'a:1,b:2'), undefined);
  t.match(fault('cluster', 'a:1,,b:2'), /an entry of the list is empty/);
  t.match(fault('cluster', '/run/redis.sock'), /neither host:port/);
  t.match(fault('cluster', 'redis://a:1/2'), /only has database 0/);
  t.equal(fault('sentinel', 'limits,a:1'), undefined);
  t.match(fault('sentinel', 'limits'), /the sentinels after it/);
  t.match(fault('sentinel', 'redis://a:1,b:2'), /the name of the master/);
  t.match(fault('sentinel', 'limits,a'), /the port is missing/);
  t.match(
    redisAddressFault({ type: 'sentinel', socketType: 'tcp', url: 'limits', typeName: 'KVCACHE_TYPE' })
      ?.accepted,
    /the name of the master, then its sentinels, separated by commas/,
  );
});
