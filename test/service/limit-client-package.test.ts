import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { repositoryRoot } from '../support/repository.ts';
import { serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';

const CLIENT = join(repositoryRoot(), 'clients/limit');
const RULES = 'domain: demo\ndescriptors: [{key: user, rate_limit: {unit: day, requests_per_unit: 5}}]\n';

t.test('the code of the pages compiles with the frameworks, and runs on the Node.js of the host', async t => {
  const folder = tempDirectory(t);
  const packages = join(folder, 'node_modules');
  const installed = join(packages, 'sluice-limit');
  mkdirSync(installed, { recursive: true });
  cpSync(join(CLIENT, 'package.json'), join(installed, 'package.json'));
  for (const name of ['express', 'fastify', 'hono', '@types'])
    symlinkSync(join(CLIENT, 'node_modules', name), join(packages, name));
  const tsc = (...args: string[]) =>
    execFileSync(process.execPath, [join(repositoryRoot(), 'node_modules/typescript/bin/tsc'), ...args], {
      cwd: folder,
      env: { PATH: process.env['PATH'] },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
  tsc('--project', join(CLIENT, 'tsconfig.package.json'), '--outDir', join(installed, 'dist'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const service = await serviceFor(t, { rules: RULES });
  const pages = ['clients/limit/README.md', 'docs/limit-clients.md'];
  const text = pages.map(page => readFileSync(join(repositoryRoot(), page), 'utf8')).join('\n');
  const snippets = [...text.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code], at) => {
    writeFileSync(
      join(folder, `snippet-${at}.ts`),
      code.replace("'127.0.0.1:8081',", `'${service.grpc}', timeoutMs: 30_000,`),
    );
    return `snippet-${at}.ts`;
  });
  t.equal(snippets.length, 3);
  tsc(
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2022',
    '--types',
    'node',
    '--skipLibCheck',
    ...snippets,
  );
  const node = process.env['npm_node_execpath'] ?? process.execPath;
  const output = execFileSync(node, ['snippet-0.js'], { cwd: folder, env: {}, encoding: 'utf8' });
  t.equal(output, '4 of 5 are left\n');
});

t.test('the client has the version of the service', async t => {
  const version = (folder: string) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version;
  t.equal(version(CLIENT), version(repositoryRoot()));
});
