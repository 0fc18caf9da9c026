import { fork } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const PROGRAM = new URL(`../../support/measure-old-space${extname(import.meta.url)}`, import.meta.url);

t.test('decisions leave next to nothing in the old space, which few garbage collections empty', async t => {
  // On a busy machine, V8 makes the new space smaller than what is in use at one time, and then moves all of it.
  // A collection at an unlucky moment moves decisions under way. Decisions that are kept show in every process.
  let bytes = Number.POSITIVE_INFINITY;
  for (let tried = 0; tried < 4 && bytes >= 40; tried++) bytes = await measured();
  t.ok(bytes < 40, `${bytes.toFixed(1)} bytes a decision`);
});

async function measured(): Promise<number> {
  const child = fork(fileURLToPath(PROGRAM), { execArgv: [...process.execArgv, '--min-semi-space-size=16'] });
  t.teardown(() => child.kill('SIGKILL'));
  const [bytes] = await once(child, 'message');
  return Number(bytes);
}
