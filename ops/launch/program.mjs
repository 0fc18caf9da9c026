// Runs the built program in this process, which runs on the Node.js that `pinnedNode` names: for the command `sluice`,
// or as the child of a launcher that runs on another one.
import { Socket } from 'node:net';
import { pathToFileURL } from 'node:url';
import { builtMain } from './build.mjs';
import { LAUNCHER_PIPE } from './hand-over.mjs';
import { importInstalled } from './import-installed.mjs';
import { attempt } from './step.mjs';

endWithLauncher();
// Names are looked up in threads that wait for the name server. With the usual four, the workers of one tenant, on
// name servers that do not answer, would keep those of all others waiting. Read when the first of them is needed, which
// is before the settings are.
if (mayServeTasks()) process.env.UV_THREADPOOL_SIZE ??= '32';
await attempt(async () => {
  const { main } = await importInstalled(pathToFileURL(builtMain));
  const { processIo } = await importInstalled(new URL('terminal/io.js', pathToFileURL(builtMain)));
  // Not process.exit: what was written to a pipe may not have left yet.
  process.exitCode = await main(process.argv.slice(2), processIo());
});

/** False only where the task service is certain to be disabled. */
function mayServeTasks() {
  const { TASKS_ENABLED: value = '' } = process.env;
  return (
    process.argv.some(argument => /^--?quickstart/.test(argument)) || !/^(?:0|f|false|)$/i.test(value.trim())
  );
}

/**
 * The launcher holds the other end of a pipe and never writes to it. The pipe closes when the launcher ends, whatever
 * ended it, and then this process stops as it does on SIGTERM: nobody is left to stop it.
 */
function endWithLauncher() {
  const descriptor = process.env[LAUNCHER_PIPE];
  // Programs that this process starts do not have the pipe.
  delete process.env[LAUNCHER_PIPE];
  if (descriptor === undefined) return;
  const pipe = new Socket({ fd: Number(descriptor), readable: true, writable: false });
  pipe.on('error', () => {});
  pipe.once('close', () => process.kill(process.pid, 'SIGTERM'));
  pipe.resume();
  pipe.unref();
}
