#!/usr/bin/env node
// The command `sluice`. Runs the built program on the packaged Node.js, whatever the host's is: in this process
// when it is the right one, else in a child. Where the packaged one does not run, the host's serves.
import { handOver } from './hand-over.mjs';
import { runsOn } from './pinned-node.mjs';
import { preparedNode } from './prepare.mjs';
import { attempt } from './step.mjs';

await attempt(async () => {
  const node = await preparedNode();
  if (runsOn(node)) await import('./program.mjs');
  else endLike(await handOver(node, process.argv.slice(2), 'inherit'));
});

/** Ends by the same status or signal. */
function endLike({ status, signal }) {
  if (process.connected) process.disconnect();
  if (signal === null) {
    process.exitCode = status;
    return;
  }
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}
