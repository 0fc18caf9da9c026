import { cpSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { askOverGrpc, grpcTo } from '../support/asking.ts';
import { request } from '../support/decisions.ts';
import { repositoryRoot } from '../support/repository.ts';
import { writeRules } from '../support/rule-files.ts';
import { serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';

const rules = (limit: number): string =>
  `domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: year, requests_per_unit: ${limit}}\n`;

/** An installation of its own, whose files a test can replace. */
function installation(t: Test): string {
  const folder = tempDirectory(t);
  const root = repositoryRoot();
  for (const part of [
    'package.json',
    'package-lock.json',
    'ops/launch',
    'proto',
    'build/src',
    'build/workers',
    'build/pages',
  ])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'build/.serving'), 'one version');
  return folder;
}

t.test('a process whose files are replaced keeps its rules and serves, and asks for its restart', async t => {
  const folder = installation(t);
  const root = writeRules(tempDirectory(t), { 'config/rules.yaml': rules(5) });
  const service = await serviceFor(t, { folder, env: { RUNTIME_ROOT: root, RUNTIME_WATCH_ROOT: 'false' } });
  const client = grpcTo(t, service.grpc);
  const limit = async () => {
    const { statuses } = await askOverGrpc(client, request('d', 'a=1'));
    return statuses[0].currentLimit?.requestsPerUnit;
  };
  t.equal(await limit(), 5);
  // The mark is what a build removes first and writes last.
  writeFileSync(join(folder, 'build/.serving'), 'another version');
  writeRules(root, { 'config/rules.yaml': rules(6) });
  const refused = await service.logged(line => line['level'] === 'error');
  t.match(refused, { '@message': /^Rules not compiled; / });
  t.match(JSON.stringify(refused), /files of Sluice were replaced .*: restart the service/);
  t.equal(await limit(), 5);
});
