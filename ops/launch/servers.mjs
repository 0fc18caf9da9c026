import { accessSync, constants, existsSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { note, run, StepFailure } from './step.mjs';

/** Servers and clients that tests use, by the name of the program, with the packages that contain them. */
const PROGRAMS = [
  // `redis-server --sentinel` is also the sentinel, so no other package is needed.
  { program: 'redis-server', debian: 'redis-server', brew: 'redis', for: 'the Redis counter store' },
  { program: 'memcached', debian: 'memcached', brew: 'memcached', for: 'the memcached counter store' },
  { program: 'nghttp', debian: 'nghttp2-client', brew: 'nghttp2', for: 'gRPC with other clients' },
  { program: 'h2load', debian: 'nghttp2-client', brew: 'nghttp2', for: 'gRPC under load, and benchmarks' },
  { program: 'curl', debian: 'curl', brew: 'curl', for: 'the commands that the quick start prints' },
  { program: 'nginx', debian: 'nginx', brew: 'nginx', for: 'ops/nginx' },
  { program: 'haproxy', debian: 'haproxy', brew: 'haproxy', for: 'ops/haproxy' },
];

/** Programs without which some tests are skipped, so a machine where they cannot be installed can run the others. */
const OPTIONAL = [
  {
    programs: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'Google Chrome'],
    name: 'browser',
    debian: 'chromium',
    for: 'pages',
    advice: 'They need the Debian package chromium, or Google Chrome.',
  },
  {
    programs: ['promtool'],
    name: 'promtool',
    debian: 'prometheus',
    for: 'the Prometheus page',
    advice: 'They need the Debian package prometheus.',
  },
  {
    programs: ['caddy'],
    name: 'Caddy',
    debian: 'caddy',
    for: 'ops/caddy',
    advice: 'They need the Debian package caddy.',
  },
  {
    // Debian keeps the server itself in a folder for each version.
    programs: ['pg_ctlcluster', 'postgres'],
    name: 'PostgreSQL',
    debian: 'postgresql',
    for: 'the task store in PostgreSQL',
    advice: 'They need the Debian package postgresql.',
  },
  {
    programs: ['pgbouncer'],
    name: 'PgBouncer',
    debian: 'pgbouncer',
    for: 'the task store behind a pooler',
    advice: 'They need the Debian packages postgresql and pgbouncer.',
  },
];

/** Where optional programs are if they are not on the PATH. */
const OPTIONAL_FOLDERS = [
  '/usr/bin',
  '/usr/sbin',
  '/usr/local/bin',
  '/opt/homebrew/bin',
  '/snap/bin',
  '/Applications/Google Chrome.app/Contents/MacOS',
];

/** Directories of servers on Debian, which are not on the PATH of most users. */
const SERVER_FOLDERS = ['/usr/local/sbin', '/usr/sbin'];

/** Installs programs that are missing on the PATH, if this process may do that. Otherwise fails with instructions. */
export async function bringServers() {
  const missing = PROGRAMS.filter(({ program }) => !isOnPath(program));
  if (missing.length === 0) return;
  const isAllowed = process.getuid?.() === 0 && isOnPath('apt-get');
  if (!isAllowed) throw new StepFailure(explain(missing));
  const packages = packagesOf(missing, 'debian');
  await withoutServiceStarts(async () => {
    await apt('reading the lists of packages (apt-get)', ['update'], explain(missing));
    const install = ['install', '-y', '--no-install-recommends', ...packages];
    await apt(`installing ${packages.join(', ')} (apt-get)`, install, explain(missing));
  });
  const absent = missing.filter(({ program }) => !isOnPath(program));
  if (absent.length > 0) throw new StepFailure(explain(absent));
}

/**
 * Installs optional programs that are missing if this process may install packages. Otherwise their tests are skipped, so
 * this step fails only when it is interrupted by a signal.
 */
export async function bringOptional(folders = OPTIONAL_FOLDERS) {
  const missing = OPTIONAL.filter(({ programs }) => !programs.some(program => isOnPath(program, folders)));
  const isAllowed = process.getuid?.() === 0 && isOnPath('apt-get');
  for (const each of missing) {
    if (isAllowed) await bringOne(each);
    else note(`no ${each.name} for the tests of ${each.for}, which are skipped. ${each.advice}`);
  }
}

async function bringOne({ debian, for: use, advice }) {
  try {
    await withoutServiceStarts(async () => {
      await apt('reading the lists of packages (apt-get)', ['update'], advice);
      const install = ['install', '-y', '--no-install-recommends', debian];
      await apt(`installing ${debian} for the tests of ${use} (apt-get)`, install, advice);
    });
  } catch (failure) {
    if (failure.signal !== undefined) throw failure;
    note(failure.message);
  }
}

async function apt(doing, args, advice) {
  await run({
    doing,
    // If apt-get were killed, packages could stay unconfigured.
    graceMs: Infinity,
    command: 'apt-get',
    args: ['-q', ...args],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    advice,
  });
}

function explain(missing) {
  const lines = missing.map(({ program, for: use }) => `  ${program}, for the tests of ${use}`);
  const packages = kind => packagesOf(missing, kind).join(' ');
  return [
    'These programs are needed and not on the PATH:',
    ...lines,
    'Install them and run "npm test" again:',
    `  Debian, Ubuntu:  sudo apt-get update && sudo apt-get install -y ${packages('debian')}`,
    `  macOS:           brew install ${packages('brew')}`,
  ].join('\n');
}

/** Returns the names of the packages of the programs for a package manager, without duplicates. */
function packagesOf(programs, manager) {
  return [...new Set(programs.map(each => each[manager]))];
}

function isOnPath(program, folders = SERVER_FOLDERS) {
  return [...(process.env.PATH ?? '').split(delimiter), ...folders].some(folder => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

const POLICY = '/usr/sbin/policy-rc.d';

/**
 * Runs `work` while packages may not start the services that they contain. Tests start their own servers on their own
 * ports, and a Redis on the default port could surprise the owner of the machine. `policy-rc.d` is Debian's mechanism
 * for this. If the file exists already, as in containers, it is not changed.
 */
async function withoutServiceStarts(work) {
  if (existsSync(POLICY)) return await work();
  writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755, flag: 'wx' });
  try {
    await work();
  } finally {
    rmSync(POLICY, { force: true });
  }
}
