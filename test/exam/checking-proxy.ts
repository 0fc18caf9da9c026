import { once } from 'node:events';
import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Test } from 'tap';
import type { StartChecking } from '../support/proxies/checking/behind.ts';
import { Load } from '../support/proxies/load.ts';
import { Place } from '../support/proxies/place.ts';
import { RECEIVED, startWebsite } from '../support/proxies/website.ts';
import { sendRaw } from '../support/raw-http.ts';
import { redisFor } from '../support/redis-server.ts';
import { writeRules } from '../support/rule-files.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';

const TWO_A_YEAR = 'rate_limit: {unit: year, requests_per_unit: 2}';

/** Rules for the domain that the files of `ops` name. */
function rules(onFailure: 'allow' | 'deny' = 'allow'): Readonly<Record<string, string>> {
  return {
    'config/website.yaml': `
domain: website
requests:
  on_failure: ${onFailure}
  descriptors:
    - [{key: remote_address, client_address: true}]
    - [{key: user, header: x-user}]
    - [{key: method, method: true}, {key: host, host: true}, {key: path, path: true}, {key: q, query: q}]
descriptors:
  - {key: remote_address, rate_limit: {unit: year, requests_per_unit: 1000000}}
  - {key: remote_address, value: 127.0.0.2, ${TWO_A_YEAR}}
  - {key: user, ${TWO_A_YEAR}}
  - key: method
    value: POST
    descriptors: [{key: host, value: shop.example, descriptors: [{key: path, value: /a b, descriptors: [{key: q, ${TWO_A_YEAR}}]}]}]
`,
  };
}

/** A proxy that asks Sluice about each request, with its files of `ops`. */
export interface CheckingProxy {
  readonly start: StartChecking<Test>;
  /** Who gets the `RateLimit` headers of an allowed request. */
  readonly informs: 'client' | 'website';
}

interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** The `RateLimit` header of a request that Sluice has decided. */
  readonly rateLimit: string | undefined;
}

async function ask(
  address: string,
  path: string,
  { body, ...options }: RequestOptions & { readonly body?: string } = {},
): Promise<Reply> {
  const asking = request(`http://${address}${path}`, { agent: false, ...options });
  asking.end(body);
  const [response] = (await once(asking, 'response')) as [IncomingMessage];
  const { statusCode = 0, headers } = response;
  const rateLimit = headers['ratelimit'] ?? headers[RECEIVED];
  return { status: statusCode, headers, body: await text(response), rateLimit: rateLimit as string };
}

function statusesOf(replies: readonly Reply[]): readonly number[] {
  return replies.map(({ status }) => status);
}

/** Asks several times, one after the other. */
async function askTimes(count: number, ...asked: Parameters<typeof ask>): Promise<readonly Reply[]> {
  const replies: Reply[] = [];
  for (let i = 0; i < count; i++) replies.push(await ask(...asked));
  return replies;
}

/** What clients get while Sluice runs, and after it has been stopped. */
export async function runCheckingExam(t: Test, { start, informs }: CheckingProxy): Promise<void> {
  const service = await serviceFor(t, { rules: rules(), env: { DISABLE_STATS: 'true' } });
  const website = await startWebsite(t);
  const front = await start(t, { instances: [service.http], website, timeout: '10s' });
  await t.test('RateLimit headers within the limit, then 429 with Retry-After', t =>
    withinAndOver(t, front, informs),
  );
  await t.test('limits for their address, and for what they request', t => described(t, front));
  await t.test('what the web server answers', t => forwarded(t, front));
  await t.test('a decision whatever they write into headers', t => hostile(t, front));
  await t.test('200 while Sluice is stopped', async t => {
    await service.terminate();
    const body = 'b'.repeat(100_000);
    const reply = await ask(front, '/', { method: 'POST', body, headers: { 'x-user': 'ann' } });
    t.match(reply, { status: 200, body, rateLimit: undefined });
  });
}

async function withinAndOver(t: Test, front: string, informs: CheckingProxy['informs']): Promise<void> {
  const headers = { 'x-user': 'ann' };
  const shownTo = informs === 'client' ? 'ratelimit' : RECEIVED;
  for (const left of [1, 0]) {
    const { status, headers: answered } = await ask(front, '/', { headers });
    t.equal(status, 200);
    t.match(answered[shownTo], new RegExp(`"website\\.user";r=${left};t=[1-9]`));
    if (informs === 'client') t.match(answered['ratelimit-policy'], /"website\.user";q=2;w=31536000/);
    t.equal(answered['retry-after'], undefined);
  }
  const refused = await ask(front, '/', { headers });
  t.equal(refused.status, 429);
  t.match(refused.headers['retry-after'], /^[1-9]\d*$/);
  t.match(refused.headers['ratelimit'], /"website\.user";r=0;t=[1-9]/);
  t.equal(refused.headers[RECEIVED], undefined, 'the web server does not get the request');
}

