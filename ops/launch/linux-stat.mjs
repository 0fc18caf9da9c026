import { readFileSync } from 'node:fs';

/**
 * Returns the fields of `/proc/PID/stat` that follow the name of the process, so the first one is its state. Empty if
 * the process does not exist, and on systems other than Linux.
 */
export function linuxStat(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name may contain spaces and parentheses.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}
