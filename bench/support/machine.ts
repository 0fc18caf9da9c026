import { execFileSync } from 'node:child_process';
import { cpus, totalmem } from 'node:os';
import { pinnedNode } from './pinned-node.ts';

/** What figures depend on and a report has to name. */
export interface Machine {
  readonly cores: number;
  readonly processor: string;
  readonly memoryBytes: number;
  readonly platform: string;
  /** Version of the Node.js that children run on. */
  readonly node: string;
}

export function describeMachine(): Machine {
  const processors = cpus();
  return {
    cores: processors.length,
    processor: processors[0]?.model ?? 'unknown',
    memoryBytes: totalmem(),
    platform: `${process.platform}-${process.arch}`,
    node: execFileSync(pinnedNode(), ['--version'], { encoding: 'utf8' }).trim(),
  };
}
