import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pinnedNode } from './pinned-node.mjs';
import { root, run, StepFailure, scriptOf } from './step.mjs';

/** The test class that tap generates from its plugins. */
const GENERATED = 'node_modules/@tapjs/test/test-built/dist/esm/index.js';

/**
 * Generates tap's test class with the plugins of package.json. By default it loads a TypeScript compiler into every
 * test, in a version that is not compatible with this repository. Tests run from `build` and do not need a compiler.
 */
export async function prepareTestRunner() {
  if (isTestRunnerPrepared()) return;
  const advice =
    'Remove node_modules and try again; if that does not help, see "plugin" of "tap" in package.json.';
  await run({
    doing: 'preparing the test runner (tap build)',
    command: pinnedNode(),
    args: [scriptOf('tap', 'tap'), 'build'],
    advice,
  });
  if (!isTestRunnerPrepared()) throw new StepFailure(`"tap build" did not change ${GENERATED}.\n${advice}`);
}

/** True if tap's test class was generated with the plugins of package.json. */
export function isTestRunnerPrepared() {
  const path = join(root, GENERATED);
  if (!existsSync(path)) return false;
  const generated = readFileSync(path, 'utf8');
  const { tap } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const loads = plugin => generated.includes(`from "${plugin}"`) || generated.includes(`from '${plugin}'`);
  return tap.plugin.every(plugin => (plugin.startsWith('!') ? !loads(plugin.slice(1)) : loads(plugin)));
}
