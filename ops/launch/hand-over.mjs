import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { REPAIR, StepFailure } from './step.mjs';

/** The variable that tells the child which descriptor closes when this process ends. */
export const LAUNCHER_PIPE = 'SLUICE_LAUNCHER_PIPE';

const PROGRAM = fileURLToPath(new URL('program.mjs', import.meta.url));
const PIPE_DESCRIPTOR = 3;

/** Lines are relayed whole, but text without a line feed is not collected beyond this many characters. */
const MAX_LINE_LENGTH = 64 * 1024;

/**
 * Runs the program with `args` on `node` in a child, which gets this process's signals, and returns how it ended. When
 * this process is killed, the child shuts down by itself.
 *
 * `inherit` gives the child this process's output. `relay` writes the child's lines through `process.stdout` and
 * `process.stderr`: a supervisor that replaces their `write`, as PM2 does, gets no line otherwise.
 */
export async function handOver(node, args, output) {
  const stdio = output === 'inherit' ? 'inherit' : 'pipe';
  // A supervisor that listens on an IPC channel (PM2) gets the child's messages as if they came from this process.
  const ipc = process.send === undefined ? [] : ['ipc'];
  const child = spawn(node, [PROGRAM, ...args], {
    stdio: ['inherit', stdio, stdio, 'pipe', ...ipc],
    env: { ...process.env, [LAUNCHER_PIPE]: String(PIPE_DESCRIPTOR) },
  });
  const pipe = child.stdio[PIPE_DESCRIPTOR];
  pipe.on('error', () => {});
  if (output === 'relay') {
    relayLines(child.stdout, process.stdout);
    relayLines(child.stderr, process.stderr);
  }
  // It may have ended meanwhile; without a callback that would be an exception that nobody catches.
  child.on('message', message => process.send?.(message, () => {}));
  // Listening also keeps this process alive until the child has ended as it wants to. With Ctrl-C the terminal
  // signals both, so the child sees the signal twice; it has to bear that anyway, since npm does the same.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  const end = await endOf(child, node);
  pipe.destroy();
  return end;
}

async function endOf(child, node) {
  try {
    // Once the child has ended and all of its output has been read.
    const [status, signal] = await once(child, 'close');
    return { status, signal };
  } catch (failure) {
    throw new StepFailure(`${node} cannot be run: ${failure.message}.\n${REPAIR}`);
  }
}

/** Several processes may write to one file, where parts of lines would mix. */
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
