import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { SETTINGS } from '../../../src/settings/table.ts';
import { repositoryRoot } from '../../support/repository.ts';
import { opsText, yamlOf } from './ops-files.ts';

const GRPC_PORT = SETTINGS.grpcPort.default;
const HTTP_PORT = SETTINGS.httpPort.default;

for (const file of ['tcp', 'unix-socket', 'mtls']) {
  t.test(
    `Envoy, ${file}: every cluster that is named exists, and Sluice is asked by gRPC over HTTP/2`,
    async t => {
      const [{ static_resources: resources }] = yamlOf(`envoy/${file}.yaml`);
      const clusters = new Map<string, Record<string, object>>(
        resources.clusters.map((cluster: { name: string }) => [cluster.name, cluster]),
      );
      const manager = resources.listeners[0].filter_chains[0].filters[0].typed_config;
      const [limiter, router] = manager.http_filters;
      const [route] = manager.route_config.virtual_hosts[0].routes;
      t.ok(clusters.has(route.route.cluster));
      t.match(router.name, /router/, 'the router is the last filter');
      t.equal(limiter.typed_config.rate_limit_service.transport_api_version, 'V3');
      t.equal(limiter.typed_config.domain, yamlOf('quickstart/config/demo.yaml')[0].domain);
      const name = limiter.typed_config.rate_limit_service.grpc_service.envoy_grpc.cluster_name;
      const sluice: Record<string, object> = clusters.get(name) ?? {};
      t.hasProp(
        sluice['typed_extension_protocol_options'],
        'envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
      );
      t.match(JSON.stringify(sluice), file === 'unix-socket' ? /grpc\.sock/ : new RegExp(`:${GRPC_PORT}\\b`));
      t.equal(JSON.stringify(sluice).includes('UpstreamTlsContext'), file === 'mtls');
      t.match(sluice['health_checks'], [{ interval: '2s', no_traffic_interval: '2s' }]);
    },
  );
}

t.test('nginx and HAProxy ask the ports of the service, and wait longer than a pull worker does', async t => {
  for (const file of ['nginx/sluice.conf', 'haproxy/haproxy.cfg']) {
    const servers = [...opsText(file).matchAll(/^\s*server (?:\S+ )?127\.0\.0\.1:(\d+)/gm)];
    t.same(new Set(servers.map(([, port]) => Number(port))), new Set([HTTP_PORT, GRPC_PORT]), file);
  }
  t.match(opsText('haproxy/haproxy.cfg'), `check-proto h1 port ${HTTP_PORT}`);
  t.match(opsText('nginx/limit-requests.conf'), `server 127.0.0.1:${HTTP_PORT};`);
  t.match(opsText('nginx/sluice.conf'), 'proxy_read_timeout 60s;');
  t.match(opsText('haproxy/haproxy.cfg'), 'timeout server 60s');
});

t.test(
  'compose: what is mounted exists, and Envoy has the configuration that asks the service of that name',
  async t => {
    const [{ services }] = yamlOf('docker/compose.yaml');
    const folder = join(repositoryRoot(), 'ops/docker');
    for (const service of Object.values<{ volumes?: string[] }>(services)) {
      for (const mount of service.volumes ?? []) t.ok(existsSync(join(folder, mount.split(':')[0])), mount);
    }
    t.ok(existsSync(join(folder, services.sluice.build.context, services.sluice.build.dockerfile)));
    t.match(opsText('envoy/tcp.yaml'), new RegExp(`address: sluice, port_value: ${GRPC_PORT}`));
  },
);

t.test('Dockerfile: what is copied exists, and nothing that is copied is ignored', async t => {
  const root = repositoryRoot();
  const kept = opsText('docker/Dockerfile.dockerignore')
    .split('\n')
    .filter(line => line.startsWith('!'))
    .map(line => line.slice(1));
  const copied = [...opsText('docker/Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
    ([, from]) => from.split(' '),
  );
  t.ok(copied.length > 5);
  for (const path of copied) {
    t.ok(existsSync(join(root, path)), path);
    t.ok(
      kept.some(keep => path === keep || path.startsWith(`${keep}/`)),
      `${path} is not ignored`,
    );
  }
});

t.test('Prometheus: the rules are those of the folder', async t => {
  const [scrape] = yamlOf('prometheus/scrape.yaml');
  t.ok(readdirSync(join(repositoryRoot(), 'ops/prometheus')).includes(scrape.rule_files[0]));
});
