import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { adminToken, reportUnreadableToken } from '../../../../src/app/operator/admin-token.ts';
import { loadSettings } from '../../../../src/settings/load.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';

const TOKEN = 'a-token-of-thirty-two-characters';

t.test('the token is ADMIN_TOKEN; without it there is none', async t => {
  const clock = new ManualClock(0);
  t.equal(await adminToken(loadSettings({ ADMIN_TOKEN: TOKEN }), clock)(), TOKEN);
  t.equal(await adminToken(loadSettings({}), clock)(), null);
});

t.test('ADMIN_TOKEN_FILE is read again a second later, so that the token can be rotated', async t => {
  const file = join(tempDirectory(t), 'token');
  const clock = new ManualClock(0);
  writeFileSync(file, `${TOKEN}\n`);
  const read = adminToken(loadSettings({ ADMIN_TOKEN_FILE: file }), clock);
  t.equal(await read(), TOKEN);
  writeFileSync(file, 'another-token-with-characters');
  t.equal(await read(), TOKEN);
  clock.advance(1_000);
  t.equal(await read(), 'another-token-with-characters');
});

t.test('a file without a token is an error that names setting and file, not the content', async t => {
  const file = join(tempDirectory(t), 'token');
  const clock = new ManualClock(0);
  const read = adminToken(loadSettings({ ADMIN_TOKEN_FILE: file }), clock);
  await t.rejects(read(), { message: new RegExp(`ADMIN_TOKEN_FILE: '${file}' cannot be read`) });
  for (const content of ['', 'short', 'two words that are long enough', 'x'.repeat(5_000)]) {
    clock.advance(1_000);
    writeFileSync(file, content);
    await t.rejects(read(), {
      message:
        /^ADMIN_TOKEN_FILE: '.*' .*must hold one token of 16 to 512 printable characters without spaces$/,
    });
  }
  rmSync(file);
});

t.test('a short token, and both settings at once, are faults of the settings', async t => {
  t.throws(() => loadSettings({ ADMIN_TOKEN: 'short' }), /at least 16 characters/);
  t.throws(() => loadSettings({ ADMIN_TOKEN: TOKEN, ADMIN_TOKEN_FILE: '/token' }), /given twice/);
});

t.test('a file that cannot be read is an error in the log at the start', async t => {
  const file = join(tempDirectory(t), 'token');
  const clock = new ManualClock(0);
  const logger = new KeepingLogger();
  const read = adminToken(loadSettings({ ADMIN_TOKEN_FILE: file }), clock);
  await reportUnreadableToken(read, logger);
  t.match(logger.lines, [{ level: 'error' }]);
  t.match(JSON.stringify(logger.lines), `ADMIN_TOKEN_FILE: '${file}' cannot be read`);
  writeFileSync(file, TOKEN);
  clock.advance(1_000);
  await reportUnreadableToken(read, logger);
  t.equal(logger.lines.length, 1);
});
