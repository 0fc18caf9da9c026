import { execFile } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { askOverGrpc, askOverHttp, getPage, grpcTo } from '../support/asking.ts';
import { request } from '../support/decisions.ts';
import { repositoryRoot } from '../support/repository.ts';
import { launched, startService } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';

const ASK_JSON = { domain: 'demo', descriptors: [{ entries: [{ key: 'user', value: 'bob' }] }] };

t.test('the quick start', async t => {
  const service = await startService({ args: ['serve', '--quickstart'] });
  t.teardown(() => service.terminate());
  const grpc = grpcTo(t, service.grpc);

  await t.test('it serves the sample rules; counts go on across both fronts', async t => {
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

  await t.test('the debug port lists its pages and answers each of them', async t => {
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

  // The other signals: running.test.ts.
  await t.test('SIGINT ends it with status 0 within 5 s, with connections open', async t => {
    const watch = grpc.stream('/grpc.health.v1.Health/Watch');
    await watch.next();
    const end = await service.terminate('SIGINT');
    t.match(end, { status: 0, signal: null });
    t.ok(end.elapsedMs < 5_000, `${Math.round(end.elapsedMs)} ms`);
    t.equal((await watch.status).code, 14, 'the open watch is told that the server is unavailable');
  });
});

t.test('the quick start, as a text', async t => {
  const root = tempDirectory(t);
  const folder = join(root, 'config');
  cpSync(join(repositoryRoot(), 'ops/quickstart/config'), folder, { recursive: true });
  const env = { RUNTIME_ROOT: root, LOG_FORMAT: 'text', LOG_LEVEL: undefined };
  const service = launched(t, { args: ['serve', '--quickstart'], env });
  await service.written(/Ctrl-C stops it/);

  await t.test('the three commands that it prints work as they are printed', async t => {
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

  await t.test('it confirms a rule file that was corrected', async t => {
    const file = join(folder, 'one.yaml');
    writeFileSync(file, 'domain: one\ndescriptors: [{kez: a}]\n');
    await service.written(/unknown key `kez`/);
    writeFileSync(file, 'domain: one\ndescriptors: [{key: a, rate_limit: {unlimited: true}}]\n');
    await service.written(/Rules loaded.*limits=/);
    t.pass('the log says so');
  });
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
