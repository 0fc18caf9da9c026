// Prints the path of the Node.js to serve with, for `sluice.sh`. Installs and builds on first use.
import { preparedNode } from './prepare.mjs';
import { attempt } from './step.mjs';

await attempt(async () => {
  process.stdout.write(`${await preparedNode()}\n`);
});
