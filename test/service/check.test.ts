import { once } from 'node:events';
import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import t, { type Test } from 'tap';
import { getPage, statistic } from '../support/asking.ts';
import { sendRaw } from '../support/raw-http.ts';
import { redisFor } from '../support/redis-server.ts';
import { writeRules } from '../support/rule-files.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';
import { run } from '../unit/cli/run.ts';

const LIMIT = 'rate_limit: {unit: year, requests_per_unit: 2}';

const SHOP = `
domain: shop
requests:
  descriptors:
    - [{key: remote_address, client_address: true}]
    - [{key: method, method: true}, {key: route, path_segment: 1}]
    - [{key: user, header: x-user}]
descriptors:
  - {key: remote_address, ${LIMIT}}
  - {key: method, descriptors: [{key: route, value: orders, ${LIMIT}}]}
  - {key: user, ${LIMIT}}
`;

/** A domain with one descriptor, for the user. */
const userDomain = (domain: string, more = '', answers = ''): string =>
  `domain: ${domain}\nrequests: {descriptors: [[{key: user, header: x-user}]]${more}}\n${answers}\ndescriptors: [{key: user, ${LIMIT}}]\n`;

const RULES = {
  'config/shop.yaml': SHOP,
  'config/quiet.yaml': userDomain('quiet', '', 'answers: {ratelimit_headers: false, retry_after: false}'),
  'config/explained.yaml': userDomain('explained', '', 'answers: {problem_body: true, matched_rule: true}'),
  'config/strict.yaml': userDomain('strict', ', on_failure: deny'),
  'config/names.yaml': userDomain('a/b c'),
  'config/unmapped.yaml': `domain: unmapped\ndescriptors: [{key: user, ${LIMIT}}]\n`,
};

interface CheckAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

async function check(
  { http }: ServiceProcess,
  path: string,
  { body, ...options }: RequestOptions & { readonly body?: string } = {},
): Promise<CheckAnswer> {
  const asking = request(`http://${http}/check${path}`, { agent: false, ...options });
  asking.end(body);
  const [response] = (await once(asking, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) };
}

/** Headers of a user who comes from an address of their own. */
function from(user: string): Record<string, string> {
  return { 'x-user': user, 'x-forwarded-for': '203.0.113.7' };
}

async function start(
  t: Test,
  engine: string,
  env: Readonly<Record<string, string>> = {},
): Promise<ServiceProcess> {
  return await serviceFor(t, {
    rules: RULES,
    env: { RUNTIME_WATCH_ROOT: 'false', HTTP_SERVER_ENGINE: engine, ...env },
  });
}

