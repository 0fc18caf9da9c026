import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { askOverHttp } from '../support/asking.ts';
import { ruleSettings } from '../support/exactness/setup.ts';
import { freePort } from '../support/free-port.ts';
import { ADMIN_TOKEN, callOperator } from '../support/operator-service.ts';
import { repositoryRoot } from '../support/repository.ts';
import { serviceFor, startService } from '../support/service.ts';
import { runIn } from '../unit/cli/run.ts';

const RULES = `domain: shop
descriptors:
  - key: user
    rate_limit: {unit: year, requests_per_unit: 1}
  - key: path
    rate_limit: {unit: year, requests_per_unit: 1}
`;

/** Between two requests, so that others have the processor. */
const PAUSE_MS = 5;

const service = await serviceFor(t, { rules: RULES, env: { ADMIN_TOKEN } });

/** Asks again and again, until stopped. */
function asking(address: string, ...entries: (readonly [string, string])[]): () => Promise<void> {
  let isOver = false;
  const loop = (async () => {
    while (!isOver) {
      const descriptors = entries.map(([key, value]) => ({ entries: [{ key, value }] }));
      await askOverHttp(address, { domain: 'shop', descriptors }).catch(() => {});
      await sleep(PAUSE_MS);
    }
  })();
  return async () => {
    isOver = true;
    await loop;
  };
}

t.test('rejections are printed as they happen, all or those asked for', async t => {
  const stop = asking(service.http, ['user', 'ann'], ['path', '/\u0007']);
  t.teardown(stop);
  const at = ['--debug-address', service.debug];
  const text = await runIn({}, 'tail', '--count', '1', '--search', 'ann', ...at);
  t.match(text, {
    status: 0,
    stdout: /^20\S+Z {2}shop\.user {2}user=ann {2}\d+ of 1 {2}from 127\.0\.0\.1\n$/,
  });
  const json = await runIn({}, 'tail', '--count', '2', '--limit', 'shop.path', '--json', ...at);
  const lines = json.stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line));
  t.match(lines, [{ path: 'shop.path', key: 'path=/\u0007' }, { path: 'shop.path' }]);
  const escaped = await runIn({}, 'tail', '--count', '1', '--limit', 'shop.path', ...at);
  t.match(escaped.stdout, 'path=/\\u0007', 'control characters do not reach the terminal');
});

t.test('requests that a ban rejects are printed as well, with or without a rule', async t => {
  for (const key of ['user', 'unknown']) {
    const answer = await callOperator(service, 'PUT', '/bans', {
      domain: 'shop',
      entries: [{ key, value: '*bot*' }],
      until: new Date(Date.now() + 3_600_000).toISOString(),
      reason: 'scraping',
    });
    t.equal(answer.status, 200);
  }
  t.teardown(asking(service.http, ['user', 'a-bot'], ['unknown', 'bot-7']));
  const at = ['--debug-address', service.debug];
  const known = await runIn({}, 'tail', '--count', '1', '--search', 'a-bot', '--limit', 'shop.user', ...at);
  t.match(known.stdout, / {2}shop\.user {2}user=a-bot {2}banned {2}from 127/);
  const json = JSON.parse(
    (await runIn({}, 'tail', '--count', '1', '--search', 'bot-7', '--json', ...at)).stdout,
  );
  t.match(json, { path: '', key: 'unknown=bot-7', banned: true, count: null, requests_per_unit: 0 });
});

t.test('it connects again after a restart of the service, and ends when nobody reads', async t => {
  const env = { ...ruleSettings(t, RULES), DEBUG_PORT: String(await freePort()) };
  let running = await startService({ env });
  t.teardown(() => running.terminate());
  const program = join(repositoryRoot(), 'ops/launch/sluice.mjs');
  const tail = spawn(process.execPath, [program, 'tail', '--debug-address', running.debug]);
  t.teardown(() => tail.kill());
  tail.stdout.setEncoding('utf8');
  tail.stderr.setEncoding('utf8');
  let said = '';
  tail.stderr.on('data', text => {
    said += text;
  });
  let stop = asking(running.http, ['user', 'ann']);
  await once(tail.stdout, 'data');
  await stop();
  await running.terminate('SIGKILL');
  while (!said.includes('trying again')) await once(tail.stderr, 'data');
  running = await startService({ env });
  stop = asking(running.http, ['user', 'ann']);
  t.teardown(stop);
  await once(tail.stdout, 'data');
  t.match(said, /connected to \S+ again; some rejections are missing/);
  tail.stdout.destroy();
  const [status] = await once(tail, 'exit');
  t.equal(status, 0);
});

t.test('a service that is not there, or is not Sluice', async t => {
  const gone = `127.0.0.1:${await freePort()}`;
  t.match(await runIn({}, 'tail', '--patience', '0s', '--debug-address', gone), {
    status: 2,
    stderr: /no events from 127.* Is the service running/,
  });
  t.match(await runIn({}, 'tail', '--debug-address', service.http), {
    status: 2,
    stderr: /has no events \(HTTP status 404\)/,
  });
  t.match(await runIn({}, 'tail', 'now'), { status: 2, stderr: /unexpected argument "now"/ });
});
