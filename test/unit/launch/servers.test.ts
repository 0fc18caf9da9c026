import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import { Child } from '../../support/child-process.ts';
import { repositoryRoot } from '../../support/repository.ts';
import { tempDirectory } from '../../support/temp-directory.ts';

/** What `npm test` does about programs where only these are on the PATH, and so no package manager. */
function bringServers(t: Test, programs: readonly string[]) {
  return bring(t, programs, 'servers.bringServers');
}

/** The same about programs that only some tests need, which are looked for on the PATH alone. */
function bringOptional(t: Test, programs: readonly string[]) {
  return bring(t, programs, '() => servers.bringOptional([])');
}

async function bring(t: Test, programs: readonly string[], step: string) {
  const folder = tempDirectory(t);
  for (const program of programs) {
    writeFileSync(join(folder, program), '');
    chmodSync(join(folder, program), 0o755);
  }
  const module = (name: string) => pathToFileURL(join(repositoryRoot(), 'ops/launch', name)).href;
  const script =
    `import * as servers from '${module('servers.mjs')}'; import { attempt } from '${module('step.mjs')}'; ` +
    `await attempt(${step});`;
  const child = new Child({
    command: process.execPath,
    args: ['--input-type=module', '--eval', script],
    env: { PATH: folder },
  });
  const { status } = await child.ended;
  return { status, output: child.output };
}

t.test('where every program is on the PATH, nothing is done', async t => {
  const result = await bringServers(t, [
    'redis-server',
    'memcached',
    'nghttp',
    'h2load',
    'curl',
    'nginx',
    'haproxy',
  ]);
  t.same(result, { status: 0, output: '' });
});

t.test('missing programs are named, with what needs them and the packages that bring them', async t => {
  const { status, output } = await bringServers(t, ['redis-server', 'curl', 'nginx', 'haproxy']);
  t.equal(status, 1);
  t.equal(
    output,
    `
sluice: These programs are needed and not on the PATH:
  memcached, for the tests of the memcached counter store
  nghttp, for the tests of gRPC with other clients
  h2load, for the tests of gRPC under load, and benchmarks
Install them and run "npm test" again:
  Debian, Ubuntu:  sudo apt-get update && sudo apt-get install -y memcached nghttp2-client
  macOS:           brew install memcached nghttp2
`,
  );
});

t.test('where all optional programs are on the PATH, nothing is installed', async t => {
  for (const name of ['chromium', 'google-chrome']) {
    const programs = [name, 'promtool', 'caddy', 'pg_ctlcluster', 'pgbouncer'];
    t.same(await bringOptional(t, programs), { status: 0, output: '' }, name);
  }
});

t.test('missing optional programs stop nothing; skipped tests and the packages are named', async t => {
  t.same(await bringOptional(t, ['redis-server']), {
    status: 0,
    output: `\
sluice: no browser for the tests of pages, which are skipped. They need the Debian package chromium, or Google Chrome.
sluice: no promtool for the tests of the Prometheus page, which are skipped. They need the Debian package prometheus.
sluice: no Caddy for the tests of ops/caddy, which are skipped. They need the Debian package caddy.
sluice: no PostgreSQL for the tests of the task store in PostgreSQL, which are skipped. They need the Debian package postgresql.
sluice: no PgBouncer for the tests of the task store behind a pooler, which are skipped. They need the Debian packages postgresql and pgbouncer.
`,
  });
});
