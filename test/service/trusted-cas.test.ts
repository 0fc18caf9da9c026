import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { askOverHttp, getPage } from '../support/asking.ts';
import { Authority } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { grpcReceiver, httpReceiver, type OtlpReceiver } from '../support/otlp-receiver.ts';
import { redisFor } from '../support/redis-server.ts';
import { writeRules } from '../support/rule-files.ts';
import { serviceFor } from '../support/service.ts';
import { TASK_SERVER_ARGS } from '../support/tasks/redis-backend.ts';
import { startTasksService } from '../support/tasks/tasks-service.ts';
import { tempDirectory } from '../support/temp-directory.ts';

// A CA that is in the system's store only, as a company puts its own there, in the whole program.

const RULES = 'domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: second, requests_per_unit: 100}\n';
const ASK = { domain: 'd', descriptors: [{ entries: [{ key: 'a', value: 'x' }] }] };

const directory = tempDirectory(t);
function file(name: string, text: string): string {
  writeFileSync(join(directory, name), text);
  return join(directory, name);
}

const authority = new Authority('company root');
const SYSTEM = { SSL_CERT_FILE: file('company.pem', authority.certificate) };
const rules = () => ({
  RUNTIME_ROOT: writeRules(tempDirectory(t), { 'config/rules.yaml': RULES }),
  RUNTIME_WATCH_ROOT: 'false',
});

t.test('Redis of both instances, in decision threads, and that of tasks', async t => {
  const pair = authority.issue({ subject: 'redis', names: ['127.0.0.1'] });
  const port = await freePort();
  await redisFor(t, {
    args: [
      ...TASK_SERVER_ARGS,
      ...['--tls-port', String(port), '--tls-auth-clients', 'no'],
      ...['--tls-ca-cert-file', SYSTEM.SSL_CERT_FILE],
      ...['--tls-cert-file', file('redis.crt', pair.certificate)],
      ...['--tls-key-file', file('redis.key', pair.key)],
    ],
  });
  const url = `127.0.0.1:${port}`;
  const service = await startTasksService(t, {
    ...SYSTEM,
    ...rules(),
    WORKER_THREADS: '1',
    REDIS_URL: url,
    REDIS_TLS: 'true',
    // Another CA takes nothing away.
    REDIS_TLS_CACERT: file('stranger.pem', new Authority('stranger').certificate),
    REDIS_PERSECOND: 'true',
    REDIS_PERSECOND_URL: url,
    REDIS_PERSECOND_TLS: 'true',
    TASKS_STORE: 'redis',
    TASKS_REDIS_URL: url,
    TASKS_REDIS_TLS: 'true',
  });
  t.match(await askOverHttp(service.http, ASK), {
    status: 200,
    body: { statuses: [{ limitRemaining: 99 }] },
  });
  t.equal((await getPage(service.http, '/readyz')).status, 200);
});

for (const [protocol, receiver] of [
  ['http', httpReceiver],
  ['grpc', grpcReceiver],
] as const) {
  t.test(`a collector over TLS, ${protocol}`, async t => {
    const collector = await receiver(authority.issue({ subject: 'collector', names: ['127.0.0.1'] }));
    t.teardown(() => collector.close());
    const service = await serviceFor(t, { env: { ...traced(protocol, collector), ...SYSTEM } });
    await askOverHttp(service.http, ASK);
    await collector.received.first(() => true);
  });
}

t.test('where a collector is not trusted, the log names the variable that helps', async t => {
  const collector = await httpReceiver(authority.issue({ subject: 'collector', names: ['127.0.0.1'] }));
  t.teardown(() => collector.close());
  const service = await serviceFor(t, { env: traced('http', collector) });
  await askOverHttp(service.http, ASK);
  await service.logged(line => /set OTEL_EXPORTER_OTLP_CERTIFICATE/.test(String(line['reason'])));
});

function traced(protocol: 'http' | 'grpc', collector: OtlpReceiver): Record<string, string> {
  return {
    ...rules(),
    TRACING_ENABLED: 'true',
    TRACING_EXPORTER_PROTOCOL: protocol,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_BSP_SCHEDULE_DELAY: '20',
  };
}
