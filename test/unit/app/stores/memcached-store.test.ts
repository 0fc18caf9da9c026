import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer, type TLSSocket } from 'node:tls';
import t from 'tap';
import { createMemcachedStore } from '../../../../src/app/stores/memcached-store.ts';
import { OutageLog } from '../../../../src/base/outage-log.ts';
import type { CounterStore } from '../../../../src/counters/store.ts';
import { loadSettings } from '../../../../src/settings/load.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { Authority } from '../../../support/certificates.ts';
import { count } from '../../../support/counting.ts';
import { DnsServer } from '../../../support/dns-server.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { memcachedFor, startMemcached } from '../../../support/memcached-server.ts';
import { settledStore } from '../../../support/memcached-stores.ts';
import type { Teardown } from '../../../support/stores.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';
import { missing, outputOf } from '../../../support/tools.ts';
import { trustByDefault } from '../../../support/trust.ts';
import { until } from '../../../support/until.ts';

/** A store as the settings ask for it, not yet started. */
function openStore(t: Teardown, env: Record<string, string>, dns?: DnsServer) {
  const logger = new KeepingLogger();
  const settings = loadSettings({ BACKEND_TYPE: 'altcache', ...env });
  // It stands still, so that no server is given up for being slow on a busy machine.
  const clock = new ManualClock(1_700_000_000_000);
  const parts = {
    settings,
    logger,
    clock,
    random: () => 0,
    stats: new StatsRegistry(),
    outages: new OutageLog({ clock, logger }),
  };
  const store = createMemcachedStore(parts, null, dns?.lookUp);
  t.teardown(() => store.stop());
  return { store, logger };
}

const countOne = (store: CounterStore) => count(store, [{ key: 'a', hits: 1 }]);

t.test('the settings lead to the servers of a list, of any of its forms', async t => {
  const servers = await Promise.all([startMemcached(), startMemcached({ unixSocket: true })]);
  t.teardown(() => Promise.all(servers.map(server => server.stop())));
  for (const { address } of servers) {
    const { store } = openStore(t, { MEMCACHE_HOST_PORT: address, MEMCACHE_MAX_IDLE_CONNS: '3' });
    await store.start();
    t.same(await countOne(settledStore(store)), [1]);
    t.same(await countOne(settledStore(store)), [2]);
  }
});

t.test('the settings lead to the servers of a record', async t => {
  const memcached = await startMemcached();
  const dns = new DnsServer();
  t.teardown(() => Promise.all([memcached.stop(), dns.stop()]));
  await dns.start();
  dns.records.set('_cache._tcp.test', [{ name: 'localhost', port: memcached.port }]);
  const { store } = openStore(t, { ALTCACHE_SRV: '_cache._tcp.test', ALTCACHE_SRV_REFRESH: '1h' }, dns);
  await store.start();
  t.same(await countOne(store), [1]);
});

const canTls = /enable-ssl/.test(await outputOf('memcached', ['-h']));
const noTls = missing('memcached', 'memcached') || (canTls ? false : 'this memcached is built without TLS');

