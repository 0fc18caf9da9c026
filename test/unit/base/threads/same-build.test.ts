import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { BuildMark } from '../../../../src/base/threads/same-build.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';

t.test('no thread is started while the files are replaced, nor from other files', t => {
  const path = join(tempDirectory(t), 'mark');
  writeFileSync(path, 'one');
  const mark = new BuildMark(path);
  mark.requireSame();
  for (const change of [() => rmSync(path), () => writeFileSync(path, 'other')]) {
    change();
    t.throws(() => mark.requireSame(), {
      message: /^the files of Sluice were replaced .*: restart the service$/,
    });
  }
  writeFileSync(path, 'one');
  mark.requireSame();
  t.end();
});

t.test('files without a mark at the start are not compared', t => {
  const path = join(tempDirectory(t), 'mark');
  const mark = new BuildMark(path);
  writeFileSync(path, 'one');
  mark.requireSame();
  t.end();
});
