import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { extname } from 'node:path';
import t from 'tap';
import { Child } from '../../support/child-process.ts';

const PATIENCE_MS = 10_000;

function runScript(script: string): Child {
  return new Child({
    command: process.execPath,
    args: ['--input-type=module', '-e', script],
    env: process.env,
  });
}

t.test('resolves with what is made of the first line that fits', async t => {
  const child = runScript("console.log('one'); console.error('port=7'); console.log('port=8');");
  const port = await child.line(line => /port=(\d+)/.exec(line)?.[1], PATIENCE_MS);
  t.match(port, /^[78]$/);
  t.same(await child.ended, { status: 0, signal: null });
  t.match(child.output, /one\n/);
});

t.test('a process that ends before it writes the line is reported with its output', async t => {
  const child = runScript("console.error('no such file'); process.exitCode = 3;");
  const never = child.line(() => undefined, PATIENCE_MS);
  await t.rejects(never, { message: /^node ended with status 3\. It wrote:\nno such file\n$/ });
});

t.test('a missing line is reported after the timeout', async t => {
  const child = runScript('setInterval(() => {}, 1000);');
  await t.rejects(
    child.line(() => undefined, 1),
    { message: /has not written the awaited line after 1 ms/ },
  );
  t.same(await child.end('SIGTERM', PATIENCE_MS), { status: null, signal: 'SIGTERM' });
});

t.test('a process that ignores the signal is killed', async t => {
  const child = runScript(
    "process.on('SIGTERM', () => {}); console.log('ready'); setInterval(() => {}, 1000);",
  );
  await child.line(line => (line === 'ready' ? true : undefined), PATIENCE_MS);
  t.same(await child.end('SIGTERM', 1), { status: null, signal: 'SIGKILL' });
});

t.test('a program that does not exist is reported', async t => {
  const child = new Child({ command: 'no-such-program', args: [] });
  await t.rejects(child.ended, { message: /no-such-program cannot be started/ });
  t.equal(child.pid, -1);
});

t.test('no child is left behind when the test process crashes', async t => {
  const server = createServer().listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const connected = once(server, 'connection');
  const { port } = server.address() as AddressInfo;
  const module = new URL(`../../support/child-process${extname(import.meta.url)}`, import.meta.url);
  const child = `require('node:net').connect(${port}, '127.0.0.1', () => console.log('up')).resume()`;
  const crashing = runScript(`
    const { Child } = await import(${JSON.stringify(module.href)});
    const child = new Child({ command: process.execPath, args: ['-e', ${JSON.stringify(child)}] });
    await child.line(line => (line === 'up' ? true : undefined), ${PATIENCE_MS});
    throw new Error('crash');`);
  const [socket] = (await connected) as [Socket];
  const gone = new Promise(resolve =>
    socket
      .once('close', resolve)
      .once('error', () => {})
      .resume(),
  );
  t.match(await crashing.ended, { status: 1 });
  await gone;
  t.match(crashing.output, /Error: crash/);
});