t.test('TLS', { skip: noTls }, async t => {
  const directory = tempDirectory(t);
  const file = (name: string, text: string) => {
    const path = join(directory, name);
    writeFileSync(path, text);
    return path;
  };
  const servers = new Authority('servers');
  const clients = new Authority('clients');
  const pair = servers.issue({ subject: 'memcached', names: ['localhost'] });
  const client = clients.issue({ subject: 'sluice', usage: ['client'] });
  const options = [
    `ssl_chain_cert=${file('server.pem', pair.certificate)}`,
    `ssl_key=${file('server.key', pair.key)}`,
    `ssl_ca_cert=${file('clients.pem', clients.certificate)}`,
  ];
  const plain = await startMemcached({ args: ['-Z', '-o', options.slice(0, 2).join()] });
  // Mode 2: who connects must show a certificate.
  const strict = await startMemcached({ args: ['-Z', '-o', [...options, 'ssl_verify_mode=2'].join()] });
  t.teardown(() => Promise.all([plain.stop(), strict.stop()]));
  const CA = { ALTCACHE_TLS: 'true', ALTCACHE_TLS_CACERT: file('servers.pem', servers.certificate) };
  const CLIENT = {
    ALTCACHE_TLS_CLIENT_CERT: file('client.pem', client.certificate),
    ALTCACHE_TLS_CLIENT_KEY: file('client.key', client.key),
  };
  const byName = (port: number) => ({ ALTCACHE_HOST_PORT: `localhost:${port}` });
  const byAddress = (port: number) => ({ ALTCACHE_HOST_PORT: `127.0.0.1:${port}` });

  /** Why the store is not connected. */
  const refusal = async (env: Record<string, string>): Promise<unknown> => {
    const { store, logger } = openStore(t, env);
    const starting = store.start();
    starting.catch(() => {});
    await until(() => logger.messages('warning').length !== 0);
    await store.stop();
    return logger.lines.find(line => line.level === 'warning')?.fields['reason'];
  };

  t.test('a server that the named CA vouches for is connected to', async t => {
    const { store } = openStore(t, { ...CA, ...byName(plain.port) });
    await store.start();
    t.same(await countOne(settledStore(store)), [1]);
    t.same(await countOne(settledStore(store)), [2]);
  });

  t.test('a server that no trusted CA vouches for is refused, also without a look at its name', async t => {
    const env = { ALTCACHE_TLS: 'true', ALTCACHE_TLS_SKIP_HOSTNAME_VERIFICATION: 'true' };
    t.match(
      await refusal({ ...env, ...byName(plain.port) }),
      /unable to verify the first certificate .*set ALTCACHE_TLS_CACERT/,
    );
  });

  t.test('an authority that the process trusts is trusted, also beside the file of another CA', async t => {
    trustByDefault(t, servers.certificate);
    for (const ca of [{}, { MEMCACHE_TLS_CACERT: file('stranger.pem', clients.certificate) }]) {
      const { store } = openStore(t, { MEMCACHE_TLS: 'true', ...ca, ...byName(plain.port) });
      await store.start();
      t.equal((await countOne(store)).length, 1);
    }
  });

  t.test('a variable that switches checking off for other programs is no switch here', async t => {
    t.teardown(() => {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    });
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    t.match(await refusal({ MEMCACHE_TLS: 'true', ...byName(plain.port) }), /unable to verify the first/);
  });

  t.test('errors say that a server does not use TLS, or that it requires a certificate', async t => {
    const clear = await memcachedFor(t);
    t.match(await refusal({ MEMCACHE_TLS: 'true', ...byName(clear.port) }), /set MEMCACHE_TLS=false/);
    t.match(await refusal({ ...CA, ...byName(strict.port) }), /set ALTCACHE_TLS_CLIENT_CERT and/);
  });

  t.test('a server of another name is refused, unless its name is not looked at', async t => {
    t.match(
      await refusal({ ...CA, ...byAddress(plain.port) }),
      /does not match certificate's altnames.*set ALTCACHE_TLS_SKIP_HOSTNAME_VERIFICATION=true/,
    );
    const { store } = openStore(t, {
      ...CA,
      ...byAddress(plain.port),
      MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION: 'true',
    });
    await store.start();
    t.equal((await countOne(store)).length, 1);
  });

  t.test('a server is asked for by its name, an address by none', async t => {
    const asked: (string | false)[] = [];
    const server = createServer({ cert: pair.certificate, key: pair.key }, socket => {
      asked.push((socket as TLSSocket & { servername: string | false }).servername);
      socket.destroy();
    });
    server.on('tlsClientError', () => {});
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => server.close());
    const { port } = server.address() as AddressInfo;
    const env = { ...CA, MEMCACHE_MAX_IDLE_CONNS: '1', MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION: 'true' };
    await refusal({ ...env, ...byName(port) });
    await refusal({ ...env, ...byAddress(port) });
    t.same(asked, ['localhost', false]);
  });

  t.test('a server that asks for a certificate gets the one of the settings', async t => {
    const { store } = openStore(t, { ...CA, ...CLIENT, ...byName(strict.port) });
    await store.start();
    t.same(await countOne(settledStore(store)), [1]);
    t.match(
      await refusal({ ...CA, ...byName(strict.port) }),
      /certificate required|handshake failure|closed|ECONNRESET/i,
    );
  });

  t.test('a server without TLS is refused', async t => {
    const clear = await memcachedFor(t);
    t.match(await refusal({ ...CA, ...byName(clear.port) }), /wrong version number|closed|packet length/i);
  });

  t.test('a file that cannot be used is named with its setting, and a key is never shown', async t => {
    const env = { ...CA, ...CLIENT, ...byName(plain.port) };
    const open = (change: Record<string, string>) => () => openStore(t, { ...env, ...change });
    t.throws(open({ ALTCACHE_TLS_CACERT: '/nowhere/ca.pem' }), {
      message: /^ALTCACHE_TLS_CACERT: '\/nowhere\/ca.pem' cannot be read \(ENOENT/,
    });
    t.throws(open({ ALTCACHE_TLS_CLIENT_CERT: file('empty', '') }), {
      message: /^ALTCACHE_TLS_CLIENT_CERT: '.*empty' must hold a certificate in PEM form$/,
    });
    t.throws(open({ ALTCACHE_TLS_CLIENT_KEY: file('broken', 'hunter2') }), {
      message:
        /^ALTCACHE_TLS_CLIENT_KEY: '.*broken' must hold a private key without a passphrase in PEM form$/,
    });
  });
});
