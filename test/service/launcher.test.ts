import { join } from 'node:path';
import t from 'tap';
import { Child } from '../support/child-process.ts';
import { hostNode } from '../support/host-node.ts';
import { repositoryRoot } from '../support/repository.ts';
import { type Teardown, tempDirectory } from '../support/temp-directory.ts';

const PATIENCE_MS = 60_000;

/** Starts `sluice` on a Node.js that is not the packaged one, so that the launcher has to hand over. */
function launchOnForeignNode(t: Teardown, args: readonly string[]): Child {
  const ports = { PORT: '0', GRPC_PORT: '0', DEBUG_PORT: '0', HOST: '127.0.0.1', GRPC_HOST: '127.0.0.1' };
  const launcher = new Child({
    command: hostNode(t),
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
  t.teardown(() => launcher.end('SIGKILL', PATIENCE_MS).then(() => {}));
  return launcher;
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
      await launcher.line(line => (/server listening"/.test(line) ? true : undefined), PATIENCE_MS);
      t.same(await launcher.end(signal, PATIENCE_MS), { status: 0, signal: null });
    },
  );
}

for (const signal of ['SIGKILL', 'SIGQUIT'] as const) {
  t.test(`a launcher that ${signal} ends leaves no service behind: it shuts down in order`, async t => {
    const launcher = launchOnForeignNode(t, ['serve', '--quickstart']);
    await launcher.line(line => (/server listening"/.test(line) ? true : undefined), PATIENCE_MS);
    // The service writes to the same pipes, so they are complete when both have ended.
    t.same(await launcher.end(signal, PATIENCE_MS), { status: null, signal });
    t.match(launcher.output, /"Shutdown complete"/);
  });
}
