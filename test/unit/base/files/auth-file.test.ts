import { mkdirSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { AuthFile } from '../../../../src/base/files/auth-file.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';
import { outputOf } from '../../../support/tools.ts';

const directory = tempDirectory(t);
const path = join(directory, 'auth');
const file = new AuthFile(path, 'KVCACHE_AUTH_FILE');

t.test('the file holds a password, or user and password; line breaks at its end are left out', async t => {
  const cases = [
    ['s3cret', '', 's3cret'],
    ['s3cret\n', '', 's3cret'],
    ['app:s3cret\r\n\n', 'app', 's3cret'],
    ['app:a:b c', 'app', 'a:b c'],
    [':s3cret', '', 's3cret'],
    [' s3cret ', '', ' s3cret '],
    ['pässword', '', 'pässword'],
    ['x'.repeat(16_384), '', 'x'.repeat(16_384)],
  ] as const;
  for (const [text, username, password] of cases) {
    writeFileSync(path, text);
    t.same(await file.read(), { username, password });
  }
});

t.test('it is read each time, also behind a link that was swapped', async t => {
  const link = join(directory, 'link');
  const linked = new AuthFile(link, 'KVCACHE_AUTH_FILE');
  for (const name of ['first', 'second']) {
    writeFileSync(join(directory, name), name);
    symlinkSync(join(directory, name), link);
    t.match(await linked.read(), { password: name });
    unlinkSync(link);
  }
});

t.test('errors name the setting and the path, and do not quote the content', async t => {
  const MUST = 'it must hold password or user:password';
  const refusal = (at: string) => new AuthFile(at, 'REDIS_AUTH_FILE').read();
  await t.rejects(refusal(join(directory, 'missing')), {
    message: new RegExp(`^REDIS_AUTH_FILE: '.*missing' cannot be read \\(ENOENT: .*\\); ${MUST}$`),
  });
  mkdirSync(join(directory, 'folder'));
  await t.rejects(refusal(join(directory, 'folder')), { message: /folder' cannot be read \(EISDIR/ });
  for (const text of ['', '\n']) {
    writeFileSync(path, text);
    await t.rejects(refusal(path), { message: `REDIS_AUTH_FILE: '${path}' is empty; ${MUST}` });
  }
  writeFileSync(path, 's3cret'.repeat(3_000));
  await t.rejects(refusal(path), {
    message: `REDIS_AUTH_FILE: '${path}' has more than 16384 bytes; ${MUST}`,
  });
});

t.test('a pipe that nobody writes to does not hold the connection up', async t => {
  const pipe = join(directory, 'pipe');
  await outputOf('mkfifo', [pipe]);
  await t.rejects(new AuthFile(pipe, 'REDIS_AUTH_FILE').read(), {
    message: /cannot be read|is empty/,
  });
});