for (const engine of ['uws', 'node']) {
  t.test(`a proxy asks about requests (${engine})`, async t => {
    const service = await start(t, engine);

    await t.test('each descriptor of a request is counted', async t => {
      const allowed = await check(service, '/shop/orders/1?a=b', {
        headers: { 'x-forwarded-for': '203.0.113.1' },
      });
      t.equal(allowed.status, 200);
      t.equal(allowed.body, '');
      t.equal(
        allowed.headers['ratelimit-policy'],
        '"shop.remote_address";q=2;w=31536000, "shop.method.route";q=2;w=31536000',
      );
      t.match(
        allowed.headers['ratelimit'],
        /^"shop\.remote_address";r=1;t=\d+, "shop\.method\.route";r=1;t=\d+$/,
      );
      t.equal(allowed.headers['content-type'], undefined);
      t.equal((await check(service, '/shop/orders')).status, 200, 'the route is that of the first segment');
      const refused = await check(service, '/shop//%6Frders/');
      t.equal(refused.status, 429);
      t.match(refused.headers['retry-after'], /^[1-9]\d*$/);
      t.match(refused.headers['ratelimit'], /^"shop\.method\.route";r=0;t=\d+$/);
      t.equal(refused.body, '');
      t.equal((await check(service, '/shop/users')).status, 200, 'another route');
      t.equal((await check(service, '/shop/orders', { method: 'POST' })).status, 200, 'another method');
    });

    await t.test(
      'headers say what follows neither from the path nor from the method of the call',
      async t => {
        const headers = { 'x-forwarded-method': 'PATCH', 'x-forwarded-uri': '/orders?x=1' };
        t.equal((await check(service, '/shop', { headers })).status, 200);
        t.equal((await check(service, '/shop?y=2', { headers, method: 'PUT' })).status, 200);
        t.equal((await check(service, '/shop', { headers })).status, 429);
      },
    );

    await t.test('a refusal has the status 403 if the proxy asks for it', async t => {
      const headers = { ...from('bob'), 'x-forwarded-for': '203.0.113.2', 'sluice-refusal-status': '403' };
      for (const status of [200, 200]) t.equal((await check(service, '/shop', { headers })).status, status);
      const refused = await check(service, '/shop', { headers });
      t.equal(refused.status, 403);
      t.equal(refused.headers['x-ratelimit-status'], '429');
      t.match(refused.headers['retry-after'], /^[1-9]\d*$/);
      const other = { ...headers, 'sluice-refusal-status': '200' };
      t.equal((await check(service, '/shop', { headers: other })).status, 429, 'no other status');
    });

    await t.test('every method is answered, and bodies are ignored', async t => {
      for (const method of ['HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND']) {
        const answer = await check(service, '/quiet', { method, headers: { 'x-user': method } });
        t.equal(answer.status, 200, method);
      }
      for (const body of ['x', 'x'.repeat(100_000)]) {
        const headers = { 'x-user': `body of ${body.length}` };
        t.equal((await check(service, '/quiet', { method: 'POST', headers, body })).status, 200);
        const chunked = { ...headers, 'transfer-encoding': 'chunked' };
        t.equal((await check(service, '/quiet', { method: 'POST', headers: chunked, body })).status, 200);
        t.equal((await check(service, '/quiet', { method: 'POST', headers, body })).status, 429);
      }
    });

    await t.test('the body of a request is not read as the next request', async t => {
      const body = 'GET /check/quiet HTTP/1.1\r\nHost: s\r\nX-User: smuggled\r\n\r\n';
      const head = `POST /check/quiet HTTP/1.1\r\nHost: s\r\nX-User: honest\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`;
      for (let i = 0; i < 2; i++) t.equal((await sendRaw(service.http, head + body)).status, 200);
      const headers = { 'x-user': 'smuggled' };
      for (let i = 0; i < 2; i++) t.equal((await check(service, '/quiet', { headers })).status, 200);
    });

    await t.test('a body that does not arrive is waited for, but not for long', async t => {
      const head = 'PUT /check/quiet HTTP/1.1\r\nHost: s\r\nX-User: late\r\n';
      for (const framing of ['Content-Length: 5', 'Content-Length: 50000000', 'Transfer-Encoding: chunked']) {
        const answer = await sendRaw(service.http, `${head}${framing}\r\n\r\n`);
        t.ok(answer.status === 200 || answer.status === 429, `${framing}: ${answer.status}`);
        t.equal(answer.headers['connection'], 'close', 'the rest could be read as another request');
      }
    });

    await t.test('the domain says what answers contain', async t => {
      const headers = from('cem');
      for (let i = 0; i < 2; i++) await check(service, '/quiet', { headers });
      const quiet = await check(service, '/quiet', { headers });
      t.equal(quiet.status, 429);
      t.equal(quiet.headers['retry-after'], undefined);
      t.equal(quiet.headers['ratelimit'], undefined);
      for (let i = 0; i < 2; i++) await check(service, '/explained', { headers });
      const explained = await check(service, '/explained', { headers });
      t.equal(explained.headers['content-type'], 'application/problem+json');
      t.match(JSON.parse(explained.body), { status: 429, 'violated-policies': ['explained.user'] });
    });

    await t.test('a request without descriptors is allowed, which is counted', async t => {
      const answer = await check(service, '/quiet');
      t.equal(answer.status, 200);
      t.equal(answer.headers['sluice-allowed'], 'no-descriptors');
      t.ok((await statistic(service.debug, 'ratelimit.requests.without_descriptors')) > 0);
      t.ok((await statistic(service.debug, 'ratelimit.requests.left_out_descriptors')) > 0);
      t.ok((await statistic(service.debug, 'ratelimit.http.check.200.total_requests')) > 0);
      t.ok((await statistic(service.debug, 'ratelimit.http.check.429.total_requests')) > 0);
    });

    await t.test('a domain that maps no requests is not found', async t => {
      for (const path of ['/unknown', '/unmapped/a', '/', '//', '/%', '/SHOP']) {
        const { status, headers, body } = await check(service, path);
        t.equal(status, 404, path);
        t.equal(headers['content-type'], 'application/problem+json');
        t.match(JSON.parse(body).detail, /^The rules have no domain ".*" with `requests`\. Write the domain/);
      }
      t.equal((await getPage(service.http, '/check')).status, 404);
      t.equal((await check(service, '/a%2Fb%20c/path', { headers: from('dan') })).status, 200);
    });

    await t.test('hostile heads do no harm', async t => {
      const user = { 'x-user': 'eve' };
      const hostile: readonly Record<string, string>[] = [
        { 'x-forwarded-for': `${','.repeat(4_000)}203.0.113.9` },
        { 'x-forwarded-for': '"[::1'.repeat(500) },
        { 'x-forwarded-uri': `/${'%2e%2e/'.repeat(500)}?${'&'.repeat(2_000)}=%` },
        { 'x-forwarded-uri': 'javascript:%00' },
        { 'x-forwarded-method': 'x'.repeat(3_000), cookie: ';=;'.repeat(500) },
        { 'x-forwarded-host': '[:::::' },
      ];
      for (const headers of hostile) {
        const { status } = await check(service, '/shop', { headers: { ...user, ...headers } });
        t.ok(status === 200 || status === 429, JSON.stringify(headers).slice(0, 60));
      }
      t.equal((await check(service, '/shop/users', { headers: from('fay') })).status, 200);
    });
  });
}

