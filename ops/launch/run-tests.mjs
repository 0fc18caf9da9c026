// Runs built tests with tap and reports them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { compiledCode } from './build.mjs';
import { pinnedNode } from './pinned-node.mjs';
import { note, root, StepFailure, scriptOf } from './step.mjs';
import { TapReport } from './tap-report.mjs';

/** Returns the built file of a test that is named by its source. Flags of tap are returned unchanged. */
export function builtName(argument) {
  return argument.replace(/^(?:\.\/)?(test\/.*)\.ts$/, 'build/$1.js');
}

/**
 * Runs the built test files, or all tests if no file is named. Sets the exit status to 1 if a test fails.
 *
 * @throws StepFailure if no test was run, or the test runner failed
 */
export async function runTests(files) {
  note('running tests (tap)');
  const preloads = ['without-loaders.mjs'];
  // Whoever names files examines them, and gets the lines of the sources in stack traces.
  if (!files.some(file => file.endsWith('.js'))) preloads.push('without-source-maps.mjs');
  const tap = spawn(pinnedNode(), [scriptOf('tap', 'tap'), 'run', '--reporter=tap', ...files], {
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
  for await (const line of createInterface({ input: tap.stdout })) report.line(line);
  const [status, signal] = await ended;

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
