import t from 'tap';
import { count } from '../../../support/counting.ts';
import { DnsServer } from '../../../support/dns-server.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { type MemcachedServer, startMemcached } from '../../../support/memcached-server.ts';
import { memcachedStore, settledStore } from '../../../support/memcached-stores.ts';
import type { Teardown } from '../../../support/stores.ts';
import { until } from '../../../support/until.ts';

const RECORD = '_memcached._tcp.example.com';

async function startDns(t: Teardown): Promise<DnsServer> {
  const dns = new DnsServer();
  t.teardown(() => dns.stop());
  await dns.start();
  return dns;
}

/** Two servers, the one with the smaller text of its address first. */
async function startTwo(t: Teardown): Promise<MemcachedServer[]> {
  const servers = await Promise.all([startMemcached(), startMemcached()]);
  t.teardown(() => Promise.all(servers.map(server => server.stop())));
  return servers.sort((a, b) => (target(a).port.toString() < target(b).port.toString() ? -1 : 1));
}

function target(server: MemcachedServer) {
  return { name: 'localhost', port: server.port };
}

type Targets = ReturnType<typeof target>[];

const ONE = [{ key: 'a', hits: 1 }];
/** CRC-32 of the keys: the first is even, the second is odd. */
const [EVEN, ODD] = ['d', 'b'];

t.test('the targets of a record are the servers, in the order of their text', async t => {
  const dns = await startDns(t);
  const [first, second] = await startTwo(t);
  dns.records.set(RECORD, [target(second), target(first)]);
  const store = memcachedStore({ record: RECORD, refreshMs: 0, lookUp: dns.lookUp });
  t.teardown(() => store.stop());
  await store.start();
  await count(
    settledStore(store),
    [EVEN, ODD].map(key => ({ key, hits: 1 })),
  );
  t.same([await first.get(EVEN), await second.get(EVEN)], ['1', undefined]);
  t.same([await first.get(ODD), await second.get(ODD)], [undefined, '1']);
  t.same(dns.asked, [RECORD]);
});

t.test('a record that cannot be looked up ends the start, and the error says which', async t => {
  const dns = await startDns(t);
  const start = () => memcachedStore({ record: RECORD, refreshMs: 0, lookUp: dns.lookUp }).start();
  await t.rejects(start(), {
    message: `the servers of ${RECORD} (ALTCACHE_SRV) cannot be looked up: querySrv ENOTFOUND`,
  });
  dns.failing = true;
  await t.rejects(start(), { message: /cannot be looked up: querySrv ESERVFAIL/ });
  dns.failing = false;
  dns.records.set(RECORD, []);
  await t.rejects(start(), { message: /cannot be looked up: .*(ENODATA|no targets)/ });
});

t.test('with a refresh interval the servers follow the record, if it can be looked up', async t => {
  const dns = await startDns(t);
  const [first, second] = await startTwo(t);
  const clock = new ManualClock(1_700_000_000_000);
  const logger = new KeepingLogger();
  dns.records.set(RECORD, [target(first)]);
  const store = memcachedStore({ record: RECORD, refreshMs: 60_000, lookUp: dns.lookUp }, { clock, logger });
  t.teardown(() => store.stop());
  await store.start();
  const settled = settledStore(store);
  t.same(await count(settled, ONE), [1]);

  dns.failing = true;
  clock.advance(60_000);
  await until(() => logger.messages('warning').length === 1);
  t.match(logger.lines.at(-1), { message: /keeping the known ones/, fields: { reason: /ESERVFAIL/ } });
  t.same(await count(settled, ONE), [2], 'nothing has changed');

  dns.failing = false;
  dns.records.set(RECORD, [target(second)]);
  clock.advance(60_000);
  // Connections to the other server come up before it is taken into use.
  await until(
    () => logger.messages('info').filter(message => message === 'Using these memcached servers').length === 2,
  );
  t.same(await count(settled, ONE), [1], 'the other server is asked now');
  t.equal(await second.get('a'), '1');
  t.equal(await first.get('a'), '2');

  clock.advance(60_000);
  await until(() => dns.asked.length === 4);
  t.same(await count(settled, ONE), [2], 'the same answer changes nothing');
});

t.test('what a record names after a stop is not connected to', async t => {
  const [first, second] = await startTwo(t);
  const clock = new ManualClock(1_700_000_000_000);
  const logger = new KeepingLogger();
  const answers = [Promise.withResolvers<Targets>(), Promise.withResolvers<Targets>()];
  let asked = 0;
  const store = memcachedStore(
    { record: RECORD, refreshMs: 60_000, lookUp: () => answers[asked++].promise },
    { clock, logger },
  );
  answers[0].resolve([target(first)]);
  await store.start();
  clock.advance(60_000);
  await store.stop();
  t.equal(asked, 2);
  const before = logger.lines.length;
  answers[1].resolve([target(second)]);
  await new Promise(resolve => setImmediate(resolve));
  t.equal(clock.pending, 0, 'nothing is waited for');
  t.equal(logger.lines.length, before);
});

t.test('without a refresh interval the record is looked up once', async t => {
  const dns = await startDns(t);
  const [first] = await startTwo(t);
  const clock = new ManualClock(1_700_000_000_000);
  dns.records.set(RECORD, [target(first)]);
  const store = memcachedStore({ record: RECORD, refreshMs: 0, lookUp: dns.lookUp }, { clock });
  t.teardown(() => store.stop());
  await store.start();
  await store.settled();
  t.equal(clock.pending, 0, 'no timer waits');
});
