import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { adminToken } from '../../../src/app/operator/admin-token.ts';
import { loadMasterKeys } from '../../../src/app/tasks/tasks-config.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { asError } from '../../../src/base/fault.ts';
import { readSecret } from '../../../src/base/files/auth-file.ts';
import { describeSettings, loadSettings } from '../../../src/settings/load.ts';
import { tempDirectory } from '../../support/temp-directory.ts';

const TOKEN = 's3cret'.repeat(4);
const KEY = randomBytes(32).toString('base64');

/** The settings with the path of a file with a secret, the secret, and how the file is read. */
const FILES: readonly (readonly [
  setting: string,
  secret: string,
  read: (env: Readonly<Record<string, string>>) => Promise<unknown>,
])[] = [
  [
    'ADMIN_TOKEN_FILE',
    TOKEN,
    async env => await adminToken(loadSettings({ REDIS_URL: 'h:1', ...env }), systemClock)(),
  ],
  [
    'SECRETS_MASTER_KEY_FILE',
    KEY,
    async env => await loadMasterKeys(loadSettings({ REDIS_URL: 'h:1', ...env }), 'refuse'),
  ],
  [
    'REDIS_AUTH_FILE',
    TOKEN,
    async env =>
      await readSecret(
        loadSettings({ REDIS_URL: 'h:1', ...env }).redisAuthFile,
        'REDIS_AUTH_FILE',
        'password',
      ),
  ],
  [
    'TASKS_POSTGRES_PASSWORD_FILE',
    TOKEN,
    async env =>
      await readSecret(
        loadSettings(env).tasksPostgresPasswordFile,
        'TASKS_POSTGRES_PASSWORD_FILE',
        'the password',
      ),
  ],
];

for (const [setting, secret, read] of FILES) {
  t.test(`${setting}: a secret instead of the path is named and not shown`, async t => {
    const failure = await read({ [setting]: secret }).then(
      () => 'it was read',
      thrown => asError(thrown).message,
    );
    t.match(
      failure,
      new RegExp(`^${setting}: its value is not the path of a file, .*; write the path of a file`),
    );
    t.notMatch(failure, secret);
    const shown = describeSettings(loadSettings({ REDIS_URL: 'h:1', [setting]: secret }));
    t.notMatch(JSON.stringify(shown), secret);
    t.match(JSON.stringify(shown), `{"name":"${setting}","value":"***"`);
  });

  t.test(`${setting}: a path without a file is shown`, async t => {
    const path = join(tempDirectory(t), 'no', 'file');
    await t.rejects(read({ [setting]: path }), {
      message: new RegExp(`^${setting}: '${path}' cannot be read`),
    });
  });

  t.test(`${setting}: a line break at the end of the file does not matter`, async t => {
    const path = join(tempDirectory(t), 'file');
    writeFileSync(path, `${secret}\n`, { mode: 0o600 });
    await t.resolves(read({ [setting]: path }));
  });
}

t.test('a master key instead of the path is not made the name of a new file', async t => {
  const settings = loadSettings({ SECRETS_MASTER_KEY_FILE: KEY });
  await t.rejects(loadMasterKeys(settings, 'make'), {
    message: /^SECRETS_MASTER_KEY_FILE: its value is not the path/,
  });
});
