import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import type { PriorityFunction } from '../../../support/threads/nice-thread.ts';

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL('../../../support/threads/nice-thread.js', import.meta.url));
/** The user and group of processes without privileges on all Linux systems. */
const NOBODY = '65534';
const skip = process.platform === 'linux' ? false : 'only Linux has a priority for each thread';

/** The niceness of a process that was started with `niceness`, and that of its thread which calls these functions. */
async function nicenessIn(niceness: number, ...functions: PriorityFunction[]): Promise<string> {
  // The test runner puts a loader into NODE_OPTIONS of every child, which writes files.
  const args = ['-u', 'NODE_OPTIONS', 'nice', '-n', String(niceness), process.execPath, PROGRAM, NOBODY];
  const { stdout } = await run('env', [...args, ...functions]);
  return stdout;
}

t.test('a thread behind decisions is nicer than its process, which stays as it is', { skip }, async t => {
  t.equal(await nicenessIn(0, 'runBehindDecisions'), '0 5');
  t.equal(await nicenessIn(0, 'runLast'), '0 10');
});

t.test(
  'a process that was started with a niceness keeps the distance, up to the limit',
  { skip },
  async t => {
    t.equal(await nicenessIn(7, 'runBehindDecisions'), '7 12');
    t.equal(await nicenessIn(12, 'runLast'), '12 19');
  },
);

t.test('a thread that is nicer already stays so, without privileges', { skip }, async t => {
  t.equal(await nicenessIn(3, 'runLast', 'runBehindDecisions'), '3 13');
});
