import { readFileSync } from 'node:fs';

/** Memory of another process, as Linux accounts for it (proc(5), `/proc/<pid>/status`). */
export interface ProcessMemory {
  /** Everything that is resident: the sum of the next two, and of shared memory. */
  readonly rssBytes: number;
  /** Pages of files: the Node.js binary and libraries, which processes of one machine share. */
  readonly fileBytes: number;
  /** Heaps, buffers, counters, stacks. */
  readonly ownBytes: number;
  readonly threads: number;
}

/** @throws Error elsewhere than on Linux, or when the process has ended */
export function processMemory(pid: number): ProcessMemory {
  const text = readFileSync(`/proc/${pid}/status`, 'latin1');
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1]);
  return {
    rssBytes: field('VmRSS') * 1_024,
    fileBytes: field('RssFile') * 1_024,
    ownBytes: (field('RssAnon') + field('RssShmem')) * 1_024,
    threads: field('Threads'),
  };
}
