// The command `sluice` without a shell (see `sluice.sh`). It runs the built program on the packaged Node.js: in this
// process if this already is the packaged one, otherwise in a child process. On systems that cannot run the packaged
// Node.js, the host's is used.
import { handOver } from './hand-over.mjs';
import { runsOn } from './pinned-node.mjs';
import { preparedNode } from './prepare.mjs';
import { attempt } from './step.mjs';

await attempt(async () => {
  const node = await preparedNode();
  if (runsOn(node)) await import('./program.mjs');
  else endLike(await handOver(node, process.argv.slice(2), 'inherit'));
});

/** Exits with the exit status or the signal of the child. */
function endLike({ status, signal }) {
  if (process.connected) process.disconnect();
  if (signal === null) {
    process.exitCode = status;
    return;
  }
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}
