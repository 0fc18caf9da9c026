import { mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { askOverHttp } from '../support/asking.ts';
import { ADMIN_TOKEN, callOperator } from '../support/operator-service.ts';
import { writeRules } from '../support/rule-files.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';
import { runIn } from '../unit/cli/run.ts';

const rules = (limit: number, domain = 'shop') =>
  `domain: ${domain}\ndescriptors: [{key: user, rate_limit: {unit: year, requests_per_unit: ${limit}}}]\n`;

async function started(t: Test, env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  return await serviceFor(t, { env: { ADMIN_TOKEN, RUNTIME_WATCH_ROOT: 'false', ...env } });
}

/** A directory with `config/shop.yaml` and `config/old.yaml`. */
function activeRules(directory: string): string {
  mkdirSync(join(directory, 'config'), { recursive: true });
  writeFileSync(join(directory, 'config/shop.yaml'), rules(5));
  writeFileSync(join(directory, 'config/old.yaml'), rules(5, 'old'));
  return directory;
}

async function ask(service: ServiceProcess, user: string, times = 1): Promise<number> {
  const request = { domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: user }] }] };
  let status = 0;
  for (let i = 0; i < times; i++) ({ status } = await askOverHttp(service.http, request));
  return status;
}

const upload = { files: [{ name: 'shop.yaml', content: rules(2) }] };

t.test('rules that are sent are rehearsed, and replace the active ones on demand', async t => {
  const root = activeRules(tempDirectory(t));
  const service = await started(t, { RUNTIME_ROOT: root });
  t.match(await callOperator(service, 'GET', '/rehearsal'), {
    json: { state: 'none', id: null, limits: [] },
  });
  const { json: begun } = await callOperator(service, 'POST', '/rehearsal', upload);
  t.match(begun, { state: 'running', share: 1, source: /^token/, limits: [] });
  t.equal(await ask(service, 'ann', 4), 200, 'the active rules decide');
  await ask(service, 'bob');
  const shown = (await callOperator(service, 'GET', '/rehearsal')).json;
  t.match(shown, {
    total: { hits: 5, rejected: 2, today: 0, more: 2, fewer: 0 },
    limits: [{ path: 'shop.user', meaning: 'at most 2 in each window of 365 days', more: 2 }],
    keys: [{ path: 'shop.user', key: 'user=ann', outcome: 'rejected', count: 2 }],
  });
  const restarted = await callOperator(service, 'POST', '/rehearsal/restart', {});
  t.match(restarted.json, { total: { hits: 0 }, id: shown.id });

  t.match(await callOperator(service, 'POST', '/rehearsal/promote', { id: 'another' }), {
    status: 409,
    json: { detail: new RegExp(`they are ${shown.id} now`) },
  });
  const promoted = await callOperator(service, 'POST', '/rehearsal/promote', {
    id: shown.id,
    reason: 'tried',
  });
  t.match(promoted, { status: 200, json: { state: 'none' } });
  t.same(readdirSync(join(root, 'config')), ['shop.yaml'], 'other rule files are gone');
  t.equal(readFileSync(join(root, 'config/shop.yaml'), 'utf8'), rules(2));
  t.equal(await ask(service, 'ann'), 429, 'the new rules are active when the answer is sent');
  await service.written(/Operator change.*promoteRehearsal.*tried/);
});

t.test('a link as RUNTIME_ROOT is swapped', async t => {
  const directory = tempDirectory(t);
  activeRules(join(directory, 'v1'));
  symlinkSync('v1', join(directory, 'current'));
  const service = await started(t, { RUNTIME_ROOT: join(directory, 'current'), RUNTIME_WATCH_ROOT: 'true' });
  const { id } = (await callOperator(service, 'POST', '/rehearsal', upload)).json;
  await ask(service, 'ann', 3);
  t.match(await callOperator(service, 'POST', '/rehearsal/promote', { id }), { status: 200 });
  t.match(readlinkSync(join(directory, 'current')), /^v1\.promoted-[0-9a-f]{8}$/);
  t.equal(readFileSync(join(directory, 'v1/config/shop.yaml'), 'utf8'), rules(5), 'the version before stays');
  t.equal(await ask(service, 'ann'), 429);
});

t.test('links that a deployment swaps are left alone', async t => {
  const directory = tempDirectory(t);
  activeRules(join(directory, 'data'));
  mkdirSync(join(directory, 'root'));
  symlinkSync(join(directory, 'data/config'), join(directory, 'root/config'));
  const service = await started(t, { RUNTIME_ROOT: join(directory, 'root') });
  const { id } = (await callOperator(service, 'POST', '/rehearsal', upload)).json;
  t.match(await callOperator(service, 'POST', '/rehearsal/promote', { id }), {
    status: 409,
    json: { detail: /behind a symbolic link below .*Deploy the candidate rules there/ },
  });
  t.match((await callOperator(service, 'GET', '/rehearsal')).json, { state: 'running', id });
  await t.test('what cannot be rehearsed', t => whatCannotBeRehearsed(t, service));
});

