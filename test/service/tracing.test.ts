import { Metadata } from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import { packageVersion } from '../../src/base/package.ts';
import { encodeRateLimitRequest, SHOULD_RATE_LIMIT_PATH } from '../../src/messages/client-codec.ts';
import { askOverGrpc, askOverHttp, getPage, grpcTo, statistic } from '../support/asking.ts';
import { request } from '../support/decisions.ts';
import {
  grpcReceiver,
  httpReceiver,
  type OtlpReceiver,
  type ReceivedSpan,
  silentReceiver,
} from '../support/otlp-receiver.ts';
import { headerOf, reply, startPushWorker } from '../support/push-workers.ts';
import { redisFor } from '../support/redis-server.ts';
import { writeRules } from '../support/rule-files.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { newTenant, tasksEnv } from '../support/tasks/tasks-service.ts';
import { type Teardown, tempDirectory } from '../support/temp-directory.ts';

const RULES = 'domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: year, requests_per_unit: 1}\n';
const ASK = { domain: 'd', descriptors: [{ entries: [{ key: 'a', value: 'x' }] }] };
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';

/** Connections of which each of two threads surely gets some. */
const CONNECTIONS = 20;

const CALL = 'envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';
const DECISION = 'ShouldRateLimit Execution';
const STORE = 'Redis Pipeline Execution';
/** `SPAN_KIND_SERVER` and `SPAN_KIND_CLIENT`. */
const SERVER = 2;
const CLIENT = 3;

async function traced(
  t: Teardown & { teardown(run: () => unknown): void },
  open: () => Promise<OtlpReceiver>,
  env: Readonly<Record<string, string>> = {},
): Promise<{ service: ServiceProcess; receiver: OtlpReceiver }> {
  const receiver = await open();
  t.teardown(() => receiver.close());
  const service = await serviceFor(t, {
    env: {
      RUNTIME_ROOT: writeRules(tempDirectory(t), { 'config/rules.yaml': RULES }),
      RUNTIME_WATCH_ROOT: 'false',
      TRACING_ENABLED: 'true',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
      OTEL_BSP_SCHEDULE_DELAY: '20',
      ...env,
    },
  });
  return { service, receiver };
}

t.test('over OTLP/HTTP: spans of the call, the decision and the store, below that of the caller', async t => {
  const redis = await redisFor(t);
  const { service, receiver } = await traced(t, httpReceiver, {
    BACKEND_TYPE: 'redis',
    REDIS_URL: redis.address,
    TRACING_SERVICE_NAME: 'limits',
    TRACING_SERVICE_NAMESPACE: 'edge',
    TRACING_SERVICE_INSTANCE_ID: 'one',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=hidden,zone=a',
  });
  const grpc = grpcTo(t, service.grpc);
  const metadata = new Metadata();
  metadata.set('traceparent', `00-${TRACE}-${PARENT}-01`);
  const message = encodeRateLimitRequest(request('d', 'a=x', 'a=y'));
  t.match(await grpc.unary(SHOULD_RATE_LIMIT_PATH, message, {}, metadata), { status: 0 });

  const call = await receiver.received.first(span => span.name === CALL);
  t.match(call, {
    traceId: TRACE,
    parent: PARENT,
    kind: SERVER,
    failed: false,
    attributes: {
      'rpc.system': 'grpc',
      'rpc.system.name': 'grpc',
      'rpc.service': 'envoy.service.ratelimit.v3.RateLimitService',
      'rpc.method': 'ShouldRateLimit',
      'rpc.grpc.status_code': 0,
      'rpc.response.status_code': 'OK',
      'server.address': '127.0.0.1',
      'server.port': Number(service.grpc.split(':')[1]),
      'client.address': '127.0.0.1',
      'network.peer.address': '127.0.0.1',
    },
    resource: {
      'service.name': 'limits',
      'service.namespace': 'edge',
      'service.instance.id': 'one',
      'service.version': packageVersion(),
      'telemetry.sdk.name': 'opentelemetry',
      'telemetry.sdk.language': 'nodejs',
      'telemetry.sdk.version': /^\d+\.\d+\.\d+/,
      zone: 'a',
    },
  });
  const decision = await receiver.received.first(span => span.name === DECISION);
  t.match(decision, {
    traceId: TRACE,
    parent: call.spanId,
    attributes: { domain: 'd', overall_code: 'OK' },
  });

  await grpc.unary('/grpc.health.v1.Health/Check', Buffer.from([10, 1, 120]), {}, metadata);
  const health = await receiver.received.first(span => span.name === 'grpc.health.v1.Health/Check');
  t.match(
    health,
    { attributes: { 'rpc.grpc.status_code': 5, 'rpc.response.status_code': 'NOT_FOUND' }, failed: false },
    'a caller’s fault is no failure',
  );

  const store = await receiver.received.first(({ name }) => name === STORE);
  const [host, port] = redis.address.split(':');
  t.match(store, {
    traceId: TRACE,
    parent: decision.spanId,
    kind: CLIENT,
    failed: false,
    links: [],
    attributes: {
      'db.system.name': 'redis',
      'db.operation.name': 'PIPELINE',
      'db.operation.batch.size': 2,
      'server.address': host,
      'server.port': Number(port),
      'pipeline length': 2,
      'perSecondPipeline length': 0,
    },
  });
  // The beginnings of spans are whole milliseconds.
  t.ok(
    store.beganMs >= decision.beganMs - 1 && store.endedMs <= decision.endedMs + 1,
    'it lies in the decision',
  );

  await Promise.all(Array.from({ length: 100 }, () => askOverGrpc(grpc, request('d', 'a=z'))));
  await redis.kill();
  await askOverGrpc(grpc, request('d', 'a=x')).catch(() => {});
  t.match(await service.terminate(), { status: 0 });
  checkStoreCalls(t, receiver.received.all);
});

