import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { LimitClient, type LimitClientOptions, type LimitRequest } from '../../clients/limit/src/index.ts';
import { Authority } from '../support/certificates.ts';
import { Child } from '../support/child-process.ts';
import { freePort } from '../support/free-port.ts';
import { repositoryRoot } from '../support/repository.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';

const RULES = `domain: d
answers: {retry_after: true, ratelimit_headers: true, problem_body: true}
descriptors:
  - {key: user, rate_limit: {name: daily, unit: day, requests_per_unit: 2}}
  - {key: load, rate_limit: {unit: day, requests_per_unit: 1000000}}
  - {key: model, holder: lease, rate_limit: {concurrency: {limit: 1, for: 60s}}}
`;
/** For answers, which a busy machine delays. */
const PATIENT = { timeoutMs: 30_000 };

function request(key: string, value: string, more: object = {}): LimitRequest {
  return { domain: 'd', descriptors: [{ entries: { [key]: value }, ...more }] };
}

/** A client that closes with its test, and the codes of its errors. */
function clientOf(t: Test, address: string, options: Partial<LimitClientOptions> = {}) {
  const errors: string[] = [];
  const onError: LimitClientOptions['onError'] = ({ code }) => errors.push(code);
  const client = new LimitClient({ address, onError, ...PATIENT, ...options });
  t.teardown(() => client.close());
  return { client, errors };
}

t.test('decisions say what is left, and rejections when to come back', async t => {
  const service = await serviceFor(t, { rules: RULES });
  const { client, errors } = clientOf(t, service.grpc);
  const ask = () => client.decide(request('user', 'ann'));
  t.match(await ask(), {
    allowed: true,
    failed: false,
    limit: 2,
    remaining: 1,
    retryAfterS: null,
    body: '',
    statuses: [{ code: 'OK', limit: { name: 'daily', requestsPerUnit: 2, unit: 'DAY' }, remaining: 1 }],
  });
  await ask();
  const rejected = await ask();
  t.match(rejected, { allowed: false, failed: false, limit: 2, remaining: 0 });
  t.match(rejected.body, '#quota-exceeded');
  t.ok(rejected.retryAfterS !== null && rejected.retryAfterS <= 86_400);
  t.match(Object.fromEntries(rejected.headers), {
    'retry-after': String(rejected.retryAfterS),
    ratelimit: /^"daily";r=0;t=\d+$/,
    'ratelimit-policy': '"daily";q=2;w=86400',
    'content-type': 'application/problem+json',
  });
  t.match(await client.decide(request('user', 'ann', { hits: 1, isRefund: true })), { allowed: true });
  t.match(await client.decide(request('user', 'bob', { hits: 0 })), { remaining: 2 }, 'nothing was counted');
  t.match(await client.decide({ ...request('user', 'bob'), hits: 0 }), { remaining: 2 }, 'nor was now');
  t.match(await client.decide(request('user', 'bob')), { remaining: 1 });
  t.match(await client.decide(request('other', 'bob')), { allowed: true, limit: null, remaining: null });
  const week = { limit: { requestsPerUnit: 7, unit: 'WEEK' } };
  t.match(await client.decide(request('other', 'bob', week)), { limit: 7, remaining: 6 });
  t.same(errors, []);
});

t.test('leases are held, settled and released', async t => {
  const service = await serviceFor(t, { rules: RULES });
  const { client } = clientOf(t, service.grpc);
  const lease = (id: string, action: string) =>
    client.decide(request('model', 'm', { lease: { id, action } }));
  t.match(await lease('one', 'reserve'), { allowed: true });
  t.match(await lease('two', 'reserve'), { allowed: false });
  t.match(await lease('one', 'extend'), { allowed: true });
  await lease('one', 'release');
  t.match(await lease('two', 'reserve'), { allowed: true });
});

t.test('a mistake in a request is reported with the words of the service', async t => {
  const service = await serviceFor(t, { rules: RULES });
  let message = '';
  const onError: LimitClientOptions['onError'] = reason => {
    message = `${reason.code}: ${reason.message}`;
  };
  const { client } = clientOf(t, service.grpc, { onError });
  t.match(await client.decide({ domain: '', descriptors: [] }), { allowed: true, failed: true });
  t.match(message, /^error_answer: The service answered with gRPC status 3: `domain` is empty/);
});

t.test('a unix socket is an address', async t => {
  const path = join(tempDirectory(t), 'sluice.sock');
  await serviceFor(t, { rules: RULES, env: { GRPC_UDS: path } });
  const { client } = clientOf(t, `unix:${path}`);
  t.match(await client.decide(request('user', 'ann')), { allowed: true, failed: false, remaining: 1 });
});

