import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { askOverHttp, statistic } from '../support/asking.ts';
import { writeRules } from '../support/rule-files.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import type { Teardown } from '../support/stores.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';

const RULES = 'domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: year, requests_per_unit: 100}\n';
const ASK = { domain: 'd', descriptors: [{ entries: [{ key: 'a', value: 'x' }] }] };

/** Starts the service again and again with one place for rules and counters. */
function place(t: Teardown) {
  const root = writeRules(tempDirectory(t), { 'config/rules.yaml': RULES });
  const path = join(root, 'counters');
  const start = async (env: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> => {
    return await serviceFor(t, {
      env: { RUNTIME_ROOT: root, RUNTIME_WATCH_ROOT: 'false', MEMORY_STORE_SNAPSHOT_PATH: path, ...env },
    });
  };
  return { path, start };
}

async function ask(service: ServiceProcess): Promise<unknown> {
  return (await askOverHttp(service.http, ASK)).body.statuses?.[0]?.['limitRemaining'];
}

t.test('counters are there after a stop', async t => {
  const { path, start } = place(t);
  const first = await start();
  t.same([await ask(first), await ask(first)], [99, 98]);

  await t.test(
    'a second process with the same file says what to do, and leaves the file to the first',
    async t => {
      const second = await start();
      t.match(await second.logged(line => line['level'] === 'error'), {
        '@message': 'Cannot write the counter snapshot; a restart will lose the counts',
        reason: /set MEMORY_STORE_SNAPSHOT_PATH to a different file/,
      });
      t.equal(await ask(second), 99, 'it counts for itself');
      await second.terminate();
    },
  );

  t.match(await first.terminate(), { status: 0 });
  t.equal(statSync(path).mode & 0o777, 0o600);
  const smaller = await start({ MEMORY_STORE_MAX_KEYS: '2048' });
  t.equal(await ask(smaller), 97, 'also in a store of another size');
  await askOverHttp(smaller.http, { ...ASK, hitsAddend: 6 });
  const descriptors = [{ ...ASK.descriptors[0], hitsAddend: 4, isNegativeHits: true }];
  const refunded = await askOverHttp(smaller.http, { ...ASK, descriptors });
  t.match(refunded, { status: 200, body: { statuses: [{ code: 'OK', limitRemaining: 95 }] } });
  t.match(await smaller.terminate(), { status: 0 });
  t.equal(await ask(await start()), 94, 'a refund is in the file as well');
});

t.test('a damaged file is a warning, and the counters begin at 0', async t => {
  const { path, start } = place(t);
  writeFileSync(path, 'no counters');
  const service = await start({ MEMORY_STORE_SNAPSHOT_INTERVAL: '1s' });
  t.match(await service.logged(line => line['level'] === 'warning' && 'reason' in line), {
    '@message': 'Could not load the counter snapshot; counters start at 0',
    kept: `${path}.damaged`,
  });
  t.equal(await ask(service), 99);

  await t.test('after a crash the counters of the last snapshot are there', async t => {
    const saved = await statistic(service.debug, 'ratelimit.memory_store.snapshots');
    await until(
      async () => (await statistic(service.debug, 'ratelimit.memory_store.snapshots')) >= saved + 2,
    );
    await service.terminate('SIGKILL');
    t.equal(await ask(await start()), 98);
  });
});
