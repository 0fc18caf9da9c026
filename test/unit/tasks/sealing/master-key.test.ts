import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import {
  MasterKeyRefused,
  openOrMakeMasterKeyFile,
  parseMasterKey,
  readMasterKeyFile,
} from '../../../../src/tasks/sealing/master-key.ts';
import { type Teardown, tempDirectory } from '../../../support/temp-directory.ts';

const BYTES = Buffer.from(Array.from({ length: 32 }, (_, i) => 250 - i));
const posix = process.platform === 'win32' ? { skip: 'files have no mode here' } : {};

/** A directory of the test with these files. */
async function directoryWith(t: Teardown, files: Readonly<Record<string, string>> = {}): Promise<string> {
  const directory = tempDirectory(t);
  for (const [name, content] of Object.entries(files)) await writeFile(join(directory, name), content);
  return directory;
}

/** What was thrown; fails when nothing was. */
async function refusal(run: () => unknown): Promise<MasterKeyRefused> {
  try {
    await run();
  } catch (refused) {
    if (refused instanceof MasterKeyRefused) return refused;
    throw refused;
  }
  throw new Error('it was not refused');
}

t.test('a key is read from base64 of either alphabet, and from hex', async t => {
  const texts = [
    BYTES.toString('base64'),
    BYTES.toString('base64url'),
    BYTES.toString('hex'),
    BYTES.toString('hex').toUpperCase(),
    ` ${BYTES.toString('base64')}\n`,
  ];
  for (const text of texts) {
    const { key, id } = parseMasterKey(text, 'SECRETS_MASTER_KEY');
    t.same(key.export(), BYTES);
    t.match(id, /^[0-9a-f]{16}$/);
    t.equal(id, parseMasterKey(texts[0], 'SECRETS_MASTER_KEY').id);
  }
  t.not(parseMasterKey('00'.repeat(32), 'a').id, parseMasterKey('01'.repeat(32), 'a').id);
});

t.test('invalid keys are rejected, and not quoted', async t => {
  for (const text of [
    '',
    'secret-word',
    'ab'.repeat(31),
    'ab'.repeat(33),
    BYTES.subarray(1).toString('base64'),
  ]) {
    const refused = await refusal(() => parseMasterKey(text, 'SECRETS_MASTER_KEY'));
    t.match(refused.message, /^SECRETS_MASTER_KEY is not a master key: it must be 32 bytes in base64 or hex/);
    if (text !== '') t.notOk(`${refused.message}${refused.stack}`.includes(text));
  }
});

t.test('a key file is read when it is its owner’s alone', async t => {
  const path = join(await directoryWith(t, { key: `${BYTES.toString('base64')}\n` }), 'key');
  await chmod(path, 0o600);
  t.same((await readMasterKeyFile(path)).key.export(), BYTES);
  await chmod(path, 0o400);
  t.same((await readMasterKeyFile(path)).key.export(), BYTES);
});

t.test('a key file that others can reach is refused', posix, async t => {
  const path = join(await directoryWith(t, { key: BYTES.toString('base64') }), 'key');
  for (const mode of [0o640, 0o604, 0o660, 0o620, 0o601]) {
    await chmod(path, mode);
    const { message } = await refusal(() => readMasterKeyFile(path));
    t.match(message, `must be readable by its owner only, but has mode ${mode.toString(8)}: chmod 600 it`);
  }
});

t.test('a link to a key file is judged by the file', posix, async t => {
  const directory = await directoryWith(t, { key: BYTES.toString('base64') });
  await symlink(join(directory, 'key'), join(directory, 'link'));
  await chmod(join(directory, 'key'), 0o644);
  t.match((await refusal(() => readMasterKeyFile(join(directory, 'link')))).message, /owner only/);
  await chmod(join(directory, 'key'), 0o600);
  t.same((await readMasterKeyFile(join(directory, 'link'))).key.export(), BYTES);
});

t.test('no file, a directory, and a file with something else are refused with their path', async t => {
  const directory = await directoryWith(t, { other: 'not-a-key-at-all' });
  await mkdir(join(directory, 'folder'));
  await chmod(join(directory, 'other'), 0o600);
  for (const name of ['missing', 'folder', 'other']) {
    const { message } = await refusal(() => readMasterKeyFile(join(directory, name)));
    t.ok(message.includes(join(directory, name)), message);
    t.notOk(message.includes('not-a-key-at-all'));
  }
});

t.test('the first start makes a key, later ones find it', async t => {
  const directory = await directoryWith(t);
  const path = join(directory, 'master.key');
  const made = await openOrMakeMasterKeyFile(path);
  t.equal((await openOrMakeMasterKeyFile(path)).id, made.id);
  t.equal((await readMasterKeyFile(path)).id, made.id);
  t.same(await readdir(directory), ['master.key'], 'nothing else is left');
  if (process.platform !== 'win32') t.equal((await stat(path)).mode & 0o777, 0o600);
});

t.test('of many that make it at once all get the same', async t => {
  const directory = await directoryWith(t);
  const path = join(directory, 'master.key');
  const made = await Promise.all(Array.from({ length: 16 }, () => openOrMakeMasterKeyFile(path)));
  t.equal(new Set(made.map(({ id }) => id)).size, 1);
  t.same(await readdir(directory), ['master.key']);
});

t.test('a file that is there is never written over', async t => {
  const path = join(await directoryWith(t), 'master.key');
  await writeFile(path, 'spoiled', { mode: 0o600 });
  t.match((await refusal(() => openOrMakeMasterKeyFile(path))).message, /is not a master key/);
  t.equal(await readFile(path, 'utf8'), 'spoiled');
});

t.test('if it cannot be created, the error names the path and the cause', async t => {
  const path = join(await directoryWith(t), 'missing', 'master.key');
  t.match(
    (await refusal(() => openOrMakeMasterKeyFile(path))).message,
    `'${path}' cannot be created: ENOENT`,
  );
});
