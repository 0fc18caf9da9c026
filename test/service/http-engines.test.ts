import t, { type Test } from 'tap';
import { writeRules } from '../support/rule-files.ts';
import { ServiceProcess, startService } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { RawConnection } from '../unit/transports/http/raw-connection.ts';

/** As on a machine that the binary of uWebSockets.js is not for. */
const WITHOUT_BINARY = `--import=data:text/javascript,${encodeURIComponent(
  "import { registerHooks } from 'node:module';" +
    'registerHooks({ resolve(name, context, next) {' +
    "if (name === 'uWebSockets.js') throw new Error('The binary is missing.\\n\\nError: no such file');" +
    'return next(name, context); } });',
)}`;

async function start(t: Test, env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  const rules = writeRules(tempDirectory(t), { 'config/rules.yaml': 'domain: d\n' });
  const service = await startService({ env: { RUNTIME_ROOT: rules, ...env } });
  t.teardown(() => service.terminate());
  return service;
}

/** The status of an HTTP/1.0 request, which tells the engines apart. */
async function statusOfHttp10(address: string): Promise<number> {
  const connection = await RawConnection.open(Number(address.split(':')[1]));
  const { status } = await connection.ask('GET /healthz HTTP/1.0\r\n\r\n');
  connection.destroy();
  return status;
}

const TELLS = 'uWebSockets.js could not be loaded';

const HEADS = { HTTP_MAX_HEADER_BYTES: '40000' };

async function boundsHeads(t: Test, address: string): Promise<void> {
  const status = async (bytes: number) =>
    (await fetch(`http://${address}/healthz`, { headers: { 'X-Long': 'x'.repeat(bytes) } })).status;
  t.equal(await status(39_000), 200);
  t.equal(await status(45_000), 431);
}

t.test('HTTP_SERVER_ENGINE=node serves HTTP/1.0 on the HTTP and debug ports', async t => {
  const service = await start(t, { HTTP_SERVER_ENGINE: 'node', ...HEADS });
  t.equal(await statusOfHttp10(service.http), 200);
  t.equal(await statusOfHttp10(service.debug), 404);
  t.notMatch(service.output, TELLS);
  await boundsHeads(t, service.http);
});

t.test('without HTTP_SERVER_ENGINE uWebSockets.js serves where it loads', async t => {
  const service = await start(t, HEADS);
  t.equal(await statusOfHttp10(service.http), 505);
  await boundsHeads(t, service.http);
});

t.test('tasks are served by Node.js, and not at all with HTTP_SERVER_ENGINE=uws', async t => {
  const tasks = {
    TASKS_ENABLED: 'true',
    TASKS_DATA_DIRECTORY: tempDirectory(t),
    SECRETS_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
  };
  const service = await start(t, tasks);
  t.equal(await statusOfHttp10(service.http), 200);
  t.notMatch(service.output, TELLS);
  const refused = new ServiceProcess({ env: { ...tasks, HTTP_SERVER_ENGINE: 'uws' } });
  t.teardown(() => refused.terminate());
  t.equal((await refused.ended).status, 2);
  t.match(refused.output, /cannot serve tasks .*set HTTP_SERVER_ENGINE to auto or node/);
});

t.test('where uWebSockets.js does not load, Node.js serves, and one line says why', async t => {
  const service = await start(t, { NODE_OPTIONS: WITHOUT_BINARY });
  t.equal(await statusOfHttp10(service.http), 200);
  const lines = service.logs.filter(line => String(line['@message']).startsWith(TELLS));
  t.match(lines, [{ level: 'warning', error: /no such file$/, node: process.version }]);
});

t.test('HTTP_SERVER_ENGINE=uws does not start where it does not load', async t => {
  const service = new ServiceProcess({ env: { NODE_OPTIONS: WITHOUT_BINARY, HTTP_SERVER_ENGINE: 'uws' } });
  t.teardown(() => service.terminate());
  t.equal((await service.ended).status, 2);
  t.match(service.output, /HTTP_SERVER_ENGINE=uws: uWebSockets\.js does not load .*no such file/);
});
