import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import t from 'tap';
import { createRuleSource, waitMultiplier } from '../../../../src/app/rules/rule-source.ts';
import { OutageLog } from '../../../../src/base/outage-log.ts';
import type { RuleSetLoader } from '../../../../src/rules/rule-set.ts';
import { loadSettings } from '../../../../src/settings/load.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { AdsServer } from '../../../support/ads-server.ts';
import { Authority } from '../../../support/certificates.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';
import { WaitClock } from '../../../support/wait-clock.ts';
import { hourly } from '../../../support/xds-messages.ts';

/** The rule source that these variables ask for, whose rules all come into force. */
async function startSource(t: Test, env: Readonly<Record<string, string>>) {
  const clock = new WaitClock(1_700_000_000_000);
  const logger = new KeepingLogger();
  const loader: RuleSetLoader = { load: async () => ({ kind: 'active' }), refuse: () => {} };
  const stats = new StatsRegistry();
  const primary = {
    stats,
    settings: loadSettings({ CONFIG_TYPE: 'GRPC_XDS_SOTW', ...env }),
    logger,
    outages: new OutageLog({ clock, logger }),
    clock,
    random: () => 0.5,
  };
  const { service } = await createRuleSource(primary, loader, loader);
  t.teardown(() => service.stop());
  await service.start();
  return { clock, stats };
}

t.test('node, metadata and headers are those of the settings', async t => {
  const ads = await AdsServer.start(t);
  await startSource(t, {
    CONFIG_GRPC_XDS_SERVER_URL: ads.address,
    CONFIG_GRPC_XDS_NODE_ID: 'edge-1',
    CONFIG_GRPC_XDS_NODE_METADATA: 'region=eu',
    CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS: 'x-tenant:blue',
  });
  t.match(await ads.request(), {
    node: { id: 'edge-1', metadata: { fields: { region: { stringValue: 'eu' } } } },
  });
  t.same((await ads.stream()).metadata.get('x-tenant'), ['blue']);
});

t.test('without them the node is called default', async t => {
  const ads = await AdsServer.start(t);
  await startSource(t, { CONFIG_GRPC_XDS_SERVER_URL: ads.address });
  t.match(await ads.request(), { node: { id: 'default' } });
});

t.test('waits after streams that ended are those of the settings', async t => {
  const ads = await AdsServer.start(t);
  const { clock } = await startSource(t, {
    CONFIG_GRPC_XDS_SERVER_URL: ads.address,
    XDS_CLIENT_BACKOFF_INITIAL_INTERVAL: '1s',
    XDS_CLIENT_BACKOFF_MAX_INTERVAL: '5s',
    XDS_CLIENT_BACKOFF_RANDOM_FACTOR: '3',
    XDS_CLIENT_BACKOFF_JITTER: 'false',
  });
  for (const waitMs of [1_000, 3_000, 5_000]) {
    (await ads.stream()).end();
    await clock.pass(waitMs);
  }
});

t.test(
  'jitter, which is on unless it is switched off, picks a time between the first wait and the grown one',
  async t => {
    const ads = await AdsServer.start(t);
    const { clock } = await startSource(t, { CONFIG_GRPC_XDS_SERVER_URL: ads.address });
    for (const waitMs of [10_000, 12_500]) {
      (await ads.stream()).end();
      await clock.pass(waitMs);
    }
  },
);

t.test('the interval of attempts to connect is that of the settings', async t => {
  const gone = await AdsServer.start(t);
  gone.stop();
  const { clock } = await startSource(t, {
    CONFIG_GRPC_XDS_SERVER_URL: gone.address,
    CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL: '7s',
  });
  await clock.pass(7_000);
  await clock.pass(7_000);
});

t.test('the largest message is that of the settings', async t => {
  const ads = await AdsServer.start(t);
  const { clock } = await startSource(t, {
    CONFIG_GRPC_XDS_SERVER_URL: ads.address,
    XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES: '10000',
  });
  const stream = await ads.stream();
  await ads.request();
  stream.send('small', hourly('shop', 'k'.repeat(9_000), 1));
  t.match(await ads.request(), { version_info: 'small' });
  stream.send('large', hourly('shop', 'k'.repeat(11_000), 1));
  await clock.pass(10_000);
  t.match(await ads.request(), { version_info: 'small' });
});

t.test('the end of the client certificate is a statistic', async t => {
  const root = new Authority('root');
  const { certificate, key } = root.issue({ subject: 'edge', to: '2031-05-06' });
  const directory = tempDirectory(t);
  writeFileSync(join(directory, 'edge.pem'), certificate);
  writeFileSync(join(directory, 'edge.key'), key);
  const gone = await AdsServer.start(t);
  const { stats } = await startSource(t, {
    CONFIG_GRPC_XDS_SERVER_URL: gone.address,
    CONFIG_GRPC_XDS_SERVER_USE_TLS: 'true',
    CONFIG_GRPC_XDS_CLIENT_TLS_CERT: join(directory, 'edge.pem'),
    CONFIG_GRPC_XDS_CLIENT_TLS_KEY: join(directory, 'edge.key'),
  });
  const expiresS = stats.gauges().get('ratelimit.certificates.xds_client.expiry_time');
  t.equal(expiresS, Date.parse('2031-05-06T00:00:00Z') / 1_000);
});

t.test('waits grow with every factor', async t => {
  t.equal(waitMultiplier(0.5), 1.5, 'the default: half as long again');
  t.equal(waitMultiplier(1), 2);
  t.equal(waitMultiplier(1.6), 1.6, 'above 1 it is the factor itself');
  t.equal(waitMultiplier(3), 3);
  t.equal(waitMultiplier(0), 2, 'as in the reference implementation');
  t.equal(waitMultiplier(-1), 2);
});
