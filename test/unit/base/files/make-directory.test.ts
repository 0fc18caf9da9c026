import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { makeDirectory } from '../../../../src/base/files/make-directory.ts';
import { smallDisk } from '../../../support/small-disk.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';

const isRoot = process.getuid?.() === 0;
const MODULE = new URL('../../../../src/base/files/make-directory.js', import.meta.url).href;

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

/**
 * The reasons why directories cannot be created. Another process asks, because `mkdir` below /proc may never return, and as
 * another user if `uid` is given.
 */
function reasonsFor(paths: readonly string[], uid?: number): string[] {
  const code = `
    const { makeDirectory } = await import(${JSON.stringify(MODULE)});
    const uid = process.geteuid();
    process.seteuid(${uid ?? 'uid'});
    for (const path of ${JSON.stringify(paths)}) {
      try {
        makeDirectory(path);
        console.log('created');
      } catch (failure) {
        console.log(failure.message);
      }
    }
    // The test runner writes a file at the end of each process.
    process.seteuid(uid);`;
  const { stdout, stderr, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    encoding: 'utf8',
    timeout: 10_000,
  });
  if (signal !== null) throw new Error(`creating a directory has not ended: ${paths.join(', ')}`);
  if (stderr !== '') throw new Error(stderr);
  return stdout.trimEnd().split('\n');
}

t.test('missing directories are created for their owner only, whatever the umask is', async t => {
  const root = tempDirectory(t);
  chmodSync(root, 0o755);
  for (const umask of [0o000, 0o077, 0o777]) {
    const path = join(root, String(umask), 'a');
    const before = process.umask(umask);
    try {
      makeDirectory(join(path, 'b'));
    } finally {
      process.umask(before);
    }
    t.same([join(path, '..'), path, join(path, 'b')].map(modeOf), [0o700, 0o700, 0o700]);
  }
  t.equal(modeOf(root), 0o755, 'and existing ones are left alone');
});

t.test('an existing directory is used as it is, also behind a link', async t => {
  const root = tempDirectory(t);
  const [directory, link] = [join(root, 'directory'), join(root, 'link')];
  mkdirSync(directory);
  chmodSync(directory, 0o750);
  symlinkSync(directory, link);
  makeDirectory(directory);
  makeDirectory(link);
  makeDirectory(join(link, 'below'));
  t.equal(modeOf(directory), 0o750);
  t.ok(statSync(join(directory, 'below')).isDirectory());
});

t.test('a file at the path, or above it, is named', async t => {
  const root = tempDirectory(t);
  const file = join(root, 'file');
  writeFileSync(file, '');
  for (const path of [file, join(file, 'a', 'b')])
    t.throws(() => makeDirectory(path), { message: `${file} is not a directory (ENOTDIR)` });
  const dangling = join(root, 'dangling');
  symlinkSync(join(root, 'nowhere'), dangling);
  t.throws(() => makeDirectory(join(dangling, 'a')), { message: `EEXIST in ${root}` });
});

t.test(
  'a file system that accepts no directories is an error at once',
  { skip: process.platform !== 'linux' },
  async t => {
    t.match(reasonsFor(['/proc/sluice/data', '/sys/sluice', '/dev/full/data']), [
      'the file system of /proc accepts no new directories (ENOENT)',
      /^(the file system of \/sys accepts no new directories|\/sys is on a file system that is mounted read-only|this user has no permission in \/sys) /,
      '/dev/full is not a directory (ENOTDIR)',
    ]);
  },
);

t.test('a file system that is mounted read-only, and a directory of another user', async t => {
  const mounted = smallDisk(t, '1m,ro');
  if (mounted === null || !isRoot) return t.comment('this process may not mount a file system');
  const theirs = tempDirectory(t);
  chmodSync(theirs, 0o755);
  t.same(reasonsFor([join(mounted, 'data')]), [
    `${mounted} is on a file system that is mounted read-only (EROFS)`,
  ]);
  const closed = join(theirs, 'closed');
  mkdirSync(closed, { mode: 0o700 });
  t.same(reasonsFor([join(theirs, 'data'), join(closed, 'data', 'deeper')], 65_534), [
    `this user has no permission in ${theirs} (EACCES)`,
    `this user cannot access ${join(closed, 'data', 'deeper')} (EACCES)`,
  ]);
});
