import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { ServerCredentials } from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import { AdsServer } from '../support/ads-server.ts';
import { askOverHttp, getPage, statistic } from '../support/asking.ts';
import { Authority } from '../support/certificates.ts';
import { launched, ServiceProcess, serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { hourly } from '../support/xds-messages.ts';

const ask = (domain: string, key: string) => ({ domain, descriptors: [{ entries: [{ key, value: 'x' }] }] });

/** Rules from this server, which is asked again soon. */
const from = (ads: AdsServer): Record<string, string> => ({
  CONFIG_TYPE: 'GRPC_XDS_SOTW',
  CONFIG_GRPC_XDS_SERVER_URL: ads.address,
  CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL: '20ms',
  XDS_CLIENT_BACKOFF_INITIAL_INTERVAL: '20ms',
  XDS_CLIENT_BACKOFF_MAX_INTERVAL: '40ms',
});

/** A service whose first rules have come; both it and the server end with the test. */
async function startOn(t: Test, ads: AdsServer, env: Readonly<Record<string, string>> = {}) {
  const service = launched(t, { env: { ...from(ads), ...env } });
  await ads.request();
  const stream = await ads.stream();
  stream.send('1', hourly('shop', 'user', 5));
  t.match(await ads.request(), { version_info: '1', error_detail: null });
  await service.listening(['http', 'debug'], 20_000);
  return { service, stream };
}

t.test('rules come, change and go as the server says; bad ones are refused and change nothing', async t => {
  const ads = await AdsServer.start(t);
  const { service, stream } = await startOn(t, ads);
  t.match(await askOverHttp(service.http, ask('shop', 'user')), {
    body: { statuses: [{ currentLimit: { requestsPerUnit: 5, unit: 'HOUR' } }] },
  });
  stream.send('2', hourly('shop', 'user', 6), { name: 'api-limits', domain: 'shop' });
  const refused = await ads.request();
  t.match(refused, { version_info: '1', response_nonce: 'nonce-2' });
  t.match(
    refused.error_detail?.message,
    /^api-limits: shop: the domain "shop" is already defined in shop-limits: /,
  );
  t.match(await askOverHttp(service.http, ask('shop', 'user')), {
    body: { statuses: [{ currentLimit: { requestsPerUnit: 5 } }] },
  });
  t.equal(await statistic(service.debug, 'ratelimit.service.config_load_error'), 1);
  stream.send('3', hourly('api', 'path', 7));
  t.match(await ads.request(), { version_info: '3', error_detail: null });
  t.equal((await getPage(service.debug, '/rlconfig')).text.split(':')[0], 'api.path', 'shop has gone');
});

t.test('a server that sends too much, and goes away', async t => {
  const ads = await AdsServer.start(t);
  const { service, stream } = await startOn(t, ads, { XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES: '10000' });

  await t.test(
    'a response beyond XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES is not taken, and the log names it',
    async t => {
      stream.send('2', hourly('shop', 'k'.repeat(11_000), 9));
      const line = await service.logged(each => each['level'] === 'error');
      t.match(line['reason'], /^RESOURCE_EXHAUSTED: .*raise XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES$/);
      t.match(await ads.request(), { version_info: '1', response_nonce: '' }, 'it asks again');
      t.match(await askOverHttp(service.http, ask('shop', 'user')), {
        body: { statuses: [{ currentLimit: { requestsPerUnit: 5 } }] },
      });
    },
  );

  await t.test(
    'the last good rules stay while the server is away, and newer ones come when it is back',
    async t => {
      ads.stop();
      await service.logged(line => /^xDS server unavailable/.test(String(line['@message'])));
      t.match(await askOverHttp(service.http, ask('shop', 'user')), {
        body: { statuses: [{ currentLimit: { requestsPerUnit: 5 } }] },
      });
      const again = await AdsServer.start(t, { port: ads.port });
      t.match(await again.request(), { version_info: '1', response_nonce: '' });
      (await again.stream()).send('2', hourly('shop', 'user', 9));
      t.match(await again.request(), { version_info: '2' });
      t.match(await askOverHttp(service.http, ask('shop', 'user')), {
        body: { statuses: [{ currentLimit: { requestsPerUnit: 9 } }] },
      });
    },
  );
});

t.test('over TLS with certificates on both sides and a name of its own', async t => {
  const serverCa = new Authority('server root');
  const clientCa = new Authority('client root');
  const server = serverCa.issue({ subject: 'control', names: ['control.example'] });
  const client = clientCa.issue({ subject: 'edge' });
  const pair = { cert_chain: Buffer.from(server.certificate), private_key: Buffer.from(server.key) };
  const credentials = ServerCredentials.createSsl(Buffer.from(clientCa.certificate), [pair], true);
  const ads = await AdsServer.start(t, { credentials });
  const directory = tempDirectory(t);
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  await startOn(t, ads, {
    CONFIG_GRPC_XDS_SERVER_USE_TLS: 'true',
    CONFIG_GRPC_XDS_SERVER_TLS_CACERT: file('ca.pem', serverCa.certificate),
    CONFIG_GRPC_XDS_CLIENT_TLS_CERT: file('cert.pem', client.certificate),
    CONFIG_GRPC_XDS_CLIENT_TLS_KEY: file('key.pem', client.key),
    CONFIG_GRPC_XDS_SERVER_TLS_SAN: 'control.example',
  });
});

t.test('two servers at once, one over TLS and one without, share one service', async t => {
  const ca = new Authority('server root');
  const { certificate, key } = ca.issue({ subject: 'gateway', names: ['localhost'] });
  const pair = { cert_chain: Buffer.from(certificate), private_key: Buffer.from(key) };
  const gateway = await AdsServer.start(t, { credentials: ServerCredentials.createSsl(null, [pair]) });
  const quota = await AdsServer.start(t);
  const caFile = join(tempDirectory(t), 'ca.pem');
  writeFileSync(caFile, ca.certificate);
  const service = launched(t, {
    env: {
      ...from(gateway),
      CONFIG_GRPC_XDS_SERVER_URL: `${gateway.address},http://${quota.address}`,
      CONFIG_GRPC_XDS_SERVER_USE_TLS: 'true',
      CONFIG_GRPC_XDS_SERVER_TLS_CACERT: caFile,
      CONFIG_GRPC_XDS_NODE_ID: 'envoy-ratelimit,envoy-ai-gateway-ratelimit',
    },
  });
  t.match(await gateway.request(), { node: { id: 'envoy-ratelimit' } });
  t.match(await quota.request(), { node: { id: 'envoy-ai-gateway-ratelimit' } });
  const quotaStream = await quota.stream();
  quotaStream.send('1', hourly('ai-gateway-quota', 'backend_name', 5));
  t.match(await quota.request(), { version_info: '1', error_detail: null });
  await service.listening(['http', 'debug'], 20_000);
  (await gateway.stream()).send('1', hourly('shop', 'user', 7));
  t.match(await gateway.request(), { version_info: '1', error_detail: null });
  quotaStream.send('2', hourly('shop', 'user', 1));
  const refused = await quota.request();
  t.match(refused, { version_info: '1', response_nonce: 'nonce-2' });
  t.match(refused.error_detail?.message, `is already defined in shop-limits (from ${gateway.address})`);
  for (const [domain, key, requestsPerUnit] of [
    ['shop', 'user', 7],
    ['ai-gateway-quota', 'backend_name', 5],
  ] as const) {
    t.match(await askOverHttp(service.http, ask(domain, key)), {
      body: { statuses: [{ currentLimit: { requestsPerUnit } }] },
    });
  }
  t.equal(await statistic(service.debug, 'ratelimit.service.config_load_success'), 2);
  t.equal(await statistic(service.debug, 'ratelimit.service.config_load_error'), 1);
});

t.test('the server receives node id, metadata and headers', async t => {
  const ads = await AdsServer.start(t);
  const service = launched(t, {
    env: {
      ...from(ads),
      CONFIG_GRPC_XDS_NODE_ID: 'edge-1',
      CONFIG_GRPC_XDS_NODE_METADATA: 'region=eu,tier=2',
      CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS: 'X-Tenant:blue,authorization:Bearer s3cret',
      LOG_LEVEL: 'debug',
    },
  });
  t.match(await ads.request(), {
    node: {
      id: 'edge-1',
      metadata: { fields: { region: { stringValue: 'eu' }, tier: { stringValue: '2' } } },
    },
  });
  const { metadata } = await ads.stream();
  t.same([metadata.get('x-tenant'), metadata.get('authorization')], [['blue'], ['Bearer s3cret']]);
  await t.test('a signal ends a service that waits for its first rules', async t => {
    t.match(await service.terminate(), { status: 0, signal: null });
    t.notMatch(service.output, /server listening/);
  });
  t.notMatch(service.output, 's3cret');
});

t.test('waits grow by XDS_CLIENT_BACKOFF_RANDOM_FACTOR, at random unless there is no jitter', async t => {
  const grown = '20,60,150,150';
  for (const jitter of ['false', 'true']) {
    const ads = await AdsServer.start(t);
    const service = launched(t, {
      env: {
        ...from(ads),
        XDS_CLIENT_BACKOFF_MAX_INTERVAL: '150ms',
        XDS_CLIENT_BACKOFF_RANDOM_FACTOR: '3',
        XDS_CLIENT_BACKOFF_JITTER: jitter,
        LOG_LEVEL: 'debug',
      },
    });
    for (let ended = 0; ended < 4; ended++) (await ads.stream()).end();
    const waits = () => service.logs.flatMap(line => (line['retryInMs'] as number | undefined) ?? []);
    await service.logged(() => waits().length === 4);
    t.equal(String(waits()) === grown, jitter === 'false', `with jitter ${jitter}: ${waits()}`);
    t.ok(waits().every(wait => wait >= 20 && wait <= 150));
  }
});

t.test('a file for TLS that is not there ends the start', async t => {
  const service = new ServiceProcess({
    env: {
      CONFIG_TYPE: 'GRPC_XDS_SOTW',
      CONFIG_GRPC_XDS_SERVER_USE_TLS: 'true',
      CONFIG_GRPC_XDS_SERVER_TLS_CACERT: '/nowhere/ca.pem',
    },
  });
  t.match(await service.ended, { status: 2 });
  t.match(service.logs.at(-1), {
    reason: /CONFIG_GRPC_XDS_SERVER_TLS_CACERT="\/nowhere\/ca\.pem" cannot be read/,
  });
});

t.test('a signal ends a service that waits to ask again', async t => {
  const gone = await AdsServer.start(t);
  gone.stop();
  const service = new ServiceProcess({
    env: { ...from(gone), CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL: '1h' },
  });
  await service.logged(line => /^xDS server unavailable/.test(String(line['@message'])));
  t.match(await service.terminate(), { status: 0, signal: null });
});

t.test('a signal ends a service whose server takes connections and says nothing', async t => {
  const silent = createServer(socket => socket.resume());
  silent.listen(0, 'localhost');
  t.teardown(() => silent.close());
  await once(silent, 'listening');
  const connection = once(silent, 'connection');
  const { port } = silent.address() as AddressInfo;
  const service = new ServiceProcess({
    env: { CONFIG_TYPE: 'GRPC_XDS_SOTW', CONFIG_GRPC_XDS_SERVER_URL: `localhost:${port}` },
  });
  await connection;
  t.match(await service.terminate(), { status: 0, signal: null });
});

t.test('ports may open before there are rules', async t => {
  const ads = await AdsServer.start(t);
  const service = await serviceFor(t, {
    env: {
      ...from(ads),
      FORCE_START_WITHOUT_INITIAL_CONFIG: 'true',
      HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: 'true',
    },
  });
  t.match(await askOverHttp(service.http, ask('shop', 'user')), { status: 503 });
  t.match(await getPage(service.http, '/healthcheck'), { status: 500 });
  await ads.request();
  const stream = await ads.stream();
  stream.send('1', hourly('shop', 'user', 5));
  await ads.request();
  t.match(await askOverHttp(service.http, ask('shop', 'user')), { status: 200 });
  t.match(await getPage(service.http, '/healthcheck'), { status: 200 });
  stream.send('2');
  t.match(await ads.request(), { version_info: '2', error_detail: null });
  t.match(await getPage(service.http, '/healthcheck'), { status: 500 }, 'no domain is loaded any more');
});