async function whatCannotBeRehearsed(t: Test, service: ServiceProcess): Promise<void> {
  const sent = (name: string, content = rules(1)) =>
    callOperator(service, 'POST', '/rehearsal', { files: [{ name, content }] });
  t.match(await sent('../shop.yaml'), { status: 422, json: { detail: /without a directory/ } });
  t.match(await sent('shop.txt'), { status: 422, json: { detail: /must have a rule file/ } });
  t.match(await sent('shop.yaml', 'x'.repeat(1_100_000)), { status: 413 });
  t.match(await sent('shop.yaml', 'domain: ['), { status: 200, json: { state: 'faults' } });
  t.match(await callOperator(service, 'POST', '/rehearsal', { ...upload, share: 0 }), { status: 422 });
  const open = await fetch(`http://${service.debug}/api/v1/rehearsal/promote`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ id: 'x' }),
  });
  t.equal(open.status, 401, 'a change needs the token');
}

t.test('candidate rules can name files of values, which are sent and promoted with them', async t => {
  const root = activeRules(tempDirectory(t));
  const service = await started(t, { RUNTIME_ROOT: root });
  const content = rules(2).replace('key: user', 'key: user, in_file: users.txt');
  t.not(content, rules(2));
  const files = [
    { name: 'shop.yaml', content },
    { name: 'users.txt', content: 'ann\n' },
  ];
  const { json } = await callOperator(service, 'POST', '/rehearsal', { files });
  t.match(json, { state: 'running', reasons: [] });
  t.match(await callOperator(service, 'POST', '/rehearsal/promote', { id: json.id }), { status: 200 });
  t.same(readdirSync(join(root, 'config')).sort(), ['shop.yaml', 'users.txt']);
});

t.test('RUNTIME_CANDIDATE is watched, and all threads rehearse it', async t => {
  const candidate = tempDirectory(t);
  const service = await started(t, {
    RUNTIME_ROOT: activeRules(tempDirectory(t)),
    RUNTIME_CANDIDATE: candidate,
    SERVE_THREADS: '2',
    WORKER_THREADS: '1',
  });
  t.match((await callOperator(service, 'GET', '/rehearsal')).json, { state: 'none' });
  writeRules(candidate, { 'shop.yaml': 'domain: shop\ndescriptors: 5\n' });
  const state = async () => (await callOperator(service, 'GET', '/rehearsal')).json;
  await until(async () => (await state()).state === 'faults');
  t.match(await state(), { reasons: [/shop\.yaml:2:/], source: candidate });
  t.match(await callOperator(service, 'POST', '/rehearsal/restart', {}), { status: 409 });
  writeRules(candidate, { 'shop.yaml': rules(2) });
  await until(async () => (await state()).state === 'running');
  await until(async () => {
    await ask(service, 'ann');
    return (await state()).total.more >= 3;
  });
  t.match((await callOperator(service, 'DELETE', '/rehearsal')).json, { state: 'none' });
  writeRules(candidate, { 'shop.yaml': rules(1) });
  await until(async () => (await state()).state === 'running');
});

t.test('sluice rehearse', async t => {
  const service = await started(t, { RUNTIME_ROOT: activeRules(tempDirectory(t)) });
  const candidate = tempDirectory(t);
  writeFileSync(join(candidate, 'shop.yaml'), rules(2));
  writeFileSync(join(candidate, 'notes.txt'), 'not a rule file');
  const sluice = (...args: string[]) =>
    runIn({ ADMIN_TOKEN }, 'rehearse', ...args, '--debug-address', service.debug);
  t.match(await sluice(), { status: 0, stdout: /^no candidate rules/ });
  t.match(await sluice(candidate), { status: 0, stdout: /^candidate [0-9a-f]{12} .* 0 hits/ });
  await ask(service, 'ann', 4);
  const { stdout } = await sluice();
  t.match(stdout, /LIMIT +HITS +REJECTED +TODAY +MORE +FEWER/);
  t.match(stdout, /shop\.user +4 +2 \(50 %\) +0 \(0 %\) +2 +0/);
  t.match(stdout, /user=ann .*would be rejected/);
  const { id } = JSON.parse((await sluice('--json')).stdout);
  t.match(await sluice('promote', '--id', 'other'), { status: 2, stderr: /have changed/ });
  t.match(await sluice('promote', '--id', id, '--reason', 'tried'), { status: 0, stdout: /^promoted/ });
  t.equal(await ask(service, 'ann'), 429);
  t.match(await sluice('promote', '--id', id), { status: 2, stderr: /no candidate rules/ });
  t.match(await sluice(join(candidate, 'missing')), { status: 2, stderr: /missing/ });
  writeFileSync(join(candidate, 'shop.yaml'), 'domain: shop\ndescriptors: 5\n');
  t.match(await sluice(candidate), { status: 1, stdout: /shop\.yaml:2:/ });
  t.match(await sluice('stop'), { status: 0, stdout: /^the rehearsal has ended/ });
});
