// What PM2 starts. Its workers run on the Node.js that PM2 itself was started with. When that is not the pinned one, the
// service runs in a child, whose lines go through the `write` functions that PM2 replaces in its workers.
import { handOver } from '../launch/hand-over.mjs';
import { runsOn } from '../launch/pinned-node.mjs';
import { preparedNode } from '../launch/prepare.mjs';
import { attempt } from '../launch/step.mjs';

/** How long the end waits until the last lines are written. */
const FLUSH_MS = 1_000;

givePortsOfItsOwn();
await attempt(async () => {
  const node = await preparedNode();
  if (runsOn(node)) await import('../launch/program.mjs');
  else process.exitCode = (await handOver(node, process.argv.slice(2), 'relay')).status ?? 1;
});
await linesWritten();
// PM2's own listeners and sockets would keep this process alive, and PM2 would take the service for running.
process.exit();

/**
 * PM2 numbers the processes, and each needs ports of its own for what only it knows: its debug pages (DEBUG_PORT,
 * DEBUG_PORT + 1, ...) and, when they are enabled, its metrics (PULLSTATS_ADDR likewise). PM2's `increment_var` would
 * count on with each reload.
 */
function givePortsOfItsOwn() {
  const { env } = process;
  const instance = Number(env.NODE_APP_INSTANCE ?? 0);
  /** Port 0 is any free one for each of them. What is no port is for the service to refuse, as it was written. */
  const own = address => address.replace(/[1-9][0-9]*$/, port => String(Number(port) + instance));
  env.DEBUG_PORT = own(env.DEBUG_PORT || '6070');
  env.PULLSTATS_ADDR = own(env.PULLSTATS_ADDR || env.PROMETHEUS_ADDR || ':9090');
  delete env.PROMETHEUS_ADDR;
  // Whatever this process starts is not to add it again.
  delete env.NODE_APP_INSTANCE;
}

async function linesWritten() {
  const written = [process.stdout, process.stderr].map(
    stream => new Promise(resolve => stream.write('', 'utf8', resolve)),
  );
  await Promise.race([Promise.all(written), new Promise(resolve => setTimeout(resolve, FLUSH_MS))]);
}
