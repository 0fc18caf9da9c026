import { readlinkSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { askOverHttp, getPage, statistic } from '../support/asking.ts';
import { writeRules } from '../support/rule-files.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';

const GOOD_LOADS = 'ratelimit.service.config_load_success';
const BAD_LOADS = 'ratelimit.service.config_load_error';

/** Rules of the domain `d`: so many requests a day for each value of a key. */
const daily = (key: string, requestsPerUnit: number): string =>
  `domain: d\ndescriptors:\n  - {key: ${key}, rate_limit: {unit: day, requests_per_unit: ${requestsPerUnit}}}\n`;

async function start(t: Test, env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  return await serviceFor(t, { env });
}

/** The limits that apply to descriptors of these keys; null where none does. */
async function limitsOf(service: ServiceProcess, ...keys: string[]): Promise<(number | null)[]> {
  const descriptors = keys.map(key => ({ entries: [{ key, value: 'x' }] }));
  const { body } = await askOverHttp(service.http, { domain: 'd', descriptors });
  const statuses = (body.statuses ?? []) as readonly { currentLimit?: { requestsPerUnit: number } }[];
  return statuses.map(({ currentLimit }) => currentLimit?.requestsPerUnit ?? null);
}

t.test('rules are read from RUNTIME_ROOT/RUNTIME_SUBDIRECTORY/RUNTIME_APPDIRECTORY', async t => {
  const root = writeRules(tempDirectory(t), {
    'config/rules.yaml': daily('a', 1),
    'edge/config/rules.yaml': daily('a', 2),
    'limits/rules.yaml': daily('a', 3),
    'edge/limits/rules.yaml': daily('a', 4),
    'edge/limits/deeper/rules.yaml': daily('b', 5),
  });
  // Other tests read `config`, without a subdirectory.
  const env = { RUNTIME_SUBDIRECTORY: 'edge', RUNTIME_APPDIRECTORY: 'limits' };
  const service = await start(t, { RUNTIME_ROOT: root, ...env });
  t.same(await limitsOf(service, 'a', 'b'), [4, null]);
});

t.test('watching the directory, writing, adding and removing files reload all of them', async t => {
  const root = writeRules(tempDirectory(t), { 'config/one.yaml': daily('a', 1) });
  const env = { RUNTIME_ROOT: root, RUNTIME_WATCH_ROOT: 'false', MERGE_DOMAIN_CONFIG: 'true' };
  const service = await start(t, env);
  writeRules(root, { 'config/two.yaml': daily('b', 2) });
  await until(async () => String(await limitsOf(service, 'a', 'b')) === '1,2');
  await t.test('MERGE_DOMAIN_CONFIG lets several files hold rules of one domain', async t => {
    writeRules(root, { 'config/two.yaml': daily('a', 2) });
    const twice = await service.logged(line => line['level'] === 'error');
    t.match(
      twice['fault'],
      /two\.yaml:3:\d+: d\.a: "a" is defined twice on this level, first in .*one\.yaml/,
    );
    t.same(await limitsOf(service, 'a', 'b'), [1, 2], 'one entry in two files is refused all the same');
    writeRules(root, { 'config/two.yaml': daily('b', 2) });
  });
  writeRules(root, { 'config/one.yaml': daily('a', 3) });
  await until(async () => String(await limitsOf(service, 'a', 'b')) === '3,2');
  const faults = await statistic(service.debug, BAD_LOADS);
  renameSync(join(root, 'config/two.yaml'), join(root, 'two.yaml'));
  await until(async () => String(await limitsOf(service, 'a', 'b')) === '3,');
  t.equal(await statistic(service.debug, BAD_LOADS), faults);
});

t.test('watching the root, a swap of its link reloads, and an edit below it does not', async t => {
  const base = writeRules(tempDirectory(t), {
    'first/config/rules.yaml': daily('a', 1),
    'second/config/rules.yaml': daily('a', 2),
  });
  const root = join(base, 'current');
  symlinkSync('first', root);
  const service = await start(t, { RUNTIME_ROOT: root, RUNTIME_WATCH_ROOT: 'true' });
  const other = await start(t, { RUNTIME_ROOT: root, RUNTIME_WATCH_ROOT: 'false' });
  writeRules(base, { 'first/config/rules.yaml': 'no rules at all' });
  await other.logged(line => line['level'] === 'error');
  symlinkSync('second', `${root}.next`);
  renameSync(`${root}.next`, root);
  t.equal(readlinkSync(root), 'second');
  await service.logged(() => loadsOf(service) === 2);
  t.same(await limitsOf(service, 'a'), [2]);
  t.equal(await statistic(service.debug, BAD_LOADS), 0, 'the edit was not read');
  t.equal(await statistic(service.debug, GOOD_LOADS), 2);
});

t.test('a directory without rule files is a good load without domains, which limits nothing', async t => {
  const root = writeRules(tempDirectory(t), { 'config/README.md': '# no rules' });
  const service = await start(t, { RUNTIME_ROOT: root });
  t.same(await limitsOf(service, 'a', 'b'), [null, null]);
  t.equal(await statistic(service.debug, GOOD_LOADS), 1);
  t.equal(await statistic(service.debug, BAD_LOADS), 0);
  t.equal(await statistic(service.debug, 'ratelimit.service.rate_limit.d.domain_not_found'), 2);
  t.same(await getPage(service.debug, '/rlconfig'), { status: 200, text: '' });
});

t.test(
  'one rule file that is empty, no YAML or of the same domain refuses all; other files are not read',
  async t => {
    const files = { 'config/rules.yaml': daily('a', 1), 'config/notes.txt': "'''" };
    const RUNTIME_ROOT = writeRules(tempDirectory(t), files);
    const service = await start(t, { RUNTIME_ROOT, RUNTIME_WATCH_ROOT: 'false' });
    t.same(await limitsOf(service, 'a'), [1]);
    const refusals = () =>
      service.logs.flatMap(line =>
        line['@message'] === 'Fault in the rules' ? [String(line['fault'])] : [],
      );
    for (const [text, reason] of [
      ["'''", /extra\.yml:1:1: this is not valid YAML: /],
      ['', /extra\.yml: the file is empty: /],
      [daily('b', 2), /rules\.yaml:1:9: d: the domain "d" is already defined in .*extra\.yml/],
    ] as const) {
      writeRules(RUNTIME_ROOT, { 'config/extra.yml': text });
      await service.logged(() => reason.test(refusals().at(-1) ?? ''));
      const before = refusals().length;
      writeRules(RUNTIME_ROOT, { 'config/rules.yaml': daily('a', 2) });
      await service.logged(() => refusals().length > before);
      t.same(await limitsOf(service, 'a'), [1], 'the rules beside it are not taken over either');
    }
    t.same(await getPage(service.http, '/healthcheck'), { status: 200, text: 'OK' });
  },
);

/** How often rules have come into force. */
function loadsOf(service: ServiceProcess): number {
  return service.logs.filter(line => line['@message'] === 'Rules loaded').length;
}
