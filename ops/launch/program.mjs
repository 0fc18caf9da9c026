// Runs the built program in this process, which runs on the Node.js that `pinnedNode` names: for the command `sluice`,
// or as the child of a launcher that runs on another one.
import { enableCompileCache } from 'node:module';
import { Socket } from 'node:net';
import { pathToFileURL } from 'node:url';
import { builtMain, compiledCode } from './build.mjs';
import { LAUNCHER_PIPE } from './hand-over.mjs';
import { importInstalled } from './import-installed.mjs';
import { attempt, note } from './step.mjs';

/** How often the service looks whether npm still runs that has started it. */
const LOOK_FOR_NPM_MS = 1_000;

endWithLauncher();
endWithNpm();
// Threads take the folder from the environment. Without effect if the folder cannot be written, as in the image.
process.env.NODE_COMPILE_CACHE ??= compiledCode;
enableCompileCache();
// Host names are resolved in threads that block until the name server answers. With the default of four threads,
// workers
// of one tenant whose name servers do not answer would block those of all other tenants. Node.js reads the variable
// when
// it needs the first thread, which is before Sluice reads the settings.
if (mayServeTasks()) process.env.UV_THREADPOOL_SIZE ??= '32';
await attempt(async () => {
  const { main } = await importInstalled(pathToFileURL(builtMain));
  const { processIo } = await importInstalled(new URL('terminal/io.js', pathToFileURL(builtMain)));
  // Not process.exit: what was written to a pipe may not have left yet.
  process.exitCode = await main(process.argv.slice(2), processIo());
});

/** False only if the task service is certainly disabled. */
function mayServeTasks() {
  const { TASKS_ENABLED: value = '' } = process.env;
  return (
    process.argv.some(argument => /^--?quickstart/.test(argument)) || !/^(?:0|f|false|)$/i.test(value.trim())
  );
}

/**
 * Shuts down when the launcher ends. The launcher has the other end of a pipe and never writes to it. The pipe closes
 * when the launcher ends, even if it is killed, and then this process shuts down as on SIGTERM.
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

/**
 * Shuts down when `npm start` of this clone has ended. npm forwards signals, but it cannot if it is killed. In all other
 * cases, a process whose parent has ended keeps serving.
 */
function endWithNpm() {
  const { npm_lifecycle_event: script, npm_package_name: name } = process.env;
  if (script !== 'start' || name !== 'sluice') return;
  const npm = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === npm) return;
    clearInterval(timer);
    note('npm has ended; shutting down');
    process.kill(process.pid, 'SIGTERM');
  }, LOOK_FOR_NPM_MS);
  timer.unref();
}
