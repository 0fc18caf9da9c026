import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { npmCommand } from './packages.mjs';
import { NODE_PACKAGE } from './pinned-node.mjs';
import { note, root, run } from './step.mjs';

/**
 * Node.js versions of hosts to test with: the oldest supported one, and two that the native HTTP server does not
 * support.
 */
const VERSIONS = ['22.13.0', '24.21.0', '26.10.0'];
const FOLDER = join(root, 'node_modules/.cache/host-nodes');

/** Timeout of the downloads of 140 MB. After it, the tests are skipped. */
const BOUND_MS = 120_000;

/**
 * Installs these Node.js versions below node_modules, from the npm packages that also provide the pinned version. If
 * that fails, the tests with them are skipped, so this step fails only when it is interrupted by a signal.
 */
export async function bringHostNodes(folder = FOLDER) {
  const missing = VERSIONS.filter(version => !existsSync(join(folder, version)));
  if (missing.length === 0 || NODE_PACKAGE === undefined) return;
  const fresh = `${folder}.${process.pid}`;
  mkdirSync(fresh, { recursive: true });
  let bound;
  try {
    const npm = npmCommand();
    await run({
      doing: `installing Node.js ${missing.join(', ')} for tests (npm)`,
      ...npm,
      args: [
        ...npm.args,
        'install',
        `--prefix=${fresh}`,
        ...['--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'],
        ...missing.map(version => `node-${version}@npm:${NODE_PACKAGE}@${version}`),
      ],
      advice: 'The tests on these versions are skipped.',
      started: pid => {
        bound = setTimeout(() => process.kill(pid), BOUND_MS);
      },
    });
    mkdirSync(folder, { recursive: true });
    for (const version of missing) {
      const program = join(fresh, 'node_modules', `node-${version}`, 'bin/node');
      // Renamed when complete, because the tests look for this name.
      renameSync(program, join(folder, version));
    }
  } catch (failure) {
    if (failure.signal !== undefined) throw failure;
    note(failure.message);
  } finally {
    clearTimeout(bound);
    rmSync(fresh, { recursive: true, force: true });
  }
}
