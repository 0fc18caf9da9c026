import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { REPAIR, StepFailure } from './step.mjs';

/** The environment variable with the number of the descriptor that closes when this process ends. */
export const LAUNCHER_PIPE = 'SLUICE_LAUNCHER_PIPE';

const PROGRAM = fileURLToPath(new URL('program.mjs', import.meta.url));
const PIPE_DESCRIPTOR = 3;

/** Maximum number of characters that are collected while waiting for the end of a line. */
const MAX_LINE_LENGTH = 64 * 1024;

/**
 * Runs the program with `args` on `node` in a child process, forwards signals to it, and returns how it ended. If this
 * process is killed, the child shuts down by itself.
 *
 * With `inherit`, the child uses the output of this process. With `relay`, its lines are written with
 * `process.stdout.write` and `process.stderr.write`, which supervisors such as PM2 replace to collect lines.
 */
export async function handOver(node, args, output) {
  const stdio = output === 'inherit' ? 'inherit' : 'pipe';
  // A supervisor that listens on an IPC channel (PM2) gets the child's messages as if they came from this process.
  const ipc = process.send === undefined ? [] : ['ipc'];
  const child = spawn(node, [PROGRAM, ...args], {
    stdio: ['inherit', stdio, stdio, 'pipe', ...ipc],
    // As sluice.sh does.
    env: { MALLOC_ARENA_MAX: '2', ...process.env, [LAUNCHER_PIPE]: String(PIPE_DESCRIPTOR) },
  });
  const pipe = child.stdio[PIPE_DESCRIPTOR];
  pipe.on('error', () => {});
  if (output === 'relay') {
    relayLines(child.stdout, process.stdout);
    relayLines(child.stderr, process.stderr);
  }
  // The child may have ended meanwhile. Without a callback, that would be an uncaught exception.
  child.on('message', message => process.send?.(message, () => {}));
  // The listeners also keep this process alive until the child has shut down. With Ctrl-C, the terminal signals both
  // processes, so the child receives the signal twice. npm does the same.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  const end = await endOf(child, node);
  pipe.destroy();
  return end;
}

async function endOf(child, node) {
  try {
    // `close` is emitted when the child has ended and all of its output has been read.
    const [status, signal] = await once(child, 'close');
    return { status, signal };
  } catch (failure) {
    throw new StepFailure(`${node} cannot be run: ${failure.message}.\n${REPAIR}`);
  }
}

/** Writes whole lines, because parts of lines would mix if several processes write to one file. */
function relayLines(from, to) {
  let rest = '';
  const write = text => {
    if (text !== '') to.write(text, 'utf8', () => {});
  };
  from.setEncoding('utf8');
  from.on('data', text => {
    const all = rest + text;
    const end = all.length > MAX_LINE_LENGTH ? all.length : all.lastIndexOf('\n') + 1;
    write(all.slice(0, end));
    rest = all.slice(end);
  });
  from.once('end', () => write(rest));
}
