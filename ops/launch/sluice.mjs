#!/usr/bin/env node
// The command `sluice`. Runs the built program on the pinned Node.js, whatever the host's is: in this process
// when it is the right one, else in a child that gets this one's signals and streams and gives it its end.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { builtMain } from './build.mjs';
import { pinnedNode, runsOn } from './pinned-node.mjs';
import { attempt, root, run, StepFailure } from './step.mjs';

const REMEDY =
  'This Node.js and the native HTTP server are made for systems with glibc, such as Debian or Ubuntu. ' +
  'On Alpine and others with musl, run sluice in a container of the former kind.';

await attempt(async () => {
  if (!existsSync(builtMain) || pinnedNode() === undefined) {
    run({
      command: process.execPath,
      args: [fileURLToPath(new URL('bootstrap.mjs', import.meta.url))],
      advice: `sluice could not be made ready in ${root}; the reason stands above.`,
    });
  }
  const node = pinnedNode();
  if (runsOn(node)) await runHere();
  else await runOn(node);
});

async function runHere() {
  // Names are looked up in threads that wait for the name server. With the usual four, the workers of one tenant, on
  // name servers that do not answer, would keep those of all others waiting. Read when the first of them is needed.
  process.env.UV_THREADPOOL_SIZE ??= '32';
  const { main } = await import(pathToFileURL(builtMain));
  const { processIo } = await import(new URL('io.js', pathToFileURL(builtMain)));
  // Not process.exit: what was written to a pipe may not have left yet.
  process.exitCode = await main(process.argv.slice(2), processIo());
}

async function runOn(node) {
  // A supervisor that listens on an IPC channel (PM2) hears from the child what it would hear from this process.
  const ipc = process.send === undefined ? [] : ['ipc'];
  const child = spawn(node, process.argv.slice(1), { stdio: ['inherit', 'inherit', 'inherit', ...ipc] });
  // It may have ended meanwhile; without a callback that would be an exception that nobody catches.
  child.on('message', message => process.send?.(message, () => {}));
  // Listening also keeps this process alive until the child has ended as it wants to. With Ctrl-C the terminal
  // signals both, so the child sees the signal twice; it has to bear that anyway, since npm does the same.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  const end = await new Promise((resolve, reject) => {
    child.once('error', failure =>
      reject(new StepFailure(`${node} cannot be run: ${failure.message}.\n${REMEDY}`)),
    );
    child.once('exit', (status, signal) => resolve({ status, signal }));
  });
  if (process.connected) process.disconnect();
  if (end.signal === null) {
    process.exitCode = end.status;
    return;
  }
  process.removeAllListeners(end.signal);
  process.kill(process.pid, end.signal);
}
