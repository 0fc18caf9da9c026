import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Everything in this folder but test.mjs and its helpers runs on the host's Node.js, before any package is
// there: plain JavaScript, built-in modules only, nothing newer than Node.js 20.

/** The repository's top folder. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

/** A step that did not work. The message says what failed and what to do about it. */
export class StepFailure extends Error {}

/** Tells what is being done. On standard error: standard output belongs to what is launched. */
export function note(text) {
  process.stderr.write(`sluice: ${text}\n`);
}

/**
 * Runs a program in the repository with its output on standard error, and throws a StepFailure that ends
 * with `advice` unless it exits with 0.
 */
export function run({ command, args, advice, env = process.env, shell = false }) {
  const { error, signal, status } = spawnSync(command, args, {
    cwd: root,
    env,
    shell,
    stdio: ['ignore', 2, 2],
  });
  if (status === 0) return;
  const end = error?.message ?? (signal === null ? `exit status ${status}` : `ended by ${signal}`);
  throw new StepFailure(`"${[command, ...args].join(' ')}" failed: ${end}.\n${advice}`);
}

/** The script behind a command that an installed package brings, to be run with Node.js on every system alike. */
export function scriptOf(packageName, command) {
  const folder = join(root, 'node_modules', packageName);
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return join(folder, typeof bin === 'string' ? bin : bin[command]);
}

/** Runs `work`. A step that fails is told in its own words and makes the exit status 1. */
export async function attempt(work) {
  try {
    await work();
  } catch (failure) {
    if (!(failure instanceof StepFailure)) throw failure;
    process.stderr.write(`\nsluice: ${failure.message}\n`);
    process.exitCode = 1;
  }
}
