import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Everything in this folder but test.mjs and its helpers runs on the host's Node.js, before any package is
// there: plain JavaScript, built-in modules only, nothing newer than Node.js 20.

/** The repository's top folder. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

/** The one command for installed files that are missing or damaged. */
export const REPAIR = `Run "npm ci" in ${root} and start again.`;

/** How long a program gets to end after the first signal. Together with npm's own end this stays below 2 s. */
const GRACE_MS = 1_200;

/** A step that did not work. The message says what failed and what to do about it. */
export class StepFailure extends Error {}

/** A step that a signal ended. */
class Interrupted extends StepFailure {
  constructor(signal, doing) {
    super(
      `Interrupted while ${doing}. Nothing is lost: run the same command again, and it repeats this step.`,
    );
    this.signal = signal;
  }
}

/** Tells what is being done. On standard error: standard output belongs to what is launched. */
export function note(text) {
  process.stderr.write(`sluice: ${text}\n`);
}

/**
 * Says what is being `doing`, and runs a program for it in the repository with its output on standard error.
 *
 * A signal that asks this process to end is told to the program, which is killed when it has not ended after
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

/** Passes the first signal on to the child; `signal` is that one, or null. */
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

/** The script behind a command that an installed package brings, to be run with Node.js on every system alike. */
export function scriptOf(packageName, command) {
  const folder = join(root, 'node_modules', packageName);
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return join(folder, typeof bin === 'string' ? bin : bin[command]);
}

/** Runs `work`. A step that fails is told in its own words and makes the exit status 1; a signal ends this process. */
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
