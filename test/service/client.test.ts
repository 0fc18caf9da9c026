import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import {
  SluiceClient,
  SluiceProblem,
  SluiceUnreachable,
  type Task,
  WebhookVerifier,
} from '../../clients/typescript/src/index.ts';
import { cuttingProxy } from '../support/cutting-proxy.ts';
import { type PushedRequest, reply, startPushWorker } from '../support/push-workers.ts';
import { repositoryRoot } from '../support/repository.ts';
import type { ServiceProcess } from '../support/service.ts';
import { newTenant, startTasksService, type Tenant } from '../support/tasks/tasks-service.ts';
import { tempDirectory } from '../support/temp-directory.ts';

const CLIENT = join(repositoryRoot(), 'clients/typescript');
/** Another program has to do the same in another process. */
const QUICK = { baseMs: 10, maxDelayMs: 100 };

let service: ServiceProcess;
let tenant: Tenant;
let client: SluiceClient;

t.before(async () => {
  service = await startTasksService(t);
  tenant = await newTenant(service);
  client = new SluiceClient({ url: `http://${service.http}`, token: tenant.token, retry: QUICK });
});

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

t.test('the generated types are those of the running service', async t => {
  const { GENERATED, generatedText } = await import(pathToFileURL(join(CLIENT, 'generate.mjs')).href);
  const document = await (await fetch(`http://${service.http}/api/v1/openapi.json`)).json();
  const advice = 'The document and the client differ. Run: npm run client-types';
  t.equal(await generatedText(document), readFileSync(GENERATED, 'utf8'), advice);
});

t.test('calls have the types of the document, and problems are errors', async t => {
  const worker = await client.post('/v1/workers', { body: { name: 'mailer', mode: 'pull' } });
  t.match(worker, { name: 'mailer', mode: 'pull' });
  const task = await client.post('/v1/tasks', {
    body: { worker: 'mailer', payload: { to: 'ann' }, tags: ['first'] },
  });
  const status: Task['status'] = task.status;
  t.equal(status, 'scheduled');
  const params = { id: task.id };
  const { headers, body } = await client.send('get', '/v1/tasks/{id}', { params });
  t.match(body, { id: task.id, payload: { to: 'ann' } });
  const ifMatch = headers.get('etag') ?? '';
  await client.put('/v1/tasks/{id}', { params, ifMatch, body: { priority: 'high' } });
  const stale = client.put('/v1/tasks/{id}', { params, ifMatch, body: { priority: 'low' } });
  await t.rejects(stale, { name: 'SluiceProblem', status: 412, code: 'version_mismatch' });
  const wrong = client.post('/v1/tasks', { body: { worker: 'mailer', delay: 'soon' } });
  await t.rejects(wrong, { status: 422, code: 'validation_failed', errors: [{ pointer: '/delay' }] });
  t.equal(await client.delete('/v1/tasks/{id}', { params }), undefined);
  await t.rejects(client.get('/v1/tasks/{id}', { params }), SluiceProblem);
  // @ts-expect-error: the document has no such field
  await t.rejects(client.post('/v1/tasks', { body: { worker: 'mailer', run_in: '1h' } }), {
    code: 'unknown_field',
  });
});

t.test('the address of a tenant on this machine needs no resolver', async t => {
  const { api_url } = tenant.account;
  t.match(api_url, /^http:\/\/acme\.localhost:/);
  const { origin } = new URL(api_url);
  const here = origin.replace(/:\d+$/, `:${service.http.split(':')[1]}`);
  const local = new SluiceClient({ url: here, token: tenant.token, retry: { attempts: 1 } });
  t.match(await local.get('/v1/me'), { role: 'owner' });
});

t.test('a list is read to its end, page by page', async t => {
  await client.post('/v1/workers', { body: { name: 'listed', mode: 'pull' } });
  const tasks = Array.from({ length: 7 }, (_, n) => ({ worker: 'listed', payload: n }));
  await client.post('/v1/tasks/batch', { body: { tasks } });
  const found = await all(client.list('/v1/tasks', { query: { worker: 'listed', limit: 3, order: 'asc' } }));
  t.equal(found.length, 7);
  t.equal(new Set(found.map(({ id }) => id)).size, 7);
});

t.test('a create whose answers are lost again and again creates one task', async t => {
  const proxy = await cuttingProxy(t, service.http);
  const through = new SluiceClient({ url: proxy.url, token: tenant.token, retry: QUICK });
  await client.post('/v1/workers', { body: { name: 'cut', mode: 'pull' } });
  const count = async () => (await all(client.list('/v1/tasks', { query: { worker: 'cut' } }))).length;
  proxy.toCut = 3;
  const { body, headers } = await through.send('post', '/v1/tasks', { body: { worker: 'cut' } });
  t.equal(proxy.cut, 3, 'the service has answered four times');
  t.equal(headers.get('idempotency-replayed'), 'true');
  t.same(
    (await all(client.list('/v1/tasks', { query: { worker: 'cut' } }))).map(({ id }) => id),
    [body.id],
  );
  proxy.toCut = 1;
  await through.post('/v1/tasks', { body: { worker: 'cut' }, idempotencyKey: null });
  t.equal(await count(), 3, 'without a key there would be one task for each attempt');
  proxy.toCut = 1;
  const once = through.post('/v1/tasks', { body: { worker: 'cut' }, retry: { attempts: 1 } });
  await t.rejects(once, SluiceUnreachable, 'the number of attempts is bounded');
  const key = 'order-17';
  proxy.toCut = 1;
  const first = await through
    .post('/v1/tasks', { body: { worker: 'cut' }, idempotencyKey: key, retry: { attempts: 1 } })
    .catch(() => null);
  t.equal(first, null);
  await through.post('/v1/tasks', { body: { worker: 'cut' }, idempotencyKey: key });
  t.equal(await count(), 5, 'a key of the caller lasts longer than a call');
});