/** Each decision is the parent of a call of the store, or linked with one. */
function checkStoreCalls(t: Test, all: readonly ReceivedSpan[]): void {
  const calls = all.filter(({ name }) => name === STORE);
  const decisions = all.filter(({ name }) => name === DECISION);
  t.ok(calls.length < decisions.length / 2, `${calls.length} calls for ${decisions.length} decisions`);
  const linked = calls.flatMap(({ links }) => links.map(({ spanId }) => spanId));
  t.same(
    [...calls.map(({ parent }) => parent), ...linked].sort(),
    decisions.map(({ spanId }) => spanId).sort(),
  );
  const linking = decisions.filter(({ links }) => links.length > 0);
  t.same(linking.map(({ spanId }) => spanId).sort(), linked.sort());
  t.ok(linking.every(({ links }) => calls.some(({ spanId }) => spanId === links[0].spanId)));
  t.match(
    calls.find(({ failed }) => failed),
    { attributes: { 'error.type': /^(store_failed|timeout)$/ } },
  );
}

t.test('over OTLP/gRPC: /json joins the trace of its caller too, B3 and W3C alike; so do tasks', async t => {
  const { RUNTIME_ROOT: _, RUNTIME_APPDIRECTORY: __, ...tasks } = tasksEnv(t);
  const { service, receiver } = await traced(t, grpcReceiver, {
    ...tasks,
    TRACING_EXPORTER_PROTOCOL: 'grpc',
  });
  t.match(await askOverHttp(service.http, ASK, { traceparent: `00-${TRACE}-${PARENT}-01` }), { status: 200 });
  const first = await receiver.received.first(span => span.name === 'POST /json');
  t.match(first, {
    traceId: TRACE,
    parent: PARENT,
    kind: SERVER,
    attributes: {
      'http.request.method': 'POST',
      'http.route': '/json',
      'url.path': '/json',
      'url.scheme': 'http',
      'server.address': '127.0.0.1',
      'client.address': '127.0.0.1',
      'http.response.status_code': 200,
    },
    resource: { 'service.name': 'RateLimit' },
  });
  t.match(String(first.resource['service.instance.id']), /^[0-9a-f-]{36}$/, 'an id is made up');

  const other = TRACE.replace('0af', '1af');
  t.match(await askOverHttp(service.http, ASK, { b3: `${other}-${PARENT}-1` }), { status: 429 });
  const second = await receiver.received.first(span => span.traceId === other && span.kind === SERVER);
  t.match(second, { parent: PARENT, attributes: { 'http.response.status_code': 429 }, failed: false });
  const decision = await receiver.received.first(span => span.traceId === other && span.name === DECISION);
  t.match(decision.attributes, { overall_code: 'OVER_LIMIT' });
  await checkTasks(t, service, receiver);
});

