import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { AdsServer, type AdsServerStream } from '../support/ads-server.ts';
import { askOverHttp, getPage, statistic } from '../support/asking.ts';
import { launched, type ServiceProcess } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';
import { type ConfigMessage, hourly, UNIT } from '../support/xds-messages.ts';

const DOMAIN = 'default/edge/http';
const ROUTE = 'httproute/default/shop/rule/0/match/0/www_example_com';

/** The resource of a controller: one route, whose only rule has this many requests per hour. */
function resource(requests: number): ConfigMessage {
  const limit = { unit: UNIT.hour, requests_per_unit: requests };
  const rule = { key: 'rule-0-match-0', value: 'rule-0-match-0', rate_limit: limit };
  return { name: DOMAIN, domain: DOMAIN, descriptors: [{ key: ROUTE, value: ROUTE, descriptors: [rule] }] };
}

/** What a proxy asks for the route. */
const ASKED = {
  domain: DOMAIN,
  descriptors: [
    {
      entries: [
        { key: ROUTE, value: ROUTE },
        { key: 'rule-0-match-0', value: 'rule-0-match-0' },
      ],
    },
  ],
};

interface Limit {
  readonly requestsPerUnit: number;
  readonly unit: string;
}

async function limitOf(service: ServiceProcess): Promise<Limit> {
  const { body } = await askOverHttp(service.http, ASKED);
  return (body as { statuses: { currentLimit: Limit }[] }).statuses[0].currentLimit;
}

async function rlconfig(service: ServiceProcess): Promise<string> {
  return (await getPage(service.debug, '/rlconfig')).text;
}

/** A service with rules from an xDS server and an overlay with this `rate_limit`. */
async function start(t: Test, limit: string) {
  const directory = tempDirectory(t);
  const file = join(directory, 'shop.yaml');
  const write = (text: string): void =>
    writeFileSync(
      file,
      `overlay:\n  - domain: "${DOMAIN}"\n    path: "*/rule-0-match-0"\n    rate_limit: {${text}}\n`,
    );
  write(limit);
  const ads = await AdsServer.start(t);
  const service = launched(t, {
    env: { CONFIG_TYPE: 'GRPC_XDS_SOTW', CONFIG_GRPC_XDS_SERVER_URL: ads.address, RULES_OVERLAY: directory },
  });
  await ads.request();
  const stream: AdsServerStream = await ads.stream();
  stream.send('1', resource(5));
  t.match(await ads.request(), { version_info: '1', error_detail: null });
  await service.listening(['http', 'debug'], 20_000);
  return { service, ads, stream, write, file };
}

t.test('an overlay changes the rules of an xDS server', async t => {
  const { service, ads, stream, write, file } = await start(t, 'window: 5m, name: checkout');

  await t.test('its fields are added to the limit that the server sends', async t => {
    t.match(await limitOf(service), { name: 'checkout', requestsPerUnit: 5, unit: 'MINUTE' });
    const path = `${DOMAIN}.${ROUTE}_${ROUTE}.rule-0-match-0_rule-0-match-0`;
    t.equal(
      (await rlconfig(service)).trim(),
      `${path}: window=5m requests_per_unit=5, shadow_mode: false, quota_mode: false, algorithm: fixed_window, overlay: ${file}:2`,
    );
  });

  await t.test('/xds-dump shows what the server has sent, as sluice check reads it', async t => {
    const { text } = await getPage(service.debug, '/xds-dump');
    t.match(text, `--- # ${DOMAIN}\ndomain: "${DOMAIN}"\n`);
    t.match(text, /requests_per_unit: 5$/m);
  });

  await t.test('a change of one of them keeps the other', async t => {
    stream.send('2', resource(6));
    t.match(await ads.request(), { version_info: '2', error_detail: null });
    t.match(await limitOf(service), { requestsPerUnit: 6, unit: 'MINUTE' });
    write('window: 2d');
    await service.logged(line => line['@message'] === 'Rules loaded' && line['overlay'] === 1);
    await until(async () => (await limitOf(service)).unit === 'DAY');
    t.match(await limitOf(service), { requestsPerUnit: 6, unit: 'DAY' });
  });

  await t.test('a faulty overlay leaves the last good one in force, also for new rules', async t => {
    write('window: soon');
    const line = await service.logged(each => String(each['fault']).startsWith(`${file}:4:`));
    t.match(line['fault'], /rule-0-match-0.*soon/);
    stream.send('3', resource(7));
    t.match(await ads.request(), { version_info: '3', error_detail: null }, 'the server is not to blame');
    t.match(await limitOf(service), { requestsPerUnit: 7, unit: 'DAY' });
    write('window: 3d');
    await until(async () => (await rlconfig(service)).includes('window=3d'));
  });
});

t.test('servers keep their rules while the overlay has a fault, and after it was corrected', async t => {
  const directory = tempDirectory(t);
  const file = join(directory, 'a.yaml');
  writeFileSync(file, 'overlay: [{domain: "*", path: "*", rate_limit: {window: soon}}]\n');
  const servers = [await AdsServer.start(t), await AdsServer.start(t)];
  const service = launched(t, {
    env: {
      CONFIG_TYPE: 'GRPC_XDS_SOTW',
      CONFIG_GRPC_XDS_SERVER_URL: servers.map(({ address }) => address).join(','),
      RULES_OVERLAY: directory,
    },
  });
  const [one, other] = await Promise.all(
    servers.map(async server => {
      await server.request();
      return server.stream();
    }),
  );
  one.send('1', hourly('one', 'user', 5));
  t.match(
    await servers[0].request(),
    { version_info: '1', error_detail: null },
    'the server is not to blame',
  );
  other.send('1', hourly('other', 'user', 6));
  t.match(await servers[1].request(), { version_info: '1', error_detail: null });
  writeFileSync(file, 'overlay: [{domain: "*", path: "*", rate_limit: {window: 5m}}]\n');
  await service.listening(['http', 'debug'], 20_000);
  const shown = /^one\.user: window=5m requests_per_unit=5.*\nother\.user: window=5m requests_per_unit=(\d+)/;
  t.match(await rlconfig(service), shown);
  other.send('2', hourly('other', 'user', 7));
  t.match(await servers[1].request(), { version_info: '2', error_detail: null });
  t.equal(shown.exec(await rlconfig(service))?.[1], '7');
  t.equal(await statistic(service.debug, 'ratelimit.service.overlay_is_active'), 1);
});

t.test('no request is decided by half of a change', async t => {
  const { service, stream, ads, write } = await start(t, 'window: 5m');
  const seen = new Set<string>();
  let isOver = false;
  const asking = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      const { requestsPerUnit, unit } = await limitOf(service);
      seen.add(`${requestsPerUnit} ${unit}`);
    }
  });
  for (let round = 0; round < 10; round++) {
    write(round % 2 === 0 ? 'window: 2d' : 'window: 5m');
    stream.send(`${round + 2}`, resource(10 + (round % 2)));
    t.match(await ads.request(), { error_detail: null });
  }
  isOver = true;
  await Promise.all(asking);
  for (const each of seen) t.match(each, /^(5|10|11) (MINUTE|DAY)$/);
  t.ok(seen.size > 1, [...seen].join(', '));
});
