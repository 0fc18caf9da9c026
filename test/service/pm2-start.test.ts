import { join } from 'node:path';
import t from 'tap';
import { Child } from '../support/child-process.ts';
import { repositoryRoot } from '../support/repository.ts';
import { tempDirectory } from '../support/temp-directory.ts';

/** The settings that the second process has when PM2 is given `env`. */
async function settingsOfSecond(env: Readonly<Record<string, string>>): Promise<Map<string, string>> {
  const child = new Child({
    command: process.execPath,
    args: [join(repositoryRoot(), 'ops/pm2/start.mjs'), 'serve'],
    env: {
      PATH: process.env['PATH'],
      NODE_APP_INSTANCE: '1',
      // Nobody answers: it is not to open any port.
      KVCACHE_URL: join(tempDirectory(t), 'no.sock'),
      KVCACHE_SOCKET_TYPE: 'unix',
      LOG_LEVEL: 'debug',
      LOG_FORMAT: 'json',
      ...env,
    },
  });
  const found = new Map<string, string>();
  await child.line(text => {
    const line = text.startsWith('{') ? JSON.parse(text) : {};
    if (line['@message'] === 'Setting') found.set(line.name, String(line.value));
    return found.has('DEBUG_PORT') && found.has('PULLSTATS_ADDR') ? true : undefined;
  }, 60_000);
  await child.end('SIGKILL', 60_000);
  return found;
}

t.test('the second process has the ports behind those of the first', async t => {
  const settings = await settingsOfSecond({ DEBUG_PORT: '7000', PROMETHEUS_ADDR: '127.0.0.1:7100' });
  t.equal(settings.get('DEBUG_PORT'), '7001');
  t.equal(settings.get('PULLSTATS_ADDR'), '127.0.0.1:7101');
});

t.test('what is empty is as if it were not there', async t => {
  const settings = await settingsOfSecond({ DEBUG_PORT: '', PULLSTATS_ADDR: '' });
  t.equal(settings.get('DEBUG_PORT'), '6071');
  t.equal(settings.get('PULLSTATS_ADDR'), ':9091');
});

t.test('any free port stays any free port', async t => {
  const settings = await settingsOfSecond({ DEBUG_PORT: '0', PULLSTATS_ADDR: ':0' });
  t.equal(settings.get('DEBUG_PORT'), '0');
  t.equal(settings.get('PULLSTATS_ADDR'), ':0');
});
