import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import promises from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { installRules } from '../../../../src/app/rehearsal/install-rules.ts';
import { RehearsalRefused } from '../../../../src/rehearsal/rehearsals.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';
import { wrapBuiltin } from '../../../support/wrapped-builtin.ts';
import { startSource } from '../../rules/source/started-source.ts';

const RELEASES = 'current';

/** Rule files in `config` below a root, or below the link to a root, and a source that has read them. */
async function site(t: Test, files: Readonly<Record<string, string>>, { isLinked = false } = {}) {
  const directory = tempDirectory(t);
  const config = join(directory, 'v1/config');
  mkdirSync(config, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(config, name), text);
  symlinkSync('v1', join(directory, RELEASES));
  const root = join(directory, isLinked ? RELEASES : 'v1');
  const { source, loader } = await startSource(t, { root, watchRoot: true });
  const settings = {
    runtimeRoot: root,
    runtimeSubdirectory: '',
    runtimeAppDirectory: 'config',
    runtimeIgnoreDotFiles: false,
  };
  const install = (texts: Readonly<Record<string, string>>) =>
    installRules(
      Object.entries(texts).map(([name, text]) => ({ name, content: Buffer.from(text) })),
      settings,
      source,
    );
  return { directory, config, root, loader, install };
}

const textsIn = (directory: string) =>
  Object.fromEntries(readdirSync(directory).map(name => [name, readFileSync(join(directory, name), 'utf8')]));

t.test('files are replaced and removed, are loaded together, and keep their permissions', async t => {
  const { config, loader, install } = await site(t, { 'a.yaml': 'a1', 'b.yaml': 'b1', 'notes.txt': 'kept' });
  chmodSync(join(config, 'a.yaml'), 0o600);
  await install({ 'a.yaml': 'a2', 'c.yaml': 'c2' });
  t.same(await loader.next(), { loaded: 'a2 c2' });
  t.same(textsIn(config), { 'a.yaml': 'a2', 'c.yaml': 'c2', 'notes.txt': 'kept' });
  t.equal(statSync(join(config, 'a.yaml')).mode & 0o777, 0o600);
  const longest = `${'x'.repeat(250)}.yaml`;
  await install({ [longest]: 'x' });
  t.same(Object.keys(textsIn(config)), ['notes.txt', longest]);
});

t.test('a disk that is full changes nothing', async t => {
  const { config, install } = await site(t, { 'a.yaml': 'a1', 'b.yaml': 'b1' });
  let files = 0;
  wrapBuiltin(t, promises, 'open', open => (...args) => {
    if (args[1] === 'wx' && ++files === 2)
      return Promise.reject(new Error('ENOSPC: no space left on device'));
    return open(...args);
  });
  await t.rejects(install({ 'a.yaml': 'a2', 'b.yaml': 'b2' }), RehearsalRefused);
  t.same(textsIn(config), { 'a.yaml': 'a1', 'b.yaml': 'b1' });
});

t.test('a link as root can be swapped any number of times, under names of the same length', async t => {
  const { directory, root, install } = await site(t, { 'a.yaml': '0' }, { isLinked: true });
  for (const text of ['1', '2', '3']) {
    await install({ 'a.yaml': text });
    t.match(readlinkSync(root), /^v1\.promoted-[0-9a-f]{8}$/);
    t.same(textsIn(join(root, 'config')), { 'a.yaml': text });
  }
  t.same(textsIn(join(directory, 'v1/config')), { 'a.yaml': '0' });
});

t.test('files behind a link that a deployment swaps are left alone', async t => {
  const linked = await site(t, {}, { isLinked: true });
  mkdirSync(join(linked.directory, 'shared'));
  writeFileSync(join(linked.directory, 'shared/a.yaml'), 'a1');
  await promises.rmdir(linked.config);
  symlinkSync('../shared', linked.config);
  const isRefused = {
    name: 'RehearsalRefused',
    message: /behind a symbolic link below .*, which a deployment/,
  };
  await t.rejects(linked.install({ 'a.yaml': 'a2' }), isRefused, 'below the target of the root');
  t.same(textsIn(join(linked.directory, 'shared')), { 'a.yaml': 'a1' });

  const plain = await site(t, { 'a.yaml': 'a1' });
  symlinkSync('../../elsewhere.yaml', join(plain.config, 'b.yaml'));
  writeFileSync(join(plain.directory, 'elsewhere.yaml'), 'b1');
  await t.rejects(plain.install({ 'a.yaml': 'a2', 'b.yaml': 'b2' }), isRefused, 'a file');
  t.same(textsIn(plain.config), { 'a.yaml': 'a1', 'b.yaml': 'b1' });
});

t.test('a directory that is gone is named', async t => {
  const { config, install } = await site(t, {});
  await promises.rmdir(config);
  await t.rejects(install({ 'a.yaml': 'a' }), {
    message: /^The rule files could not be written \(ENOENT: .*config/,
  });
});
