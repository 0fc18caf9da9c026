import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pinnedNode } from './pinned-node.mjs';
import { root, run, StepFailure, scriptOf } from './step.mjs';

/** Where tap keeps the test class that it generates from its plugins. */
const GENERATED = 'node_modules/@tapjs/test/test-built/dist/esm/index.js';

/**
 * Makes tap's test class what package.json asks for. As installed it loads a TypeScript compiler into every
 * test, one that cannot work with the version compiled with here; tests run from `build` and need none.
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
  if (!isTestRunnerPrepared()) throw new StepFailure(`"tap build" left ${GENERATED} as it was.\n${advice}`);
}

/** True when tap's test class is what package.json asks for. */
export function isTestRunnerPrepared() {
  const path = join(root, GENERATED);
  if (!existsSync(path)) return false;
  const generated = readFileSync(path, 'utf8');
  const { tap } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const loads = plugin => generated.includes(`from "${plugin}"`) || generated.includes(`from '${plugin}'`);
  return tap.plugin.every(plugin => (plugin.startsWith('!') ? !loads(plugin.slice(1)) : loads(plugin)));
}
