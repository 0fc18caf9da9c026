// Runs built tests with tap and reports them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { compiledCode } from './build.mjs';
import { cpuTimeMs } from './cpu-time.mjs';
import { pinnedNode } from './pinned-node.mjs';
import { note, root, StepFailure, scriptOf } from './step.mjs';
import { TapReport } from './tap-report.mjs';
import { UngroupedTap } from './ungrouped-tap.mjs';

/** Number of files in the list of the slowest ones. */
const SLOWEST = 15;

/** Returns the built file of a test that is named by its source. Flags of tap are returned unchanged. */
export function builtName(argument) {
  return argument.replace(/^(?:\.\/)?(test\/.*)\.ts$/, 'build/$1.js');
}

/**
 * Runs built test files, named by `args` together with flags of tap. Sets the exit status to 1 if a test fails.
 *
 * With a plan of all tests ({@link planOf}), stack traces name files of `build`, and the slowest files are listed.
 *
 * @throws StepFailure if no test was run, or the test runner failed
 */
export async function runTests(args, groups) {
  note('running tests (tap)');
  const preloads = ['without-loaders.mjs', 'report-cpu-time.mjs'];
  // Whoever names files examines them, and gets the lines of the sources in stack traces.
  if (groups !== undefined) preloads.push('without-source-maps.mjs', 'without-async-hooks.mjs');
  const tap = spawn(pinnedNode(), [scriptOf('tap', 'tap'), 'run', '--reporter=tap', ...args], {
    cwd: root,
    env: {
      ...process.env,
      NODE_OPTIONS: preloads.map(name => `--import=${new URL(name, import.meta.url)}`).join(' '),
      NODE_COMPILE_CACHE: compiledCode,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(tap, 'close');
  const report = new TapReport(text => process.stdout.write(text));
  const tapOfFiles = new UngroupedTap(groups ?? new Map(), line => report.line(line));
  for await (const line of createInterface({ input: tap.stdout })) tapOfFiles.line(line);
  const [status, signal] = await ended;

  if (groups !== undefined) process.stdout.write(timesIn(report));
  const { passed, failed, skipped } = report.counts;
  if (report.failedFiles.length > 0)
    process.stdout.write(`\nFailed:\n  ${report.failedFiles.join('\n  ')}\n`);
  // CI systems parse the last line.
  process.stdout.write(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`);
  if (!report.isComplete)
    throw new StepFailure(`The test runner ended early (${signal ?? `status ${status}`}).`);
  if (passed + failed === 0) throw new StepFailure('No test was run.');
  if (status !== 0 || failed > 0) process.exitCode = 1;
}

/** Returns lines about the processor time of the run and of its slowest files. */
function timesIn(report) {
  const seconds = ms => `${(ms / 1_000).toFixed(1).padStart(6)} s`;
  const slowest = report.times.sort((a, b) => b.cpuMs - a.cpuMs).slice(0, SLOWEST);
  const lines = slowest.map(({ file, cpuMs, timeMs }) => `${seconds(cpuMs)} ${seconds(timeMs)}  ${file}`);
  return `
Files with the most processor time, and their duration:
${lines.join('\n')}
Processor time of all tests: ${seconds(cpuTimeMs()).trim()}
`;
}
