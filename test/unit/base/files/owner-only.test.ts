import { chmodSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import {
  createForOwner,
  logOpenToOthers,
  type OpenToOthers,
  restrictToOwner,
} from '../../../../src/base/files/owner-only.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

function fileOf(t: Test, mode: number): string {
  const path = join(tempDirectory(t), 'file');
  writeFileSync(path, 'text');
  chmodSync(path, mode);
  return path;
}

t.test('a file is created for its owner, whatever the umask is; an existing one is left alone', async t => {
  const directory = tempDirectory(t);
  for (const umask of [0o000, 0o777]) {
    const path = join(directory, String(umask));
    const before = process.umask(umask);
    try {
      createForOwner(path);
    } finally {
      process.umask(before);
    }
    t.equal(modeOf(path), 0o600);
  }
  const existing = fileOf(t, 0o640);
  createForOwner(existing);
  t.match({ mode: modeOf(existing), size: statSync(existing).size }, { mode: 0o640, size: 4 });
  createForOwner(join(directory, 'missing', 'file'));
});

t.test('files that others can use are restricted and named with their mode', async t => {
  const [open, group, own] = [fileOf(t, 0o644), fileOf(t, 0o660), fileOf(t, 0o600)];
  const link = join(tempDirectory(t), 'link');
  symlinkSync(open, link);
  const directory = join(tempDirectory(t), 'directory');
  mkdirSync(directory);
  t.same(restrictToOwner([link, group, own, directory, `${own}-wal`]), [
    { path: link, mode: '644', failure: null },
    { path: group, mode: '660', failure: null },
  ]);
  t.same([open, group, own].map(modeOf), [0o600, 0o600, 0o600]);
  t.not(modeOf(directory), 0o600);
  t.same(restrictToOwner([link, group]), []);
});

t.test('they are one line of the log, and so is a mode that cannot be changed', async t => {
  const logger = new KeepingLogger();
  const restricted: OpenToOthers = { path: 'a', mode: '644', failure: null };
  logOpenToOthers(logger, []);
  logOpenToOthers(logger, [restricted, { ...restricted, path: 'b', mode: '640' }]);
  logOpenToOthers(logger, [restricted, { path: 'c', mode: '664', failure: 'EPERM' }]);
  t.match(logger.lines, [
    { level: 'warning', message: /was changed to 0600/, fields: { path: 'a, b', mode: '644, 640' } },
    {
      level: 'warning',
      message: /cannot be changed; set it to 0600/,
      fields: { path: 'c', mode: '664', error: 'EPERM' },
    },
  ]);
  t.equal(logger.lines.length, 2);
});
