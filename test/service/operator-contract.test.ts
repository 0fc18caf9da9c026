import { Agent, request } from 'node:http';
import t, { type Test } from 'tap';
import { askOverHttp } from '../support/asking.ts';
import { ruleSettings } from '../support/exactness/setup.ts';
import { hasFormOfOpenApi, schemasAreValid } from '../support/openapi-form.ts';
import { type DocumentedSchema, OperatorContract, type WireAnswer } from '../support/operator-contract.ts';
import { ADMIN_TOKEN } from '../support/operator-service.ts';
import { QuotaClient } from '../support/quota/quota-client.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { readEvents } from '../support/server-events.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { newTenant, tasksEnv } from '../support/tasks/tasks-service.ts';

const RULES = `domain: shop
descriptors:
  - key: user
    rate_limit: {unit: year, requests_per_unit: 2, penalty: {after: 1, for: 1h}}
  - key: both
    rate_limits:
      - {name: short, unit: hour, requests_per_unit: 3}
      - {name: long, unit: day, requests_per_unit: 4, algorithm: token_bucket, burst: 9}
  - key: slide
    shadow_mode: true
    rate_limit: {window: 5m, requests_per_unit: 1, algorithm: sliding_window}
  - key: free
    rate_limit: {unlimited: true}
  - key: job
    holder: id
    rate_limit: {concurrency: {limit: 9, for: 10m}}
`;
/** Texts that break protocols, logs, terminals and paths. */
const HOSTILE = [
  '',
  'a\r\nOperator change: forged\n',
  '\u0000\u001b[2J\u2028\u202e',
  '"}\n\ndata: forged\n\n',
  '../../etc/passwd',
  '..%2f..%2f',
  '\ud800',
  '__proto__',
  'constructor',
  '*'.repeat(40),
  'é'.repeat(3_000),
  '<script>alert(1)</script>',
];

