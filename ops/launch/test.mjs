// Checks style, then runs the built tests: `npm test`, or `npm test -- test/unit/base/hash.test.ts` for some of
// them without the style check. What they need has been made ready by bootstrap.mjs.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { pinnedNode } from './pinned-node.mjs';
import { attempt, note, root, run, StepFailure, scriptOf } from './step.mjs';
import { TapReport } from './tap-report.mjs';

await attempt(async () => {
  const files = process.argv.slice(2).map(builtName);
  if (files.length === 0) await checkStyle();
  await runTests(files);
});

async function checkStyle() {
  await run({
    doing: 'checking format and style (biome)',
    command: pinnedNode(),
    args: [scriptOf('@biomejs/biome', 'biome'), 'check', '--error-on-warnings', '.'],
    advice: 'The faults stand above. "npm run format" fixes what needs no decision.',
  });
}

/** Tests are named by their source; what runs is built from it. Flags of tap stay as they are. */
function builtName(argument) {
  return argument.replace(/^(?:\.\/)?(test\/.*)\.ts$/, 'build/$1.js');
}

async function runTests(files) {
  note('running tests (tap)');
  const tap = spawn(pinnedNode(), [scriptOf('tap', 'tap'), 'run', '--reporter=tap', ...files], {
    cwd: root,
    env: { ...process.env, NODE_OPTIONS: `--import=${new URL('without-loaders.mjs', import.meta.url)}` },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(tap, 'close');
  const report = new TapReport(text => process.stdout.write(text));
  for await (const line of createInterface({ input: tap.stdout })) report.line(line);
  const [status, signal] = await ended;

  const { total = 0, pass = 0, fail = 0, skip = 0, todo = 0 } = report.counts ?? {};
  if (report.failedFiles.length > 0)
    process.stdout.write(`\nFailed:\n  ${report.failedFiles.join('\n  ')}\n`);
  // The last line by which CI systems count.
  process.stdout.write(
    `\n${pass} passed, ${fail} failed${skip + todo > 0 ? `, ${skip + todo} skipped` : ''}\n`,
  );
  if (report.counts === undefined)
    throw new StepFailure(`The test runner ended early (${signal ?? `status ${status}`}).`);
  if (total === 0) throw new StepFailure('No test was run.');
  if (status !== 0 || fail > 0) process.exitCode = 1;
}
