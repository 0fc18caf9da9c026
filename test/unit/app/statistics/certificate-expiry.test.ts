import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { CertificateExpiry } from '../../../../src/app/statistics/certificate-expiry.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { Authority } from '../../../support/certificates.ts';
import { storeOfSettings } from '../../../support/store-of-settings.ts';
import { TEST_FINGERPRINT_KEY } from '../../../support/stores.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';

const ROOT = new Authority('root');

const endOf = (day: string) => Date.parse(`${day}T00:00:00Z`) / 1_000;

/** The gauges of certificates, without the rest of their names. */
function shown(stats: StatsRegistry): Record<string, number> {
  const ends = [...stats.gauges()].map(([name, value]) => [
    /^ratelimit\.certificates\.(.*)\.expiry_time$/.exec(name)?.[1],
    value,
  ]);
  return Object.fromEntries(ends.filter(([use]) => use !== undefined));
}

t.test('the end of a certificate, and of the one that replaces it', async t => {
  const stats = new StatsRegistry();
  const expiry = new CertificateExpiry(stats, 'grpc_server');
  expiry.loaded('');
  t.same(shown(stats), {}, 'without a certificate');
  expiry.loaded(ROOT.issue({ subject: 'one', to: '2031-05-06' }).certificate);
  t.same(shown(stats), { grpc_server: endOf('2031-05-06') });
  expiry.loaded(ROOT.issue({ subject: 'two', to: '2032-05-06' }).certificate);
  t.same(shown(stats), { grpc_server: endOf('2032-05-06') });
});

t.test('of a chain, the certificate that expires first', async t => {
  const stats = new StatsRegistry();
  const below = new Authority('intermediate', ROOT, { to: '2030-01-02' });
  const { certificate } = below.issue({ subject: 'leaf', to: '2040-01-02' });
  new CertificateExpiry(stats, 'xds_client').loaded(`a comment\n${certificate}${below.certificate}`);
  t.same(shown(stats), { xds_client: endOf('2030-01-02') });
});

/** Creates the store of these settings, without starting it. */
async function storeWith(t: Test, env: Readonly<Record<string, string>>, thread: 'primary' | 'other') {
  const directory = tempDirectory(t);
  const { certificate, key } = ROOT.issue({ subject: 'sluice', to: '2033-03-03' });
  writeFileSync(join(directory, 'client.pem'), certificate);
  writeFileSync(join(directory, 'client.key'), key);
  const placed = Object.entries(env).map(([name, value]) => [
    name,
    value.startsWith('client.') ? join(directory, value) : value,
  ]);
  const shared = { fingerprintKey: TEST_FINGERPRINT_KEY, memory: null, refundMarks: null };
  const { stats } = await storeOfSettings(
    t,
    Object.fromEntries(placed),
    thread === 'other' ? { shared } : {},
  );
  return shown(stats);
}

for (const [use, env] of [
  [
    'redis_client',
    {
      KVCACHE_URL: 'localhost:1',
      KVCACHE_TLS: 'true',
      KVCACHE_TLS_CLIENT_CERT: 'client.pem',
      KVCACHE_TLS_CLIENT_KEY: 'client.key',
    },
  ],
  [
    'memcached_client',
    {
      BACKEND_TYPE: 'memcache',
      ALTCACHE_HOST_PORT: 'localhost:1',
      ALTCACHE_TLS: 'true',
      ALTCACHE_TLS_CLIENT_CERT: 'client.pem',
      ALTCACHE_TLS_CLIENT_KEY: 'client.key',
    },
  ],
] as const) {
  t.test(`the certificate that is presented to the store: ${use}`, async t => {
    t.same(await storeWith(t, env, 'primary'), { [use]: endOf('2033-03-03') });
    t.same(await storeWith(t, env, 'other'), {}, 'gauges of threads are added up, so one shows it');
  });
}
