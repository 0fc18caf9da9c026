import { chownSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { credentials, ServerCredentials } from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import { AdsServer } from '../support/ads-server.ts';
import { askOverGrpc, askOverHttp, getPage } from '../support/asking.ts';
import { Authority, type CertificatePair } from '../support/certificates.ts';
import { request } from '../support/decisions.ts';
import { freePort } from '../support/free-port.ts';
import { GrpcClient } from '../support/grpc-client.ts';
import { Container } from '../support/image/container.ts';
import { buildImage, type Image, imageObstacle } from '../support/image/image.ts';
import { redisFor } from '../support/redis-server.ts';
import { writeRules } from '../support/rule-files.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { hourly } from '../support/xds-messages.ts';

const RULES = 'domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: hour, requests_per_unit: 2}\n';
const ASK = { domain: 'd', descriptors: [{ entries: [{ key: 'a', value: 'x' }] }] };
const NOBODY = 65_534;

const skip = imageObstacle();
const image = skip === false ? buildImage(t) : (undefined as unknown as Image);

/** Ports on the loopback address that no other program uses. */
async function freePorts() {
  const [http, grpc, debug] = [await freePort(), await freePort(), await freePort()];
  const env = {
    HOST: '127.0.0.1',
    PORT: String(http),
    GRPC_HOST: '127.0.0.1',
    GRPC_PORT: String(grpc),
    DEBUG_HOST: '127.0.0.1',
    DEBUG_PORT: String(debug),
  };
  return { http: `127.0.0.1:${http}`, grpc: { host: '127.0.0.1', port: grpc }, env };
}

/** Writes files that any user may read, as those of a config map or a secret are. */
function mounted(t: Test, files: Readonly<Record<string, string>>): string {
  const folder = join(tempDirectory(t), 'mounted');
  mkdirSync(folder, { mode: 0o755 });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o644 });
  return folder;
}

const pair = (name: string, { certificate, key }: CertificatePair): Record<string, string> => ({
  [`${name}.crt`]: certificate,
  [`${name}.key`]: key,
});

t.test('the image serves as Envoy Gateway starts it, as 65534 with a read-only root', { skip }, async t => {
  const ca = new Authority('gateway');
  const certificates = ca.issue({ subject: 'localhost', names: ['localhost', '127.0.0.1'] });
  const files = mounted(t, { ...pair('tls', certificates), 'ca.crt': ca.certificate });
  const [certificate, key, root] = [certificates.certificate, certificates.key, ca.certificate].map(text =>
    Buffer.from(text),
  );
  const ads = await AdsServer.start(t, {
    credentials: ServerCredentials.createSsl(root, [{ cert_chain: certificate, private_key: key }], true),
  });
  const redis = await redisFor(t);
  const metrics = await freePort();
  const ports = await freePorts();
  const container = new Container(t, image, {
    command: ['/bin/ratelimit'],
    workingDirectory: '/',
    volumes: { '/certs': `${files}:ro` },
    env: {
      RUNTIME_ROOT: '/data',
      RUNTIME_SUBDIRECTORY: 'ratelimit',
      RUNTIME_IGNOREDOTFILES: 'true',
      RUNTIME_WATCH_ROOT: 'false',
      LOG_LEVEL: 'info',
      USE_STATSD: 'false',
      CONFIG_TYPE: 'GRPC_XDS_SOTW',
      CONFIG_GRPC_XDS_SERVER_URL: ads.address,
      CONFIG_GRPC_XDS_NODE_ID: 'envoy-ratelimit',
      GRPC_SERVER_USE_TLS: 'true',
      GRPC_SERVER_TLS_CERT: '/certs/tls.crt',
      GRPC_SERVER_TLS_KEY: '/certs/tls.key',
      GRPC_SERVER_TLS_CA_CERT: '/certs/ca.crt',
      CONFIG_GRPC_XDS_SERVER_USE_TLS: 'true',
      CONFIG_GRPC_XDS_CLIENT_TLS_CERT: '/certs/tls.crt',
      CONFIG_GRPC_XDS_CLIENT_TLS_KEY: '/certs/tls.key',
      CONFIG_GRPC_XDS_SERVER_TLS_CACERT: '/certs/ca.crt',
      FORCE_START_WITHOUT_INITIAL_CONFIG: 'true',
      REDIS_SOCKET_TYPE: 'tcp',
      REDIS_URL: `127.0.0.1:${redis.port}`,
      USE_PROMETHEUS: 'true',
      PROMETHEUS_ADDR: `:${metrics}`,
      // From a config map that is optional, and missing.
      PROMETHEUS_MAPPER_YAML: '/etc/statsd-exporter/conf.yaml',
      ...ports.env,
    },
  });
  const loaded = container.logged(/"Rules loaded"/);
  (await ads.stream()).send('1', hourly('first-listener', 'user', 5));
  t.match(await ads.request(), { node: { id: 'envoy-ratelimit' } });
  await loaded;
  const client = new GrpcClient(ports.grpc, credentials.createSsl(root), {
    'grpc.ssl_target_name_override': 'localhost',
  });
  t.teardown(() => client.close());
  t.match(await askOverGrpc(client, request('first-listener', 'user=ann')), {
    overallCode: 1,
    statuses: [{ limitRemaining: 4 }],
  });
  t.same(await getPage(ports.http, '/healthcheck'), { status: 200, text: 'OK' });
  t.match(
    (await getPage(`127.0.0.1:${metrics}`, '/metrics')).text,
    /^ratelimit_service_rate_limit_total_hits\{domain="first-listener",key1="user"\} 1$/m,
  );
  t.same(container.status('Uid').split('\t'), Array(4).fill(String(NOBODY)));
  t.same(container.status('Gid').split('\t'), Array(4).fill(String(NOBODY)));
  t.equal(container.status('CapEff'), '0000000000000000');
  t.equal(container.status('Name'), 'node', 'process 1 is Node.js itself');
  const probe = new Container(t, image, { command: image.healthcheck, env: ports.env });
  t.match(await probe.child.ended, { status: 0 });
  const write = new Container(t, image, { command: ['/bin/sh', '-c', 'echo > /opt/sluice/written'] });
  t.match(await write.child.ended, { status: 2 });
  t.match(write.child.output, /Read-only file system/);
  t.match(await container.stop(), { status: 0 });
});

