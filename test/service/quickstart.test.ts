import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { askOverGrpc, askOverHttp, getPage, grpcTo } from '../support/asking.ts';
import { request } from '../support/decisions.ts';
import { repositoryRoot } from '../support/repository.ts';
import { launched, serviceFor, startService } from '../support/service.ts';

const ASK_JSON = { domain: 'demo', descriptors: [{ entries: [{ key: 'user', value: 'bob' }] }] };

t.test('the quick start serves the sample rules; counts go on across both fronts', async t => {
  const service = await serviceFor(t, { args: ['serve', '--quickstart'] });
  const grpc = grpcTo(t, service.grpc);
  for (let call = 1; call <= 5; call++) {
    if (call % 2 === 0) t.equal((await askOverGrpc(grpc, request('demo', 'user=bob'))).overallCode, 1);
    else t.match(await askOverHttp(service.http, ASK_JSON), { status: 200, body: { overallCode: 'OK' } });
  }
  t.match(await askOverHttp(service.http, ASK_JSON), { status: 429, body: { overallCode: 'OVER_LIMIT' } });
  t.equal((await askOverGrpc(grpc, request('demo', 'user=bob'))).overallCode, 2);
  t.equal(
    (await askOverGrpc(grpc, request('demo', 'user=eve'))).overallCode,
    1,
    'another user has a count of its own',
  );
});

t.test('the three commands that the quick start prints work as they are printed', async t => {
  const service = launched(t, { args: ['serve', '--quickstart'], env: { LOG_FORMAT: 'text' } });
  await service.written(/Ctrl-C stops it/);
  const commands = service.output
    .split('\n')
    .filter(line => /^ {2}(curl|bin\/sluice) /.test(line))
    .map(line => line.trim());
  t.equal(commands.length, 3);
  const [json, client, dump] = await Promise.all(commands.map(runInShell));
  t.match(json, /^HTTP\/1\.1 200 OK[\s\S]*"overallCode":"OK"/);
  t.match(client, /OK[\s\S]*user=ann[\s\S]*5 per minute/);
  t.match(dump, /^demo\.user: unit=MINUTE requests_per_unit=5, shadow_mode: false, quota_mode: false$/m);
});

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  t.test(`${signal} ends the service with status 0 within 5 s, with connections open`, async t => {
    const service = await startService({ args: ['serve', '--quickstart'] });
    const grpc = grpcTo(t, service.grpc);
    await askOverGrpc(grpc, request('demo', 'user=ann'));
    await askOverHttp(service.http, ASK_JSON);
    const watch = grpc.stream('/grpc.health.v1.Health/Watch');
    await watch.next();
    const end = await service.terminate(signal);
    t.match(end, { status: 0, signal: null });
    t.ok(end.elapsedMs < 5_000, `${Math.round(end.elapsedMs)} ms`);
    t.equal((await watch.status).code, 14, 'the open watch is told that the server is unavailable');
  });
}

t.test('the quick start confirms a rule file that was corrected', async t => {
  const root = t.testdir({ config: { 'demo.yaml': 'domain: demo\n' } });
  const env = { RUNTIME_ROOT: root, LOG_FORMAT: 'text', LOG_LEVEL: undefined };
  const service = launched(t, { args: ['serve', '--quickstart'], env });
  await service.written(/Ctrl-C stops it/);
  writeFileSync(join(root, 'config', 'demo.yaml'), 'domain: demo\ndescriptors: [{kez: a}]\n');
  await service.written(/unknown key `kez`/);
  writeFileSync(
    join(root, 'config', 'demo.yaml'),
    'domain: demo\ndescriptors: [{key: a, rate_limit: {unlimited: true}}]\n',
  );
  await service.written(/Rules loaded.*limits=1/);
  t.pass('the log says so');
});

t.test('the debug port lists its pages and answers each of them', async t => {
  const service = await serviceFor(t, { args: ['serve', '--quickstart'] });
  const { text } = await getPage(service.debug, '/');
  const paths = [...text.matchAll(/^(\/\S+):/gm)].map(match => match[1]);
  t.ok(
    ['/rlconfig', '/stats', '/debug/pprof/'].every(path => paths.includes(path)),
    paths.join(' '),
  );
  for (const path of paths.filter(each => !/profile|heap|explain/.test(each))) {
    const page = path.replace('*', 'openapi.json');
    t.equal((await getPage(service.debug, page)).status, 200, page);
  }
});

/** Without the loaders of the test runner: they cannot load `bin/sluice`, which has no file extension. */
function runInShell(command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const inShell = ['-c', `unset NODE_OPTIONS\n${command}`];
    execFile('sh', inShell, { cwd: repositoryRoot() }, (failure, stdout, stderr) => {
      if (failure === null) resolve(stdout);
      else reject(new Error(`${command}: ${failure.message}\n${stdout}\n${stderr}`));
    });
  });
}
