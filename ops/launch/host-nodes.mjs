import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { npmCommand } from './packages.mjs';
import { NODE_PACKAGE } from './pinned-node.mjs';
import { note, root, run } from './step.mjs';

/** Versions that hosts have, each for its major: the oldest that serves, and two that the native HTTP server is not for. */
const VERSIONS = ['22.13.0', '24.21.0', '26.10.0'];
const FOLDER = join(root, 'node_modules/.cache/host-nodes');

/** The downloads have 140 MB. On a line that takes longer the tests do without. */
const BOUND_MS = 120_000;

/**
 * Brings the Node.js of these hosts for the tests, from the packages that the packaged one comes from, and keeps the
 * bare programs below node_modules. Without them those tests are skipped, so only a signal makes this fail.
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
      // Only what is complete gets the name that the tests look for.
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
