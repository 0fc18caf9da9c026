import { linkSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Child } from '../support/child-process.ts';
import { repositoryRoot } from '../support/repository.ts';
import { type Teardown, tempDirectory } from '../support/temp-directory.ts';

const PATIENCE_MS = 20_000;

/**
 * Starts `sluice` on a Node.js that is not the packaged one, as a host's is not: the same program at another
 * place, so that the launcher has to hand over. In `build`, since a hard link cannot leave its file system.
 */
function launchOnForeignNode(t: Teardown, args: readonly string[]): Child {
  const node = join(tempDirectory(t, join(repositoryRoot(), 'build')), 'node');
  linkSync(process.execPath, node);
  const ports = { PORT: '0', GRPC_PORT: '0', DEBUG_PORT: '0', HOST: '127.0.0.1', GRPC_HOST: '127.0.0.1' };
  return new Child({
    command: node,
    args: [join(repositoryRoot(), 'ops/launch/sluice.mjs'), ...args],
    env: {
      PATH: process.env['PATH'],
      LOG_FORMAT: 'json',
      LOG_LEVEL: 'info',
      DEBUG_HOST: '127.0.0.1',
      TASKS_DATA_DIRECTORY: tempDirectory(t),
      ...ports,
    },
  });
}

t.test('a command is handed over to the packaged Node.js, and its answer and status come back', async t => {
  const answering = launchOnForeignNode(t, ['--version']);
  t.same(await answering.ended, { status: 0, signal: null });
  t.match(answering.output, /^sluice /);
  const refusing = launchOnForeignNode(t, ['no-such-command']);
  t.same(await refusing.ended, { status: 2, signal: null });
});

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  t.test(
    `${signal} reaches the service behind the launcher, which ends when and as the service does`,
    async t => {
      const launcher = launchOnForeignNode(t, ['serve', '--quickstart']);
      await launcher.line(line => (/"listening"/.test(line) ? true : undefined), PATIENCE_MS);
      t.same(await launcher.end(signal, PATIENCE_MS), { status: 0, signal: null });
    },
  );
}
