import t from 'tap';
import { checkHttpPort } from '../../../../src/app/ports/http-port.ts';
import { loadSettings } from '../../../../src/settings/load.ts';
import { freePort } from '../../../support/free-port.ts';
import { holdSharedPort } from '../../../support/shared-port.ts';

t.test('serving threads share their port with other processes only with SHARE_PORTS', async t => {
  const { port, release } = await holdSharedPort();
  t.teardown(release);
  const env = { HOST: '127.0.0.1', PORT: String(port) };
  await t.rejects(checkHttpPort(loadSettings(env)), {
    message:
      /^cannot listen on 127\.0\.0\.1:\d+ \(EADDRINUSE\): another process listens on this port; .*or set PORT/,
  });
  await checkHttpPort(loadSettings({ ...env, SHARE_PORTS: 'true' }));
});

t.test('a free port can be opened, and port 0 always', async () => {
  for (const port of [await freePort(), 0]) {
    await checkHttpPort(loadSettings({ HOST: '127.0.0.1', PORT: String(port) }));
  }
});
