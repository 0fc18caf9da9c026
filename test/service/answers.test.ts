import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { RateLimitRequest } from '../../src/messages/client-codec.ts';
import { askOverGrpc, getPage, grpcTo } from '../support/asking.ts';
import { Envoy, envoyMissing } from '../support/envoy.ts';
import { repositoryRoot } from '../support/repository.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { missing, outputOf } from '../support/tools.ts';
import { until } from '../support/until.ts';

const RULE = 'descriptors: [{key: user, rate_limit: {unit: year, requests_per_unit: 1}}]';
const RULES = {
  'config/plain.yaml': `domain: plain\n${RULE}\n`,
  'config/demo.yaml': `domain: demo\nanswers: {retry_after: true, ratelimit_headers: true, problem_body: true}\n${RULE}\n`,
};

const SETTINGS = {
  ANSWER_RETRY_AFTER: 'true',
  ANSWER_RATELIMIT_HEADERS: 'true',
  ANSWER_PROBLEM_BODY: 'true',
  ANSWER_MATCHED_RULE: 'true',
};

async function start(t: Test, env: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> {
  return await serviceFor(t, { rules: RULES, env });
}

const asking = (domain: string): RateLimitRequest => ({
  domain,
  descriptors: [{ entries: [{ key: 'user', value: 'ann' }], limit: null, hitsAddend: null }],
  hitsAddend: 1,
});

function askJson({ http }: ServiceProcess, domain: string): Promise<Response> {
  const { descriptors, ...rest } = asking(domain);
  const body = JSON.stringify({ ...rest, descriptors: descriptors.map(({ entries }) => ({ entries })) });
  return fetch(`http://${http}/json`, { method: 'POST', body });
}

for (const engine of ['uws', 'node']) {
  t.test(`the settings explain refusals over gRPC and /json (${engine})`, async t => {
    const service = await start(t, { ...SETTINGS, HTTP_SERVER_ENGINE: engine });
    const client = grpcTo(t, service.grpc);
    const allowed = await askOverGrpc(client, asking('plain'));
    t.strictSame(
      allowed.responseHeadersToAdd.map(({ key }) => key),
      ['RateLimit-Policy', 'RateLimit'],
    );
    const refused = await askOverGrpc(client, asking('plain'));
    const fields = Object.fromEntries(refused.responseHeadersToAdd.map(({ key, value }) => [key, value]));
    t.equal(fields['RateLimit-Policy'], '"plain.user";q=1;w=31536000');
    t.match(fields['RateLimit'], /^"plain\.user";r=0;t=[0-9]+$/);
    t.match(JSON.parse(refused.rawBody), { status: 429, 'violated-policies': ['plain.user'] });
    t.strictSame(refused.dynamicMetadata, {
      matched_rule: { code: 'OVER_LIMIT', rule: 'plain.user', window: '365d' },
    });
    const response = await askJson(service, 'plain');
    t.equal(response.status, 429);
    t.equal(response.headers.get('content-type'), 'application/json');
    t.match(response.headers.get('retry-after'), /^[1-9][0-9]*$/);
    const body = (await response.json()) as { readonly rawBody: string };
    t.match(Buffer.from(body.rawBody, 'base64').toString(), /"violated-policies":\["plain\.user"\]/);
  });
}

t.test('a domain has the answers of its rule file, and others have none', async t => {
  const service = await start(t, { SERVE_THREADS: '1', WORKER_THREADS: '1' });
  for (const domain of ['plain', 'demo']) t.equal((await askJson(service, domain)).status, 200);
  const plain = await askJson(service, 'plain');
  t.equal(plain.headers.get('retry-after'), null);
  t.strictSame(Object.keys((await plain.json()) as object), ['overallCode', 'statuses']);
  const demo = await askJson(service, 'demo');
  t.match(demo.headers.get('retry-after'), /^[1-9][0-9]*$/);
  t.strictSame(Object.keys((await demo.json()) as object), [
    'overallCode',
    'statuses',
    'responseHeadersToAdd',
    'rawBody',
  ]);
  t.match(
    (await getPage(service.debug, '/rlconfig')).text,
    'demo: answers: {retry_after: true, ratelimit_headers: true, problem_body: true}\n',
  );

  await t.test('decision threads answer the same', async t => {
    const refusals = await Promise.all(Array.from({ length: 64 }, () => askJson(service, 'demo')));
    for (const refusal of refusals) t.match(refusal.headers.get('retry-after'), /^[1-9][0-9]*$/);
  });
});

/** The access log of Envoy that docs/rules.md describes, written to a file. */
function accessLog(file: string): string {
  const page = readFileSync(join(repositoryRoot(), 'docs/rules.md'), 'utf8');
  const [, block] = /^ {2}access_log:\n((?: {4}.*\n)+)/m.exec(page) ?? [];
  const shown = `access_log:\n${block}`.replaceAll(/^ {2}/gm, '');
  return shown
    .trimEnd()
    .replaceAll('\n', `\n${' '.repeat(16)}`)
    .replace('/dev/stdout', file);
}

t.test(
  'Envoy sends the headers and the body to its client, and logs the rule',
  { skip: envoyMissing || missing('curl', 'curl') },
  async t => {
    const service = await start(t, { ANSWER_MATCHED_RULE: 'true' });
    const [, port] = service.grpc.split(':');
    const log = join(tempDirectory(t), 'access.log');
    const upstream = createServer((_, response) => response.end()).listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    t.teardown(() => upstream.close());
    const { port: served } = upstream.address() as AddressInfo;
    const envoy = await Envoy.start(t, 'tcp.yaml', [
      ['address: upstream, port_value: 80 ', `address: 127.0.0.1, port_value: ${served} `],
      ['{ address: sluice, port_value: 8081 }', `{ address: 127.0.0.1, port_value: ${port} }`],
      ['stat_prefix: front', `stat_prefix: front\n${' '.repeat(16)}${accessLog(log)}`],
    ]);
    const curl = (headers: string) => outputOf('curl', ['-si', '-H', headers, `http://${envoy.front}/`]);
    await curl('x-user: ann');
    const [head, body] = (await curl('x-user: ann')).split('\r\n\r\n');
    t.match(head, /^HTTP\/1\.1 429 Too Many Requests\r\n/);
    t.match(head, /^content-type: application\/problem\+json\r$/m);
    t.match(head, /^retry-after: [1-9][0-9]*\r$/m);
    t.match(head, /^ratelimit-policy: "demo\.user";q=1;w=31536000\r$/m);
    t.match(head, /^ratelimit: "demo\.user";r=0;t=[0-9]+\r$/m);
    t.match(JSON.parse(body), { title: 'Quota exceeded', 'violated-policies': ['demo.user'] });
    await curl('x-other: ann');
    await until(() => existsSync(log) && readFileSync(log, 'utf8').split('\n').length > 3);
    t.equal(readFileSync(log, 'utf8'), '200 demo.user OK\n429 demo.user OVER_LIMIT\n200 - -\n');
  },
);