t.test('text beyond ASCII is the same with both engines', async t => {
  const redis = await redisFor(t);
  const services = await Promise.all(
    ['uws', 'node'].map(engine => start(t, engine, { BACKEND_TYPE: 'redis', REDIS_URL: redis.address })),
  );
  // Inside the value: uWebSockets.js drops such bytes at its ends.
  const bytes = Buffer.from('x-ö-x').toString('latin1');
  const statuses: number[] = [];
  for (const service of [...services, ...services])
    statuses.push((await check(service, '/quiet', { headers: { 'x-user': bytes } })).status);
  t.same(statuses, [200, 200, 429, 429]);
});

t.test('decision threads decide requests of /check', async t => {
  const service = await start(t, 'uws', { SERVE_THREADS: '1', WORKER_THREADS: '1' });
  const all = Array.from({ length: 64 }, () => check(service, '/explained', { headers: from('hal') }));
  const answers = await Promise.all(all);
  t.equal(answers.filter(({ status }) => status === 200).length, 2);
  for (const { status, headers, body } of answers) {
    if (status === 200) continue;
    t.match(headers['retry-after'], /^[1-9]\d*$/);
    t.match(JSON.parse(body), { 'violated-policies': ['explained.user'] });
  }
});

t.test('several threads serve /check', async t => {
  const service = await start(t, 'node', { SERVE_THREADS: '2' });
  const statuses: number[] = [];
  for (let i = 0; i < 4; i++) statuses.push((await check(service, '/shop', { headers: from('gus') })).status);
  t.same(statuses, [200, 200, 429, 429]);
});

t.test('while the store is unavailable, the domain says what is answered', async t => {
  const redis = await redisFor(t);
  const service = await start(t, 'uws', { BACKEND_TYPE: 'redis', REDIS_URL: redis.address });
  t.equal((await check(service, '/quiet', { headers: from('ann') })).status, 200);
  await redis.kill();
  await service.logged(line => /^Redis connection lost/.test(String(line['@message'])));
  const allowed = await check(service, '/quiet', { headers: from('ann') });
  t.equal(allowed.status, 200);
  t.equal(allowed.headers['sluice-allowed'], 'failure');
  const denied = await check(service, '/strict', { headers: from('ann') });
  t.equal(denied.status, 503);
  t.equal(JSON.parse(denied.body).error.code, 'store_failed');
  const forbidden = await check(service, '/strict', {
    headers: { ...from('ann'), 'sluice-refusal-status': '403' },
  });
  t.equal(forbidden.status, 403);
  t.equal(forbidden.headers['x-ratelimit-status'], '503');
  t.equal(await statistic(service.debug, 'ratelimit.requests.allowed_on_failure'), 1);
  t.equal(await statistic(service.debug, 'ratelimit.requests.denied_on_failure'), 2);
});

