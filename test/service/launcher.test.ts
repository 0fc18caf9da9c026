import { readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import t from 'tap';
import { Child } from '../support/child-process.ts';
import { hostNode } from '../support/host-node.ts';
import { repositoryRoot } from '../support/repository.ts';
import { writeRules } from '../support/rule-files.ts';
import { type Teardown, tempDirectory } from '../support/temp-directory.ts';

const PATIENCE_MS = 60_000;

/** Starts a program of this repository on a host whose Node.js is not the packaged one. */
function launch(t: Teardown, command: string, args: readonly string[]): Child {
  const ports = { PORT: '0', GRPC_PORT: '0', DEBUG_PORT: '0', HOST: '127.0.0.1', GRPC_HOST: '127.0.0.1' };
  const launcher = new Child({
    command,
    args,
    env: {
      PATH: [dirname(hostNode(t)), process.env['PATH']].join(delimiter),
      LOG_FORMAT: 'json',
      LOG_LEVEL: 'info',
      DEBUG_HOST: '127.0.0.1',
      // npm starts the quick start, which has tasks.
      TASKS_DATA_DIRECTORY: tempDirectory(t),
      RUNTIME_ROOT: writeRules(tempDirectory(t), { 'config/rules.yaml': 'domain: d\n' }),
      ...ports,
    },
  });
  t.teardown(() => launcher.end('SIGKILL', PATIENCE_MS).then(() => {}));
  return launcher;
}

/** Starts the launcher for systems without a shell, which has to hand over to the packaged Node.js. */
function launchOnForeignNode(t: Teardown, args: readonly string[]): Child {
  return launch(t, hostNode(t), [join(repositoryRoot(), 'ops/launch/sluice.mjs'), ...args]);
}

t.test('the command of a shell becomes the service: one process, on the packaged Node.js', async t => {
  const link = join(tempDirectory(t), 'sluice');
  symlinkSync(join(repositoryRoot(), 'bin/sluice'), link);
  const service = launch(t, link, ['serve']);
  await service.line(line => (/server listening"/.test(line) ? true : undefined), PATIENCE_MS);
  if (process.platform === 'linux') {
    const folder = `/proc/${service.pid}`;
    t.equal(realpathSync(`${folder}/exe`), realpathSync(process.execPath));
    t.equal(readFileSync(`${folder}/task/${service.pid}/children`, 'utf8'), '', 'it has no children');
  }
  t.same(await service.end('SIGTERM', PATIENCE_MS), { status: 0, signal: null });
});

t.test('the command of a shell has the exit status of the program', async t => {
  const refusing = launch(t, join(repositoryRoot(), 'bin/sluice'), ['no-such-command']);
  t.same(await refusing.ended, { status: 2, signal: null });
  t.match(refusing.output, /unknown command "no-such-command"/);
});

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
      const launcher = launchOnForeignNode(t, ['serve']);
      await launcher.line(line => (/server listening"/.test(line) ? true : undefined), PATIENCE_MS);
      t.same(await launcher.end(signal, PATIENCE_MS), { status: 0, signal: null });
    },
  );
}

for (const signal of ['SIGKILL', 'SIGQUIT'] as const) {
  t.test(`a launcher that ${signal} ends leaves no service behind: it shuts down in order`, async t => {
    const launcher = launchOnForeignNode(t, ['serve']);
    await launcher.line(line => (/server listening"/.test(line) ? true : undefined), PATIENCE_MS);
    // The service writes to the same pipes, so they are complete when both have ended.
    t.same(await launcher.end(signal, PATIENCE_MS), { status: null, signal });
    t.match(launcher.output, /"Shutdown complete"/);
  });
}

t.test('an npm that SIGKILL ends leaves no service behind', async t => {
  const npm = process.env['npm_execpath'];
  if (npm === undefined) throw new Error('the tests are run by npm');
  const started = launch(t, process.execPath, [npm, 'start', '--prefix', repositoryRoot()]);
  await started.line(line => (/server listening"/.test(line) ? true : undefined), PATIENCE_MS);
  t.same(await started.end('SIGKILL', PATIENCE_MS), { status: null, signal: 'SIGKILL' });
  t.match(started.output, /npm has ended; shutting down/);
  t.match(started.output, /"Shutdown complete"/);
});
