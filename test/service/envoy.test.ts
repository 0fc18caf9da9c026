import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { statistic } from '../support/asking.ts';
import { Authority } from '../support/certificates.ts';
import { Envoy, envoyMissing, type Substitutions } from '../support/envoy.ts';
import { freePort } from '../support/free-port.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { type Teardown, tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';

// A real Envoy runs the files of ops/envoy as they are, except addresses, paths and timeouts. Its own statistics tell
// what it was answered.

const RULES = `domain: demo
descriptors:
  - key: user
    rate_limit: {unit: year, requests_per_unit: 2}
  - key: user
    value: load
    rate_limit: {unit: year, requests_per_unit: 4000000000}
`;
const LIMIT = '2, 2;w=31536000';

/** Replaces the rate limits of the filter. Envoy 1.40 ignores `hits_addend` in those of a route, without an error. */
const rateLimits = (text: string) =>
  ['                      domain: demo\n', `                      domain: demo\n${text}`] as const;

/** A hit for each request, given back when it is done. */
const GIVING_BACK = rateLimits(`                      rate_limits:
                        - actions:
                            - request_headers: { header_name: x-user, descriptor_key: user }
                        - actions:
                            - request_headers: { header_name: x-user, descriptor_key: user }
                          apply_on_stream_done: true
                          hits_addend: { number: 1, is_negative_hits: true }
`);

/** A check without hits before each request, and its cost when it is done, as `ops/README.md` shows. */
const BUDGET = rateLimits(`                      rate_limits:
                        - actions:
                            - request_headers: { header_name: x-user, descriptor_key: user }
                          hits_addend: { number: 0 }
                        - actions:
                            - request_headers: { header_name: x-user, descriptor_key: user }
                          apply_on_stream_done: true
                          hits_addend: { format: '%DYNAMIC_METADATA(costs:tokens)%' }
`);

/** A filter behind the limit that says what a request costs. Requests that the limit rejects do not reach it. */
const COSTS = [
  '                  - name: envoy.filters.http.router\n',
  `                  - name: envoy.filters.http.set_metadata
                    typed_config:
                      '@type': type.googleapis.com/envoy.extensions.filters.http.set_metadata.v3.Config
                      metadata: [{ metadata_namespace: costs, value: { tokens: 2 } }]
                  - name: envoy.filters.http.router
`,
] as const;