t.test('deliveries of the service are verified, also while the secret is replaced', async t => {
  const receiver = await startPushWorker(t, reply(204));
  await client.post('/v1/workers', { body: { name: 'pushed', url: receiver.url() } });
  const addSecret = async (expire_previous_in: string): Promise<string> => {
    const body = { type: 'signing', expire_previous_in } as const;
    return String((await client.post('/v1/workers/{id}/secrets', { params: { id: 'pushed' }, body })).value);
  };
  const delivered = async (payload: unknown): Promise<[id: string, request: PushedRequest]> => {
    const { id } = await client.post('/v1/tasks', { body: { worker: 'pushed', payload } });
    await tenant.taskIn(id, 'succeeded');
    return [id, receiver.requests[receiver.requests.length - 1]];
  };
  const verified = (secrets: string | string[], { fields, bytes }: PushedRequest, nowMs = Date.now) =>
    new WebhookVerifier(secrets, { nowMs }).verify(Object.fromEntries(fields), bytes);

  const old = await addSecret('0s');
  const [id, first] = await delivered({ to: 'ann', text: 'wörk\u2028' });
  t.equal(verified(old, first).id, id);
  const fresh = await addSecret('1h');
  const [, both] = await delivered({ to: 'bob' });
  for (const secrets of [old, fresh, [fresh, old]]) t.ok(verified(secrets, both), 'signed with both secrets');
  t.throws(() => verified(fresh, first), /known secret/, 'sent before the replacement');
  t.ok(verified([fresh, old], first), 'the receiver accepts both');
  await addSecret('0s');
  const [, last] = await delivered({ to: 'cyd' });
  t.throws(() => verified([fresh, old], last), /known secret/, 'both have expired');

  const tampered = { ...first, bytes: Buffer.from(String(first.bytes).replace('ann', 'eve')) };
  t.throws(() => verified(old, tampered), /known secret/);
  const later = () => Date.now() + 301_000;
  t.throws(() => verified(old, first, later), /more than the tolerance of 300 s/);
});

/** A program of another package: it compiles against the declarations, and runs. */
const PROGRAM = `
import { SluiceClient, type Task, WebhookVerifier } from 'sluice-client';
const client = SluiceClient.fromEnvironment();
const task: Task = await client.post('/v1/tasks', { body: { worker: 'mailer', key: 'packed' } });
console.log(task.id, typeof WebhookVerifier, process.version);
`;

/** What the code of the page uses without defining it. */
const OF_READERS = `
declare const request: { readonly headers: Readonly<Record<string, string>> };
declare const bytesOfTheBody: Uint8Array;
declare function load(payload: unknown, signal: AbortSignal): Promise<object | null>;
declare function resize(photo: object, signal: AbortSignal): Promise<number>;
`;

t.test('the package has declarations and runs on the Node.js of the host', async t => {
  const folder = tempDirectory(t);
  const installed = join(folder, 'node_modules/sluice-client');
  mkdirSync(installed, { recursive: true });
  cpSync(join(CLIENT, 'package.json'), join(installed, 'package.json'));
  const tsc = (...args: string[]) =>
    execFileSync(process.execPath, [join(repositoryRoot(), 'node_modules/typescript/bin/tsc'), ...args], {
      cwd: folder,
      env: { PATH: process.env['PATH'] },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
  tsc('--project', join(CLIENT, 'tsconfig.package.json'), '--outDir', join(installed, 'dist'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'program.ts'), PROGRAM);
  const page = readFileSync(join(CLIENT, 'README.md'), 'utf8');
  const snippets = [...page.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code], at) => {
    writeFileSync(join(folder, `snippet-${at}.ts`), OF_READERS + code);
    return `snippet-${at}.ts`;
  });
  t.ok(snippets.length >= 3, 'the code of the page is compiled as well');
  const types = join(repositoryRoot(), 'node_modules/@types');
  const flags = [
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2022',
    '--typeRoots',
    types,
    '--types',
    'node',
  ];
  tsc(...flags, 'program.ts', ...snippets);
  const output = execFileSync(process.env['npm_node_execpath'] ?? process.execPath, ['program.js'], {
    cwd: folder,
    env: { SLUICE_URL: `http://${service.http}`, SLUICE_TOKEN: tenant.token },
    encoding: 'utf8',
  });
  t.match(output, /^tsk_\w+ function v\d/);
  t.comment(output);
});

t.test('the client has the version of the service', async t => {
  const version = (folder: string) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version;
  t.equal(version(CLIENT), version(repositoryRoot()));
});