t.test('TLS checks the service, and shows the certificate of the client', async t => {
  const authority = new Authority('root');
  const directory = tempDirectory(t);
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const server = authority.issue({ subject: 'sluice', names: ['localhost'], usage: ['server'] });
  const { certificate: cert, key } = authority.issue({ subject: 'app', usage: ['client'] });
  const service = await serviceFor(t, {
    rules: RULES,
    env: {
      GRPC_SERVER_USE_TLS: 'true',
      GRPC_SERVER_TLS_CERT: file('tls.crt', server.certificate),
      GRPC_SERVER_TLS_KEY: file('tls.key', server.key),
      GRPC_CLIENT_TLS_CACERT: file('ca.crt', authority.certificate),
    },
  });
  const port = service.grpc.split(':')[1];
  const ask = async (address: string, tls: LimitClientOptions['tls']) => {
    let reason = '';
    const onError: LimitClientOptions['onError'] = ({ message }) => {
      reason = message;
    };
    const { client } = clientOf(t, address, { onError, ...(tls && { tls }) });
    const { failed } = await client.decide(request('load', 'tls'));
    return failed ? reason : 'decided';
  };
  const ca = authority.certificate;
  t.equal(await ask(`https://localhost:${port}`, { ca, cert, key }), 'decided');
  t.equal(await ask(`https://127.0.0.1:${port}`, { ca, cert, key, servername: 'localhost' }), 'decided');
  t.match(await ask(`https://127.0.0.1:${port}`, { ca, cert, key }), /no connection to .*(altnames|IP)/i);
  t.match(
    await ask(`https://localhost:${port}`, { cert, key }),
    /no connection to .*: self-signed certificate/,
  );
  t.match(await ask(`https://localhost:${port}`, { ca }), /no connection to .*certificate required/);
});

t.test('calls of one turn beyond the streams of the service are all counted once', async t => {
  const service = await serviceFor(t, { rules: RULES });
  const { client, errors } = clientOf(t, service.grpc);
  const calls = Array.from({ length: 3_000 }, () => client.decide(request('load', 'many')));
  const remaining = (await Promise.all(calls)).map(decision => decision.remaining);
  t.equal(new Set(remaining).size, 3_000);
  t.equal(Math.min(...remaining.map(Number)), 1_000_000 - 3_000);
  t.same(errors, []);
});

t.test('a service that hangs costs each request its deadline, and no more', async t => {
  const service = await serviceFor(t, { rules: RULES });
  const { client, errors } = clientOf(t, service.grpc, { timeoutMs: 100 });
  const ask = () => client.decide(request('load', 'hangs'));
  await until(async () => !(await ask()).failed);
  errors.length = 0;
  service.signal('SIGSTOP');
  t.match(await ask(), { allowed: true, failed: true });
  t.same(errors, ['timeout']);
  service.signal('SIGCONT');
  await until(async () => !(await ask()).failed);
});

t.test('an answer that arrived while the program was busy is not late', async t => {
  const service = await serviceFor(t, { rules: RULES });
  const { client, errors } = clientOf(t, service.grpc, { timeoutMs: 500 });
  await until(async () => !(await client.decide(request('load', 'busy'))).failed);
  errors.length = 0;
  const call = client.decide(request('load', 'busy'));
  // What was called in a turn is written at its end.
  await nextTurn();
  await nextTurn();
  const untilMs = performance.now() + 1_000;
  while (performance.now() < untilMs) {
    // Nothing is read meanwhile.
  }
  t.match(await call, { failed: false });
  t.same(errors, []);
});

/** Asks without a pause, with calls at the same time, until it is stopped. */
function load(client: LimitClient) {
  let isStopped = false;
  const seen = { decided: 0, failed: 0 };
  const callers = Array.from({ length: 50 }, async () => {
    while (!isStopped) {
      const { failed } = await client.decide(request('load', 'restart'));
      seen[failed ? 'failed' : 'decided']++;
      await nextTurn();
    }
  });
  const stop = async (): Promise<void> => {
    isStopped = true;
    await Promise.all(callers);
  };
  return { seen, stop };
}

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  t.test(
    `a service that is restarted under load (${signal}) interrupts decisions, and nothing else`,
    async t => {
      const GRPC_PORT = String(await freePort());
      const start = (): Promise<ServiceProcess> => serviceFor(t, { rules: RULES, env: { GRPC_PORT } });
      const first = await start();
      const { client, errors } = clientOf(t, `127.0.0.1:${GRPC_PORT}`);
      const { seen, stop } = load(client);
      await until(() => seen.decided > 100);
      await first.terminate(signal);
      await until(() => seen.failed > 100);
      await start();
      const before = seen.decided;
      await until(() => seen.decided > before + 100);
      await stop();
      t.equal(errors.length, seen.failed);
      t.same([...new Set(errors)], ['unavailable']);
    },
  );
}

t.test('without a service, requests are allowed or denied as the program says', async t => {
  const address = `127.0.0.1:${await freePort()}`;
  const allowing = clientOf(t, address);
  t.match(await allowing.client.decide(request('user', 'ann')), {
    allowed: true,
    failed: true,
    retryAfterS: null,
  });
  const denying = clientOf(t, address, { onFailure: 'deny' });
  t.match(await denying.client.decide(request('user', 'ann')), {
    allowed: false,
    failed: true,
    retryAfterS: 1,
  });
  t.same([...allowing.errors, ...denying.errors], ['unavailable', 'unavailable']);
});

const PROGRAM = `
const { LimitClient } = await import(process.argv[1]);
const client = new LimitClient({ address: process.argv[2], timeoutMs: 30_000 });
const { failed } = await client.decide({ domain: 'd', descriptors: [{ entries: { load: 'program' } }] });
console.log(failed ? 'failed' : 'decided');
`;

t.test('a client without calls does not keep a program running', async t => {
  const service = await serviceFor(t, { rules: RULES });
  const entry = join(repositoryRoot(), 'build/clients/limit/src/index.js');
  const program = new Child({
    command: process.execPath,
    args: ['--input-type=module', '--eval', PROGRAM, '--', entry, service.grpc],
    env: {},
  });
  t.teardown(() => program.end('SIGKILL', 0));
  t.match(await program.ended, { status: 0 }, program.output);
  t.equal(program.output, 'decided\n');
});