t.test(
  '/bin/ratelimit, ratelimit_client and ratelimit_config_check work from any directory',
  { skip },
  async t => {
    const root = mounted(t, {});
    writeRules(root, { 'config/rules.yaml': RULES });
    const volumes = { '/srv': `${root}:ro` };
    const ports = await freePorts();
    const server = new Container(t, image, {
      // The argument that Envoy AI Gateway gives it, which the reference ignores.
      command: ['/bin/ratelimit', '--quotaRateLimitServiceAddr=ratelimit.example'],
      workingDirectory: '/tmp',
      volumes,
      env: { ...ports.env, RUNTIME_ROOT: '/srv', RUNTIME_WATCH_ROOT: 'false' },
    });
    await server.logged(/"Sluice is ready"/);
    const run = (...command: string[]): Container =>
      new Container(t, image, { command, volumes, workingDirectory: '/tmp' });
    const target = `127.0.0.1:${ports.grpc.port}`;
    const asked = run('/bin/ratelimit_client', '-dial_string', target, '-domain', 'd', '-descriptors', 'a=x');
    t.match(await asked.child.ended, { status: 0 });
    t.match(asked.child.output, /^OK\n/);
    const checked = run('/bin/ratelimit_config_check', '-config_dir', '/srv/config');
    t.match(await checked.child.ended, { status: 0 });
    const version = run('/bin/sluice', '--version');
    t.match(await version.child.ended, { status: 0 });
    t.match(await server.stop(), { status: 0 });
  },
);

t.test(
  'without arguments the image serves its sample rules; tasks have a writable directory',
  { skip },
  async t => {
    const ports = await freePorts();
    const env = {
      ...ports.env,
      TASKS_ENABLED: 'true',
      SECRETS_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    };
    const data = join(tempDirectory(t), 'data');
    for (const [where, options] of Object.entries({
      'in the image': { root: 'writable' },
      'on a volume of that user': { volumes: { '/var/lib/sluice': data } },
    } as const)) {
      if ('volumes' in options) {
        mkdirSync(data);
        chownSync(data, NOBODY, NOBODY);
      }
      const container = new Container(t, image, { env, ...options });
      await container.logged(/"Sluice is ready"/);
      t.match(await askOverHttp(ports.http, { ...ASK, domain: 'demo' }), { status: 200 }, where);
      t.match(await container.stop(), { status: 0 });
    }
    t.ok(readdirSync(data).length > 0);
  },
);