t.test('a token names the user, if it is valid', async t => {
  const root = tempDirectory(t);
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const sign = (sub: string, key: CryptoKey = privateKey): Promise<string> =>
    new SignJWT({ sub, iss: 'https://id.example' })
      .setProtectedHeader({ alg: 'ES256' })
      .setExpirationTime('1h')
      .sign(key);
  writeRules(root, {
    'config/keys.json': JSON.stringify({ keys: [await exportJWK(publicKey)] }),
    'config/api.yaml': `
domain: api
requests:
  token: {jwks_file: keys.json, issuer: https://id.example}
  descriptors: [[{key: user, claim: sub, default: anybody}]]
descriptors:
  - {key: user, ${LIMIT}}
  - {key: user, value: anybody, rate_limit: {unit: year, requests_per_unit: 1}}
`,
  });
  for (const engine of ['uws', 'node']) {
    const service = await serviceFor(t, { env: { RUNTIME_ROOT: root, HTTP_SERVER_ENGINE: engine } });
    const ask = async (token: string | null): Promise<number> => {
      const headers = token === null ? {} : { authorization: `Bearer ${token}` };
      return (await check(service, '/api/orders', { headers })).status;
    };
    const ann = await sign('ann');
    t.same([await ask(ann), await ask(await sign('ann')), await ask(ann)], [200, 200, 429], engine);
    const { privateKey: own } = await generateKeyPair('ES256');
    t.same([await ask(await sign('bob', own)), await ask('abc'), await ask(null)], [200, 429, 429], engine);
    t.equal(await ask(await sign('bob')), 200, engine);
    t.equal(await statistic(service.debug, 'ratelimit.requests.invalid_tokens'), 2);
  }
});

t.test('/json and /explain map a request that is described', async t => {
  const service = await start(t, 'uws');
  const asked = {
    domain: 'shop',
    request: { method: 'GET', target: '/orders/1?a=b', headers: { 'X-User': 'ann' } },
  };
  const post = async (address: string, path: string, body: unknown): Promise<readonly [number, unknown]> => {
    const response = await fetch(`http://${address}${path}`, { method: 'POST', body: JSON.stringify(body) });
    return [response.status, await response.json()];
  };
  t.match(await post(service.http, '/json', asked), [200, { overallCode: 'OK', statuses: [{}, {}] }]);
  t.equal((await check(service, '/shop/orders', { headers: { 'x-user': 'ann' } })).status, 200);
  t.match(await post(service.http, '/json', asked), [429, { overallCode: 'OVER_LIMIT' }]);
  t.match(await post(service.debug, '/explain', asked), [
    200,
    {
      descriptors: [
        {
          entries: [
            { key: 'method', value: 'GET' },
            { key: 'route', value: 'orders' },
          ],
          count: { now: 3 },
        },
        { entries: [{ key: 'user', value: 'ann' }], count: { now: 3 } },
      ],
    },
  ]);
  const flags = ['--domain', 'shop', '--request', 'GET /orders?a=b', '--header', 'x-user: ann'];
  const explained = await run('explain', '--debug-address', service.debug, ...flags);
  t.match(
    explained.stdout,
    /^OVER_LIMIT would be the answer; nothing was counted\nmethod=GET,route=orders {2}OVER_LIMIT/,
  );
  const empty = { domain: 'shop', request: {} };
  t.strictSame(await post(service.http, '/json', empty), [200, { overallCode: 'OK', statuses: [] }]);
  t.match(await post(service.debug, '/explain', empty), [400, { error: { path: 'request' } }]);
  t.match(await post(service.http, '/json', { ...asked, domain: 'unmapped' }), [
    400,
    {
      error: {
        code: 'bad_request',
        path: 'request',
        message: /has no domain|have no domain "unmapped" with/,
      },
    },
  ]);
  t.match(await post(service.http, '/json', { ...asked, descriptors: [] }), [
    400,
    { error: { message: /is described by `descriptors` or by `request`: write one of them/ } },
  ]);
});

t.test('a reload changes what requests are mapped to', async t => {
  const root = tempDirectory(t);
  writeRules(root, RULES);
  const service = await serviceFor(t, { env: { RUNTIME_ROOT: root, RUNTIME_WATCH_ROOT: 'false' } });
  const headers = { ...from('ann'), 'x-account': 'a1' };
  for (const status of [200, 200, 429]) t.equal((await check(service, '/quiet', { headers })).status, status);
  writeRules(root, {
    'config/quiet.yaml': RULES['config/quiet.yaml'].replace('header: x-user', 'header: x-account'),
  });
  await until(
    async () =>
      (await check(service, '/quiet', { headers: { 'x-account': 'probe' } })).headers['sluice-allowed'] ===
      undefined,
  );
  t.equal((await check(service, '/quiet', { headers })).status, 200);
  writeRules(root, { 'config/quiet.yaml': RULES['config/unmapped.yaml'].replace('unmapped', 'quiet') });
  await until(async () => (await check(service, '/quiet', { headers })).status === 404);
});
