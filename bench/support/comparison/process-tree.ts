import { readdirSync, readFileSync } from 'node:fs';
import { processUsage } from '../process-usage.ts';

/**
 * Resident memory of a process and of all that it started. Pages that they share count for each of them. NaN elsewhere
 * than on Linux.
 */
export function treeRssBytes(pid: number): number {
  return processTree(pid).reduce((sum, each) => sum + processUsage(each).rssBytes, 0);
}

/** A process and all that it started, as far as the system tells: elsewhere than on Linux only the process itself. */
export function processTree(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(processTree)];
}

/** Each thread has the processes that it started (proc(5), `/proc/<pid>/task/<tid>/children`). */
function childrenOf(pid: number): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync(`/proc/${pid}/task`).flatMap(thread =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1')
      .split(' ')
      .filter(text => text !== '')
      .map(Number),
  );
}
