import { pinnedNode } from './pinned-node.mjs';
import { run, scriptOf } from './step.mjs';

/** @throws StepFailure when biome finds a fault */
export function checkStyle() {
  return run({
    doing: 'checking format and style (biome)',
    command: pinnedNode(),
    args: [scriptOf('@biomejs/biome', 'biome'), 'check', '--error-on-warnings', '.'],
    advice: 'The errors are listed above. "npm run format" fixes those that can be fixed automatically.',
  });
}
