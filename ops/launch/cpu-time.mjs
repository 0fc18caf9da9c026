import { linuxStat } from './linux-stat.mjs';

/** Unit of the times in `/proc`, a hundredth of a second. */
const TICK_MS = 10;

/**
 * Returns the processor time of this process, in milliseconds. On Linux, this includes the processes that it started
 * and that have ended.
 */
export function cpuTimeMs() {
  const ticks = linuxStat('self').slice(11, 15).map(Number);
  if (ticks.length > 0) return ticks.reduce((sum, each) => sum + each) * TICK_MS;
  const { user, system } = process.cpuUsage();
  return Math.round((user + system) / 1_000);
}