/** A task is created in the trace of its caller. Its delivery is a trace of its own, which the worker joins. */
async function checkTasks(t: Test, service: ServiceProcess, receiver: OtlpReceiver): Promise<void> {
  const worker = await startPushWorker(t, reply(503));
  const acme = await newTenant(service);
  await acme.make('workers', { name: 'hook', url: worker.url() });
  const traceparent = `00-${TRACE.replace('0af', '2af')}-${PARENT}-01`;
  const { json } = await acme.ask('POST /tasks', { worker: 'hook', retry: { base: '1s' } }, { traceparent });
  const creating = await receiver.received.first(
    ({ name, parent }) => name === 'POST /api/v1/tasks' && parent === PARENT,
  );
  t.match(creating.attributes, { 'url.path': '/api/v1/tasks', 'http.response.status_code': 201 });
  for (const attempt of [1, 2]) {
    const delivery = await receiver.received.first(
      ({ name, attributes }) => name === 'Task Delivery' && attributes['sluice.task.attempt'] === attempt,
    );
    t.match(delivery, {
      parent: '',
      kind: CLIENT,
      failed: true,
      links: [{ traceId: creating.traceId, spanId: creating.spanId }],
      attributes: {
        'sluice.task.id': json.id,
        'sluice.tenant': 'acme',
        'http.response.status_code': 503,
        'error.type': 'http_5xx',
        'server.address': '127.0.0.1',
      },
    });
    const request = worker.requests[attempt - 1];
    t.equal(headerOf(request, 'traceparent'), `00-${delivery.traceId}-${delivery.spanId}-01`);
  }
}

t.test('a /check request of a domain without `requests` has a span as well', async t => {
  const { service, receiver } = await traced(t, httpReceiver);
  t.equal((await getPage(service.http, '/check/d/a')).status, 404);
  t.match(await receiver.received.first(span => span.name === 'GET /check'), {
    failed: false,
    attributes: { 'http.response.status_code': 404, 'url.path': '/check/d/a' },
  });
});

t.test('a caller that does not sample is not traced, one that does is, whatever the rate', async t => {
  const { service, receiver } = await traced(t, httpReceiver, {
    TRACING_SAMPLING_RATE: '0',
    OTEL_EXPORTER_OTLP_TIMEOUT: '200',
  });
  const sampled = { traceparent: `00-${TRACE}-${PARENT}-01` };
  await askOverHttp(service.http, ASK);
  await askOverHttp(service.http, ASK, { traceparent: `00-${TRACE}-${PARENT}-00` });
  await askOverHttp(service.http, ASK, sampled);
  // Spans are sent in their order, so those before it would have come.
  await receiver.received.first(span => span.parent === PARENT);
  t.same(
    receiver.received.all.filter(span => span.kind === SERVER).map(span => span.parent),
    [PARENT],
  );

  await t.test('an unreachable collector does not affect decisions, and is logged', async t => {
    await receiver.close();
    t.match(await askOverHttp(service.http, ASK, sampled), { status: 429 });
    await service.logged(line => /^Spans cannot be sent/.test(String(line['@message'])));
    t.match(await askOverHttp(service.http, ASK, sampled), { status: 429 });
  });
});

for (const engine of ['uws', 'node']) {
  t.test(
    `with serving threads, spans have one service.instance.id and are sent at the stop (HTTP by ${engine})`,
    async t => {
      const { service, receiver } = await traced(t, httpReceiver, {
        SERVE_THREADS: '2',
        HTTP_SERVER_ENGINE: engine,
        // What is left is sent when the threads stop.
        OTEL_BSP_SCHEDULE_DELAY: '3600000',
      });
      const overGrpc = Array.from({ length: CONNECTIONS }, async () => {
        const client = grpcTo(t, service.grpc);
        await askOverGrpc(client, request('d', 'a=x'));
      });
      await Promise.all(overGrpc);
      for (let call = 0; call < CONNECTIONS; call++)
        await askOverHttp(service.http, ASK, { connection: 'close' });
      const { text } = await getPage(service.debug, '/stats');
      t.match(text, /^ratelimit\.service\.serving_threads: 2$/m);
      const decided = [0, 1].map(place =>
        statistic(service.debug, `ratelimit.service.serving_thread.${place}.decisions`),
      );
      t.ok(
        (await Promise.all(decided)).every(count => count > 0),
        'both threads have decided',
      );
      t.match(await service.terminate(), { status: 0 });
      const spans = receiver.received.all;
      for (const name of [CALL, 'POST /json'])
        t.equal(spans.filter(span => span.name === name).length, CONNECTIONS, name);
      t.equal(spans.filter(span => span.name === DECISION).length, 2 * CONNECTIONS);
      const instances = new Set(spans.map(span => span.resource['service.instance.id']));
      t.equal(instances.size, 1, [...instances].join());
      t.match([...instances], [/^[0-9a-f-]{36}$/]);
    },
  );
}

for (const protocol of ['http', 'grpc']) {
  t.test(`a collector that never answers does not keep the process from its end: ${protocol}`, async t => {
    const { service } = await traced(t, silentReceiver, {
      TRACING_EXPORTER_PROTOCOL: protocol,
      OTEL_EXPORTER_OTLP_TIMEOUT: '3600000',
    });
    t.match(await askOverHttp(service.http, ASK), { status: 200 });
    t.match(await service.terminate(), { status: 0, signal: null });
  });
}
