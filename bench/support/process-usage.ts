import { readFileSync } from 'node:fs';

/** What a process has used since it began. */
export interface ProcessUsage {
  /** Processor time of all threads, those that have ended included, in user and system. */
  readonly cpuMs: number;
  readonly rssBytes: number;
}

/** The kernel counts processor time for /proc in hundredths of a second, whatever its own clock (proc(5), USER_HZ). */
const TICK_MS = 10;

/** Usage of another process. NaN where there is no /proc, that is elsewhere than on Linux. */
export function processUsage(pid: number): ProcessUsage {
  if (process.platform !== 'linux') return { cpuMs: Number.NaN, rssBytes: Number.NaN };
  return {
    cpuMs: cpuMsOfStat(readFileSync(`/proc/${pid}/stat`, 'latin1')),
    rssBytes: rssBytesOfStatus(readFileSync(`/proc/${pid}/status`, 'latin1')),
  };
}

/** Processor time in the text of `/proc/<pid>/stat`. */
export function cpuMsOfStat(text: string): number {
  // The second field is the name in parentheses, and may hold spaces and parentheses itself.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Resident memory in the text of `/proc/<pid>/status`. */
export function rssBytesOfStatus(text: string): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(text);
  // A process that has ended and is not waited for has no memory.
  return line === null ? 0 : Number(line[1]) * 1_024;
}