/** The web server behind Envoy, and its port. What becomes of requests for `/hold` is for the caller to say. */
async function startUpstream(
  t: Teardown,
  hold: (response: ServerResponse) => void = () => {},
): Promise<number> {
  const server = createServer((request, response) => {
    if (request.url === '/hold') hold(response);
    else response.end('hello');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function startSluice(t: Teardown, env: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> {
  return await serviceFor(t, { rules: RULES, env: { DISABLE_STATS: 'true', ...env } });
}

/** Addresses of tcp.yaml and mtls.yaml; several instances of Sluice are what the name would be resolved to. */
function overTcp(upstream: number, instances: readonly ServiceProcess[]): Substitutions {
  const indent = ' '.repeat(14);
  const endpoints = instances.map(({ grpc }) => {
    const address = `{ address: 127.0.0.1, port_value: ${grpc.split(':')[1]} }`;
    return `${indent}- endpoint:\n${indent}    address:\n${indent}      socket_address: ${address}`;
  });
  const shipped = '{ address: sluice, port_value: 8081 }';
  return [
    ['address: upstream, port_value: 80 ', `address: 127.0.0.1, port_value: ${upstream} `],
    [
      `${indent}- endpoint:\n${indent}    address:\n${indent}      socket_address: ${shipped}`,
      endpoints.join('\n'),
    ],
  ];
}

/** Callers that ask Envoy one call after the other, until they are told to end. */
class Load {
  calls = 0;
  /** Calls that Sluice did not decide. */
  unanswered = 0;
  #isGoing = true;
  readonly #callers: Promise<unknown>;

  constructor(envoy: Envoy) {
    this.#callers = Promise.all([this.#ask(envoy), this.#ask(envoy)]);
  }

  /** How many calls there were. */
  async end(): Promise<number> {
    this.#isGoing = false;
    await this.#callers;
    return this.calls;
  }

  async #ask(envoy: Envoy): Promise<void> {
    while (this.#isGoing) {
      const { status, limit } = await envoy.ask('load');
      this.calls++;
      if (status !== 200 || limit === null) this.unanswered++;
    }
  }
}

t.test(
  'tcp.yaml: 200 within the limit, then 429; 200 while the service is stopped',
  { skip: envoyMissing },
  async t => {
    const service = await startSluice(t);
    const envoy = await Envoy.start(t, 'tcp.yaml', overTcp(await startUpstream(t), [service]));
    t.same(await envoy.ask('ann'), { status: 200, limit: LIMIT });
    t.same(await envoy.ask('ann'), { status: 200, limit: LIMIT });
    t.same(await envoy.ask('ann'), { status: 429, limit: LIMIT });
    t.equal(await envoy.statistic('cluster.upstream.ratelimit.ok'), 2);
    t.equal(await envoy.statistic('cluster.upstream.ratelimit.over_limit'), 1);
    await service.terminate();
    t.same(await envoy.ask('ann'), { status: 200, limit: null }, 'failure_mode_deny: false');
    t.equal(await envoy.statistic('cluster.upstream.ratelimit.failure_mode_allowed'), 1);
  },
);

t.test(
  'unix-socket.yaml: the same; with failure_mode_deny: true 500 while the service is stopped',
  { skip: envoyMissing },
  async t => {
    const socket = join(tempDirectory(t), 'grpc.sock');
    const service = await startSluice(t, { GRPC_UDS: socket });
    const envoy = await Envoy.start(t, 'unix-socket.yaml', [
      ['address: 127.0.0.1, port_value: 8000', `address: 127.0.0.1, port_value: ${await startUpstream(t)}`],
      ['/run/sluice/grpc.sock', socket],
      ['failure_mode_deny: false', 'failure_mode_deny: true'],
    ]);
    t.match(
      [await envoy.ask('ann'), await envoy.ask('ann'), await envoy.ask('ann')],
      [{ status: 200 }, { status: 200 }, { status: 429 }],
    );
    await service.terminate();
    t.same(await envoy.ask('ann'), { status: 500, limit: null });
    t.equal(await envoy.statistic('cluster.upstream.ratelimit.error'), 1);
  },
);

t.test('mtls.yaml: the same, where each shows the other a certificate', { skip: envoyMissing }, async t => {
  const directory = tempDirectory(t);
  const authority = new Authority('root');
  const server = authority.issue({
    subject: 'sluice',
    names: ['sluice.example.internal'],
    usage: ['server'],
  });
  const client = authority.issue({ subject: 'envoy', names: ['envoy.example.internal'], usage: ['client'] });
  const files = {
    'ca.pem': authority.certificate,
    'server.pem': server.certificate,
    'server.key': server.key,
    'client.pem': client.certificate,
    'client.key': client.key,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  const service = await startSluice(t, {
    GRPC_SERVER_USE_TLS: 'true',
    GRPC_SERVER_TLS_CERT: join(directory, 'server.pem'),
    GRPC_SERVER_TLS_KEY: join(directory, 'server.key'),
    GRPC_CLIENT_TLS_CACERT: join(directory, 'ca.pem'),
    GRPC_CLIENT_TLS_SAN: 'envoy.example.internal',
  });
  const envoy = await Envoy.start(t, 'mtls.yaml', [
    ...overTcp(await startUpstream(t), [service]),
    ['/etc/envoy/tls', directory],
  ]);
  t.match(
    [await envoy.ask('ann'), await envoy.ask('ann'), await envoy.ask('ann')],
    [{ status: 200 }, { status: 200 }, { status: 429 }],
  );
  t.ok((await envoy.statistic('cluster.sluice.ssl.handshake')) > 0);
});

t.test(
  'a rolling restart of two instances with SHUTDOWN_DELAY fails no call under load',
  { skip: envoyMissing },
  async t => {
    const ports = [await freePort(), await freePort()];
    const start = (port: number, delay: string) =>
      startSluice(t, { GRPC_PORT: String(port), SHUTDOWN_DELAY: delay });
    // The test ends the delay with a second signal, as soon as Envoy has noticed.
    const instances = await Promise.all(ports.map(port => start(port, '10m')));
    const envoy = await Envoy.start(t, 'tcp.yaml', overTcp(await startUpstream(t), instances));
    const sends = (port: number, isWanted: boolean) =>
      until(async () => (await envoy.sendsTo(`127.0.0.1:${port}`)) === isWanted);
    for (const port of ports) await sends(port, true);
    const load = new Load(envoy);
    // The threads of Envoy hear of the health one after the other: none of many calls tells that all have.
    const leaves = async (port: number): Promise<void> => {
      await sends(port, false);
      const callsTo = () => envoy.callsTo(`127.0.0.1:${port}`);
      for (let before = -1, now = await callsTo(); now !== before; now = await callsTo()) {
        before = now;
        const asked = load.calls;
        await until(() => load.calls > asked + 50);
      }
    };
    for (const [index, port] of ports.entries()) {
      const asked = load.calls;
      const instance = instances[index];
      instance.signal('SIGTERM');
      await leaves(port);
      const again = setInterval(() => instance.signal('SIGTERM'), 50);
      await instance
        .logged(line => line['@message'] === 'Draining connections')
        .finally(() => clearInterval(again));
      t.match(await instance.ended, { status: 0 });
      await start(port, '0');
      await sends(port, true);
      t.ok(load.calls > asked + 10, `${load.calls - asked} calls meanwhile`);
    }
    const calls = await load.end();
    t.equal(load.unanswered, 0);
    t.equal(
      await envoy.statistic('cluster.upstream.ratelimit.ok'),
      calls,
      'every call was answered by Sluice',
    );
    t.equal(await envoy.statistic('cluster.upstream.ratelimit.error'), 0);
    t.equal(await envoy.statistic('cluster.upstream.ratelimit.failure_mode_allowed'), 0);
  },
);

t.test(
  'Envoy gives hits back also for rejected requests, so a refund can free another place',
  { skip: envoyMissing },
  async t => {
    // Rejected requests are not counted, as with sliding windows and token buckets.
    const service = await startSluice(t, { STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT: 'true' });
    const held: ServerResponse[] = [];
    const upstream = await startUpstream(t, response => held.push(response));
    const envoy = await Envoy.start(t, 'tcp.yaml', [...overTcp(upstream, [service]), GIVING_BACK]);
    const inProgress = [envoy.ask('ann', '/hold'), envoy.ask('ann', '/hold')];
    await until(() => held.length === 2);
    t.match(await envoy.ask('ann'), { status: 429 }, 'two are in progress');
    await until(async () => (await envoy.ask('ann')).status === 200);
    t.equal(held.length, 2, 'both of them still are');
    for (const response of held) response.end();
    await Promise.all(inProgress);
    t.equal(await envoy.statistic('cluster.upstream.ratelimit.error'), 0);
  },
);

t.test(
  'a budget is charged when a request is done; rejected requests cost nothing',
  { skip: envoyMissing },
  async t => {
    const service = await startSluice(t);
    const substitutions = [...overTcp(await startUpstream(t), [service]), BUDGET, COSTS];
    const envoy = await Envoy.start(t, 'tcp.yaml', substitutions);
    const charged = () => statistic(service.debug, 'ratelimit.service.rate_limit.demo.user.total_hits');
    for (const hits of [2, 4]) {
      t.match(await envoy.ask('ann'), { status: 200 });
      await until(async () => (await charged()) === hits);
    }
    for (let i = 0; i < 5; i++) t.match(await envoy.ask('ann'), { status: 429 });
    t.match(await envoy.ask('bob'), { status: 200 });
    await until(async () => (await charged()) >= 6);
    t.equal(await charged(), 6, 'the calls of the rejected requests would have come before that of bob');
  },
);
