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

/** The browser that tests of pages use, and where it is if it is not on the PATH. */
const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const BROWSER_FOLDERS = [
  '/usr/bin',
  '/usr/local/bin',
  '/snap/bin',
  '/Applications/Google Chrome.app/Contents/MacOS',
];
const MAC_BROWSER = 'Google Chrome';

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
 * Installs Chromium if no browser of its kind is installed and this process may install packages. Otherwise the tests of
 * pages are skipped, so this step fails only when it is interrupted by a signal.
 */
export async function bringBrowser(folders = BROWSER_FOLDERS) {
  if ([...BROWSERS, MAC_BROWSER].some(program => isOnPath(program, folders))) return;
  const isAllowed = process.getuid?.() === 0 && isOnPath('apt-get');
  if (!isAllowed) {
    note(`no browser for the tests of pages, which are skipped. ${BROWSER_ADVICE}`);
    return;
  }
  try {
    await withoutServiceStarts(async () => {
      await apt('reading the lists of packages (apt-get)', ['update'], BROWSER_ADVICE);
      const install = ['install', '-y', '--no-install-recommends', 'chromium'];
      await apt('installing chromium for the tests of pages (apt-get)', install, BROWSER_ADVICE);
    });
  } catch (failure) {
    if (failure.signal !== undefined) throw failure;
    note(failure.message);
  }
}

const BROWSER_ADVICE = 'They need the Debian package chromium, or Google Chrome.';

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
