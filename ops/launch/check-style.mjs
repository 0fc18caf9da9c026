import { pinnedNode } from './pinned-node.mjs';
import { run, scriptOf } from './step.mjs';

/** @throws StepFailure when biome finds a fault */
export function checkStyle() {
  return run({
    doing: 'checking format and style (biome)',
    command: pinnedNode(),
    args: [scriptOf('@biomejs/biome', 'biome'), 'check', '--error-on-warnings', '.'],
    advice: 'The faults stand above. "npm run format" fixes what needs no decision.',
  });
}
