import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t, { type Test } from 'tap';
import { askOverHttp, getPage, statistic } from '../support/asking.ts';
import { repositoryRoot } from '../support/repository.ts';
import { writeRules } from '../support/rule-files.ts';
import { serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';

const RULES = 'domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: day, requests_per_unit: 9}\n';
const ASK = { domain: 'd', descriptors: [{ entries: [{ key: 'a', value: 'x' }] }] };

function settings(t: Test): Record<string, string> {
  const root = writeRules(tempDirectory(t), {
    'config/rules.yaml': RULES,
    'config/empty.yaml': 'domain: e\n',
  });
  return { RUNTIME_ROOT: root };
}

/** The service, started as a user does, with its outputs in the hands of the test. */
function spawned(t: Test, env: Readonly<Record<string, string>>) {
  const launcher = join(repositoryRoot(), 'ops/launch/sluice.mjs');
  const free = { HOST: '127.0.0.1', PORT: '0', GRPC_PORT: '0', DEBUG_PORT: '0' };
  const child = spawn(process.execPath, [launcher, 'serve'], {
    env: {
      PATH: process.env['PATH'],
      ...free,
      LOG_FORMAT: 'json',
      LOG_LEVEL: 'info',
      ...settings(t),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  return child;
}

/** The HTTP address, from the lines that the service logs. */
async function httpAddress(errors: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: errors })) {
    const { name, address } = JSON.parse(line);
    if (name === 'http') return address;
  }
  throw new Error('the service ended before it listened');
}

t.test('a reader of standard output that has gone does not end the service', async t => {
  const child = spawned(t, {});
  child.stdout.destroy();
  const address = await httpAddress(child.stderr);
  t.match(await askOverHttp(address, ASK), { status: 200 });
  child.kill('SIGTERM');
  t.same(await once(child, 'exit'), [0, null]);
});

t.test('a reader of standard error that reads nothing holds up neither decisions nor the end', async t => {
  const child = spawned(t, { LOG_LEVEL: 'debug' });
  const address = await new Promise<string>(resolve => {
    let text = '';
    child.stderr.setEncoding('utf8').on('data', chunk => {
      text += chunk;
      const ready = /"Sluice is ready".*?"http":"([^"]*)"/.exec(text);
      if (ready === null) return;
      child.stderr.pause();
      resolve(ready[1]);
    });
  });
  // Each of these is a line at debug, and together they are more than a pipe holds.
  const wrong = { ['x'.repeat(1_000)]: 1 };
  for (let i = 0; i < 500; i++) await askOverHttp(address, wrong);
  t.match(await askOverHttp(address, ASK), { status: 200 });
  child.kill('SIGTERM');
  t.same(await once(child, 'exit'), [0, null]);
});

t.test('reads of the rule files and the local cache have statistics', async t => {
  const service = await serviceFor(t, { env: { ...settings(t), LOCAL_CACHE_SIZE_IN_BYTES: '600000' } });
  t.equal(await statistic(service.debug, 'runtime.load_attempts'), 1);
  t.equal(await statistic(service.debug, 'runtime.num_values'), 2);
  const { text } = await getPage(service.debug, '/stats');
  for (const name of ['entryCount', 'expiredCount', 'evacuateCount', 'lookupCount']) {
    t.match(text, `ratelimit.localcache.${name}: 0\n`);
  }
});
