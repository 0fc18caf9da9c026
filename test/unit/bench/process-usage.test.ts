import t from 'tap';
import { cpuMsOfStat, processUsage, rssBytesOfStatus } from '../../../bench/support/process-usage.ts';

/** The fields behind the name of /proc/<pid>/stat, with 250 ticks in user and 50 in system. */
const FIELDS = 'S 1 2 3 0 -1 4194560 900 0 2 0 250 50 7 8 20 0 11 0 12345 1000000 2500';

t.test('processor time is user and system, in hundredths of a second', async t => {
  t.equal(cpuMsOfStat(`4711 (node) ${FIELDS}`), 3_000);
});

t.test('the name of a process may hold spaces and parentheses', async t => {
  t.equal(cpuMsOfStat(`4711 (a) R (b ) ${FIELDS}`), 3_000);
});

t.test('resident memory is read in bytes, and is none for a process that has ended', async t => {
  t.equal(rssBytesOfStatus('Name:\tnode\nVmHWM:\t  9999 kB\nVmRSS:\t  1500 kB\nThreads:\t11\n'), 1_536_000);
  t.equal(rssBytesOfStatus('Name:\tnode\nState:\tZ (zombie)\n'), 0);
});

t.test('the usage of a running process is known on Linux, and is no number elsewhere', async t => {
  const { cpuMs, rssBytes } = processUsage(process.pid);
  if (process.platform === 'linux') t.ok(cpuMs > 0 && rssBytes > 1_000_000);
  else t.ok(Number.isNaN(cpuMs) && Number.isNaN(rssBytes));
});