interface Sent {
  readonly method: string;
  /** What follows `/api/v1`. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

interface Site {
  readonly service: ServiceProcess;
  readonly contract: OperatorContract;
  /** Sends a request, checks its answer, and returns its JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look at any part of an answer.
  send(t: Test, sent: Sent): Promise<WireAnswer & { readonly json: any }>;
}

const JSON_TYPE = { 'Content-Type': 'application/json' };
const AUTHORIZED = { Authorization: `Bearer ${ADMIN_TOKEN}` };

async function site(): Promise<Site> {
  const env = { ...tasksEnv(t), ...ruleSettings(t, RULES), ADMIN_TOKEN };
  const service = await serviceFor(t, { env });
  await newTenant(service, 'acme');
  const contract = await OperatorContract.of(service.debug);
  const agent = new Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  const send: Site['send'] = async (t, sent) => {
    const answer = await wire(service.debug, sent, agent);
    const fault = contract.fault(sent.method, sent.target, answer);
    if (fault !== null) t.fail(fault);
    return { ...answer, json: answer.text === '' ? null : JSON.parse(answer.text) };
  };
  return { service, contract, send };
}

function wire(
  address: string,
  { method, target, headers = {}, body }: Sent,
  agent: Agent,
): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    const [host, port] = address.split(':');
    const path = `/api/v1${target}`;
    // Without it, Node.js sends the body of some methods as if it were another request.
    const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
    const call = request({ host, port, path, method, headers: { ...headers, ...length }, agent }, answer => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => {
        text += chunk;
      });
      const fields = answer.headers as Record<string, string>;
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: fields, text }));
      answer.on('error', reject);
    });
    call.on('error', reject);
    call.end(body);
  });
}

const here = await site();

/** Requests whose keys break lines, so that rejections, hot keys and logs have them. */
async function traffic({ http }: ServiceProcess): Promise<void> {
  for (const value of [...HOSTILE.filter(text => text.length > 0 && text.isWellFormed()), 'ann']) {
    for (const key of ['user', 'both', 'slide', 'free', 'nothing']) {
      for (let i = 0; i < 3; i++) {
        await askOverHttp(http, { domain: 'shop', descriptors: [{ entries: [{ key, value }] }] });
      }
    }
  }
}

t.test('the document is one of OpenAPI 3.1, and every operation answers as it says', async t => {
  const { service, contract } = here;
  hasFormOfOpenApi(t, contract.document);
  schemasAreValid(t, contract.document);
  await traffic(service);
  const ask = (method: string, target: string, body?: unknown) =>
    here.send(t, {
      method,
      target,
      headers: { ...AUTHORIZED, ...(body !== undefined && JSON_TYPE) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const entries = [{ key: 'user', value: 'ann' }];
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const about = { domain: 'shop', entries, until, reason: HOSTILE[1] };
  for (const target of [
    '/limits?sort=hits',
    '/limits/0',
    '/limits/1',
    '/limits/3',
    '/rates',
    '/rates?by=limit',
  ])
    await ask('GET', target);
  for (const target of ['/keys', '/keys?span=hour', '/limits/0/keys', '/refusals', '/limits/0/refusals'])
    await ask('GET', target);
  for (const target of ['/loads', '/status', '/rollout', '/rollout?digest=0123456789ab', '/openapi.json'])
    await ask('GET', target);
  for (const key of ['user=ann', 'both=ann', 'slide=ann', 'free=ann', 'nothing=ann'])
    await ask('GET', `/counters?domain=shop&descriptor=${key}`);
  await ask('POST', '/counters/read', { domain: 'shop', entries });
  await ask('DELETE', '/counters?domain=shop&descriptor=user%3Dann');
  await ask('POST', '/counters/reset', { domain: 'shop', entries, reason: HOSTILE[2] });
  const job = { domain: 'shop', entries: [{ key: 'job', value: 'x' }] };
  for (const value of [HOSTILE[2], HOSTILE[4]]) {
    const entries = [...job.entries, { key: 'id', value }];
    await askOverHttp(service.http, { domain: 'shop', descriptors: [{ entries }] });
  }
  await ask('GET', '/leases?domain=shop&descriptor=job%3Dx');
  await ask('POST', '/leases/read', job);
  await ask('DELETE', `/leases?domain=shop&descriptor=job%3Dx&holder=${encodeURIComponent(HOSTILE[2])}`);
  await ask('POST', '/leases/release', { ...job, holder: HOSTILE[4], reason: HOSTILE[1] });
  const proxy = new QuotaClient(t, service.grpc, 'shop');
  for (const value of HOSTILE.filter(text => text.length > 0 && text.isWellFormed()))
    await proxy.report({ entries: [['both', value]], allowed: 1 });
  for (const key of ['slide', 'free', 'job', 'nothing'])
    await proxy.report({ entries: [[key, 'ann']], allowed: 1 });
  for (const target of [
    '/quotas',
    '/quotas?domain=shop&count=1',
    '/quotas?domain=shop&descriptor=slide%3Dann',
  ])
    await ask('GET', target);
  await ask('POST', '/quotas/explain', { domain: 'shop', entries: [{ key: 'both', value: HOSTILE[1] }] });
  await ask('POST', '/quotas/read', { domain: 'shop', entries: [{ key: 'both', value: HOSTILE[1] }] });
  for (const [plural, more] of [
    ['overrides', { factor: 1.5 }],
    ['bans', {}],
    ['passes', {}],
  ] as const) {
    const { json } = await ask('PUT', `/${plural}`, { ...about, ...more });
    await ask('GET', `/${plural}`);
    await ask('DELETE', `/${plural}/${json.id}?reason=${encodeURIComponent(HOSTILE[2])}`);
    await ask('DELETE', `/${plural}/${json.id}`);
  }
  const files = [{ name: 'shop.yaml', content: RULES.replace('2, penalty', '1, penalty') }];
  await ask('GET', '/rehearsal');
  await ask('POST', '/rehearsal', { files: [{ name: 'shop.yaml', content: 'domain: [' }] });
  await ask('POST', '/rehearsal/restart', {});
  const { id } = (await ask('POST', '/rehearsal', { files })).json;
  await traffic(service);
  await ask('GET', '/rehearsal');
  await ask('POST', '/rehearsal/restart', {});
  await ask('POST', '/rehearsal/promote', { id });
  await ask('DELETE', '/rehearsal');
  await ask('GET', '/tenants?sort=oldest_due&status=active');
  await ask('GET', '/tenants/acme');
  for (const action of ['suspend', 'resume', 'owner-token'])
    await ask('POST', `/tenants/acme/${action}`, { reason: HOSTILE[1] });
  await ask('PUT', '/tenants/acme/limits', { limits: { workers: 5, retain_other: '2d' }, reason: 'more' });
  await ask('PUT', '/tenants/acme/limits', { limits: { retain_other: '2y' }, reason: 'more' });
  await ask('POST', '/tenants/nobody/suspend', { reason: 'more' });
  const reader = await readEvents(service.debug);
  await reader.event(({ name }) => name === 'status');
  reader.close();
  const unanswered = contract.operations
    .map(({ operation }) => operation.operationId)
    .filter(
      name => name !== 'streamEvents' && ![200, 201].some(good => contract.seen.has(`${name} ${good}`)),
    );
  t.same(unanswered, [], 'every operation has been answered');
});

t.test('hostile requests get answers that the document describes, and cannot forge log lines', async t => {
  const random = new SeededRandom(7);
  const { operations } = here.contract;
  for (let i = 0; i < 500; i++) {
    const { method, path, operation } = operations[i % operations.length];
    if (operation.operationId === 'streamEvents' && random.below(3) > 0) continue;
    const sent = hostileRequest(random, { method, path, operation });
    // A stream has no end.
    if (operation.operationId === 'streamEvents' && sent.method === 'GET') continue;
    await here.send(t, sent);
  }
  for (const method of ['OPTIONS', 'PATCH', 'HEAD', 'POST'])
    for (const target of [
      '/status',
      '/limits',
      '/bans/x',
      '/',
      '/a/b/c/d/e/f/g/h/i/j/k',
      '//',
      '/limits/0%2fkeys',
    ])
      await here.send(t, { method, target, headers: JSON_TYPE });
  t.notMatch([...here.contract.seen.keys()].join(), / 500/);

  const { status } = await here.send(t, { method: 'GET', target: '/status' });
  t.equal(status, 200, 'the service goes on');
  await here.service.terminate();
  const lines = here.service.output.trimEnd().split('\n');
  t.notMatch(here.service.output, /this is a bug|a-token-of-thirty|tk_acme_|[\u0000\u001b\u2028]/);
  const forged = lines.filter(line => !/^(?:\{.*\}|$)/.test(line));
  t.same(forged, [], 'every line is a record of its own');
  t.ok(
    here.service.logs.some(line => String(line['@message']).startsWith('Operator change')),
    'and there are lines of changes',
  );
});

/** A request for an operation with some parts that are wrong. */
function hostileRequest(
  random: SeededRandom,
  { method, path, operation }: OperatorContract['operations'][number],
): Sent {
  const inQuery = operation.parameters.filter(each => each.in === 'query');
  const query = inQuery
    .filter(each => each.required || random.below(2) === 0)
    .map(({ name, schema }) => [name, textOf(random, schema)] as const);
  if (random.below(8) === 0) query.push([random.pick(HOSTILE).slice(0, 600), 'x']);
  if (random.below(12) === 0 && query.length > 0) query.push(query[0]);
  const steps = path.replaceAll(/\{\w+\}/g, () => pathStep(random));
  const search = query.map(pair => pair.map(encoded).join('=')).join('&');
  const schema = operation.requestBody?.content['application/json'].schema;
  return {
    method:
      random.below(20) === 0 ? random.pick(['PUT', 'POST', 'DELETE', 'HEAD', 'PATCH', 'OPTIONS']) : method,
    target: `${steps}${search === '' ? '' : `?${search}`}`,
    headers: {
      ...(random.below(6) > 0 && AUTHORIZED),
      ...(random.below(12) === 0 && {
        Authorization: random.pick(['Bearer', 'Basic eDp5', 'Bearer  ', '\u00e9']),
      }),
      ...(schema !== undefined && (random.below(10) > 0 ? JSON_TYPE : { 'Content-Type': 'text/plain' })),
      ...(random.below(25) === 0 && { Origin: 'https://elsewhere.example' }),
    },
    ...(schema !== undefined && { body: bodyOf(random, schema) }),
  };
}

function pathStep(random: SeededRandom): string {
  return random.below(2) === 0
    ? random.pick([
        '0',
        '1',
        'acme',
        '00',
        '-1',
        '1e3',
        '999999999',
        '9'.repeat(400),
        '%2e%2e',
        '%00',
        '%ff',
        'a%2Fb',
      ])
    : encoded(random.pick(HOSTILE)).slice(0, 2_000) || '0';
}

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

function textOf(random: SeededRandom, schema: DocumentedSchema): string {
  if (random.below(4) === 0)
    return random.pick([...HOSTILE, '1', '-1', 'NaN', '1e999', '1.5', 'true']).slice(0, 600);
  return String(anyValue(random, schema)).slice(0, 600);
}

function bodyOf(random: SeededRandom, schema: DocumentedSchema): string | Buffer {
  switch (random.below(14)) {
    case 0:
      return random.pick(['', '{', 'null', '[]', '"text"', '1e999', '\ufeff{}', '{"a":1,"a":2}']);
    case 1:
      return `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    case 2:
      return Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]);
    case 3:
      return `{"domain":"${'x'.repeat(70_000)}"}`;
    default:
      return JSON.stringify(anyValue(random, schema));
  }
}

/** A value that mostly fits a schema. */
function anyValue(random: SeededRandom, schema: DocumentedSchema): unknown {
  if (random.below(15) === 0) return random.pick([null, true, -1, 1e300, [], {}, [[]], ...HOSTILE]);
  if (schema.enum !== undefined) return random.pick(schema.enum);
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.[0];
  if (type === 'object') return objectOf(random, schema);
  if (type === 'array') {
    const items = schema.items ?? {};
    return Array.from({ length: random.pick([0, 1, 1, 2, 3, 80]) }, () => anyValue(random, items));
  }
  if (type === 'boolean') return random.below(2) === 0;
  if (type === 'string') {
    const plain = [
      'shop',
      'acme',
      'user',
      'ann',
      'shop.yaml',
      RULES,
      new Date(Date.now() + 60_000).toISOString(),
    ];
    return random.pick([...plain, ...plain, ...HOSTILE]);
  }
  const { minimum = 0, maximum = 100 } = schema;
  return random.pick([minimum, maximum, minimum - 1, maximum + 1, (minimum + maximum) / 2, 1, 2]);
}

function objectOf(random: SeededRandom, { properties = {}, required = [] }: DocumentedSchema): object {
  const names = Object.keys(properties).filter(name => required.includes(name) || random.below(2) === 0);
  const kept = random.below(10) === 0 ? names.slice(1) : names;
  const pairs = kept.map(name => [name, anyValue(random, properties[name])] as const);
  // `fromEntries` makes properties also of names such as `__proto__`.
  return Object.fromEntries(random.below(10) === 0 ? [...pairs, [random.pick(HOSTILE), 1]] : pairs);
}
