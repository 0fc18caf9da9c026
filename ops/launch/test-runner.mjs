import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pinnedNode } from './pinned-node.mjs';
import { note, root, run, StepFailure, scriptOf } from './step.mjs';

/** Where tap keeps the test class that it generates from its plugins. */
const GENERATED = 'node_modules/@tapjs/test/test-built/dist/esm/index.js';

/**
 * Makes tap's test class what package.json asks for. As installed it loads a TypeScript compiler into every
 * test, one that cannot work with the version compiled with here; tests run from `build` and need none.
 */
export function prepareTestRunner() {
  if (isPrepared()) return;
  note('preparing the test runner (tap build)');
  const advice =
    'Remove node_modules and try again; if that does not help, see "plugin" of "tap" in package.json.';
  run({ command: pinnedNode(), args: [scriptOf('tap', 'tap'), 'build'], advice });
  if (!isPrepared()) throw new StepFailure(`"tap build" left ${GENERATED} as it was.\n${advice}`);
}

function isPrepared() {
  const path = join(root, GENERATED);
  if (!existsSync(path)) return false;
  const generated = readFileSync(path, 'utf8');
  const { tap } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const loads = plugin => generated.includes(`from "${plugin}"`) || generated.includes(`from '${plugin}'`);
  return tap.plugin.every(plugin => (plugin.startsWith('!') ? !loads(plugin.slice(1)) : loads(plugin)));
}
