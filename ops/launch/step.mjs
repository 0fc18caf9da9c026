import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Except for test.mjs and its helpers, the files in this folder run on the host's Node.js before packages are
// installed.
// They are plain JavaScript, import only built-in modules, and need no Node.js newer than 20.

/** The repository's top folder. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

/** Advice for installed files that are missing or damaged. */
export const REPAIR = `Run "npm ci" in ${root} and start again.`;

/** How long a program may take to end after a signal. Together with the shutdown of npm, this is below 2 s. */
const GRACE_MS = 1_200;

/** Error of a failed step. The message says what failed and what to do about it. */
export class StepFailure extends Error {}

/** Error of a step that was interrupted by a signal. */
class Interrupted extends StepFailure {
  constructor(signal, doing) {
    super(`Interrupted while ${doing}. Run the same command again to repeat this step.`);
    this.signal = signal;
  }
}

/** Prints a progress message to standard error. Standard output belongs to the launched program. */
export function note(text) {
  process.stderr.write(`sluice: ${text}\n`);
}

/**
 * Prints `doing` as the progress message and runs a program in the repository, with its output on standard error.
 *
 * Signals that ask this process to end are forwarded to the program, which is killed if it has not ended after
 * `graceMs`. `started` receives its process id.
 *
 * @throws StepFailure that ends with `advice`, unless the program exits with 0
 */
export async function run({
  doing,
  command,
  args,
  advice,
  env = process.env,
  shell = false,
  graceMs = GRACE_MS,
  started = () => {},
}) {
  note(doing);
  const child = spawn(command, args, { cwd: root, env, shell, stdio: ['ignore', 2, 2] });
  const interruption = interruptible(child, doing, graceMs);
  try {
    if (child.pid !== undefined) started(child.pid);
    const [status, signal] = await once(child, 'exit');
    if (interruption.signal !== null) throw new Interrupted(interruption.signal, doing);
    if (status === 0) return;
    throw new Error(signal === null ? `exit status ${status}` : `ended by ${signal}`);
  } catch (failure) {
    if (failure instanceof StepFailure) throw failure;
    throw new StepFailure(`"${[command, ...args].join(' ')}" failed: ${failure.message}.\n${advice}`);
  } finally {
    interruption.release();
  }
}

/** Forwards the first signal to the child. `signal` is that signal, or null. */
function interruptible(child, doing, graceMs) {
  let timer;
  const interruption = { signal: null, release };
  const listeners = ['SIGINT', 'SIGTERM', 'SIGHUP'].map(signal => [signal, () => interrupt(signal)]);
  for (const [signal, listener] of listeners) process.on(signal, listener);
  return interruption;

  function interrupt(signal) {
    if (interruption.signal !== null) return;
    interruption.signal = signal;
    note(`${signal} received while ${doing}; stopping`);
    child.kill('SIGTERM');
    if (graceMs !== Infinity) timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
  }

  function release() {
    clearTimeout(timer);
    for (const [signal, listener] of listeners) process.off(signal, listener);
  }
}

/** Returns the path of the script of a command in an installed package, so that Node.js can run it on every system. */
export function scriptOf(packageName, command) {
  const folder = join(root, 'node_modules', packageName);
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return join(folder, typeof bin === 'string' ? bin : bin[command]);
}

/**
 * Runs `work`. If a step fails, its message is printed and the exit status is 1. If a signal interrupted the step, this
 * process ends with that signal.
 */
export async function attempt(work) {
  try {
    await work();
  } catch (failure) {
    if (!(failure instanceof StepFailure)) throw failure;
    process.stderr.write(`\nsluice: ${failure.message}\n`);
    process.exitCode = 1;
    if (failure instanceof Interrupted) process.kill(process.pid, failure.signal);
  }
}