async function described(t: Test, front: string): Promise<void> {
  const other = { localAddress: '127.0.0.2', headers: { 'x-forwarded-for': '192.0.2.1' } };
  t.same(statusesOf(await askTimes(3, front, '/', other)), [200, 200, 429], 'the address');
  const headers = {
    host: 'shop.example',
    'x-forwarded-host': 'other.example',
    'x-forwarded-method': 'GET',
    'x-forwarded-uri': '/other',
    'x-original-uri': '/other',
    'sluice-refusal-status': '403',
  };
  const order = { method: 'POST', headers, body: 'one' };
  const statuses = statusesOf(await askTimes(3, front, '/a%20b?q=1', order));
  t.same(statuses, [200, 200, 429], 'method, host, path and query, whatever headers say');
  t.equal((await ask(front, '/a%20b?q=2', order)).status, 200);
}

async function forwarded(t: Test, front: string): Promise<void> {
  const body = 'b'.repeat(100_000);
  t.match(await ask(front, '/', { method: 'POST', body }), { status: 200, body }, 'the body');
  t.match(await ask(front, '/forbidden'), { status: 403, body: 'no entry' }, 'a 403 of its own');
  t.match(
    (await ask(front, '/check/website')).rateLimit,
    /website/,
    'a path of the web server, not of Sluice',
  );
}

/** Sluice would not answer some of these, and its answer must not be missed. */
async function hostile(t: Test, front: string): Promise<void> {
  const decided = async (head: string, what: string) => {
    const { status, headers } = await sendRaw(front, `GET /${head}\r\nConnection: close\r\n\r\n`);
    const isDecided = (headers['ratelimit'] ?? headers[RECEIVED]) !== undefined;
    t.ok(isDecided || (status >= 400 && status < 500), `${what} was answered ${status}`);
  };
  for (const code of [0x01, 0x0b, 0x1f, 0x7f, 0x80, 0xff]) {
    const character = String.fromCharCode(code);
    for (const name of ['X-Odd', 'X-User', 'X-Forwarded-For', 'Cookie'])
      await decided(` HTTP/1.1\r\nHost: x\r\n${name}: a${character}b`, `${name} with the character ${code}`);
    await decided(` HTTP/1.1\r\nHost: a${character}b`, `a host with the character ${code}`);
  }
  await decided(` HTTP/1.1\r\nHost: x\r\nCookie: a=${'b'.repeat(7_000)}`, 'a long cookie');
  await decided(` HTTP/1.1\r\nHost: x\r\nConnection: X-Forwarded-Uri, X-Forwarded-For`, 'Connection');
  await decided(' HTTP/1.1\r\nHost: a/b,c', 'a host that is none');
}

/** What becomes of requests while something fails behind the proxy. */
export async function runCheckingFailureExam(t: Test, { start }: CheckingProxy): Promise<void> {
  await t.test('while the store is unavailable, the rules say what clients get', async t => {
    const redis = await redisFor(t);
    const root = writeRules(tempDirectory(t), rules());
    const service = await serviceFor(t, {
      env: {
        RUNTIME_ROOT: root,
        RUNTIME_WATCH_ROOT: 'false',
        BACKEND_TYPE: 'redis',
        REDIS_URL: redis.address,
      },
    });
    const behind = { instances: [service.http], website: await startWebsite(t), timeout: '10s' } as const;
    const front = await start(t, behind);
    t.match(await ask(front, '/'), { status: 200, rateLimit: /website/ });
    await loseStore(service, () => redis.kill());
    t.match(await ask(front, '/'), { status: 200, rateLimit: undefined });
    writeRules(root, rules('deny'));
    await until(async () => (await ask(front, '/')).status === 503);
  });

  await t.test('an instance that does not answer lets requests pass', async t => {
    const instances = [await startSilent(t)];
    const front = await start(t, { instances, website: await startWebsite(t), timeout: '100ms' });
    t.same(statusesOf(await askTimes(3, front, '/')), [200, 200, 200]);
  });

  await t.test('the restart of one of two instances leaves no request undecided', async t => {
    const env = { RUNTIME_ROOT: writeRules(tempDirectory(t), rules()) };
    const places = await Promise.all([0, 1].map(() => Place.open(t, env)));
    const instances = places.map(({ http }) => http);
    const front = await start(t, { instances, website: await startWebsite(t), timeout: '10s' });
    const askOnce = async () => {
      const { status, rateLimit } = await ask(front, '/');
      if (status !== 200 || rateLimit === undefined) throw new Error(`answered ${status}: ${rateLimit}`);
    };
    const load = new Load([askOnce, askOnce, askOnce, askOnce]);
    await load.goesOn(100);
    await places[0].service.terminate();
    await load.goesOn(100);
    await places[0].start();
    await load.goesOn(100);
    await load.end();
    t.same(load.failures, []);
  });
}

async function loseStore(service: ServiceProcess, kill: () => Promise<void>): Promise<void> {
  const lost = service.logged(line => /^Redis connection lost/.test(String(line['@message'])));
  await kill();
  await lost;
}

/** A server that accepts connections and answers nothing; returns its `host:port`. */
async function startSilent(t: Test): Promise<string> {
  const server = createServer(socket => {
    socket.on('error', () => {});
    t.teardown(() => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
