import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { countReads, eventsDelivered, inBothModes, startSource, swap, writeRules } from './started-source.ts';

t.test('a missing directory fails with the settings that make its path', async t => {
  const root = join(t.testdir({}), 'root');
  const { first } = await startSource(t, { root, subdirectory: 'sub', watchRoot: true });
  const path = join(root, 'sub', 'config');
  t.strictSame(first, {
    failed:
      `rule directory '${path}' does not exist; create it and put the rule files (*.yaml) there, ` +
      `or fix the settings that make up this path: RUNTIME_ROOT='${root}', RUNTIME_SUBDIRECTORY='sub' ` +
      `and RUNTIME_APPDIRECTORY='config'`,
  });
});

inBothModes(
  'a missing directory is read once it appears, however much of its path is missing',
  async (t, watchRoot) => {
    for (const depth of ['config', 'root/sub/config', 'a/b/root/sub/config']) {
      const base = t.testdir({});
      const path = join(base, depth);
      const setup =
        depth === 'config' ? { root: base } : { root: dirname(dirname(path)), subdirectory: 'sub' };
      const { source, first, loader, logger } = await startSource(t, { ...setup, watchRoot });
      t.match(first, { failed: /does not exist/ }, depth);
      writeRules(`${base}/staged/new`, 'came');
      mkdirSync(dirname(path), { recursive: true });
      renameSync(`${base}/staged/new`, path);
      t.ok(await loader.until('came'));
      t.strictSame(logger.lines, [], 'what is awaited is no trouble of the watch');
      await source.stop();
    }
  },
);

inBothModes('a directory that appears empty is read file by file as it is filled', async (t, watchRoot) => {
  const base = t.testdir({ next: { config: { 'a.yaml': 'next' } } });
  const root = join(base, 'root');
  const { source, loader } = await startSource(t, { root, watchRoot });
  mkdirSync(join(base, 'filled/config'), { recursive: true });
  symlinkSync('filled', root);
  t.strictSame(await loader.next(), { loaded: '' });
  writeFileSync(join(root, 'config/a.yaml'), 'a');
  t.ok(await loader.until('a'));
  writeFileSync(join(root, 'config/b.yaml'), 'b');
  t.ok(await loader.until('a b'));

  swap(root, 'next');
  t.ok(await loader.until('next'));
  const reads = countReads(t);
  writeFileSync(join(root, 'config/a.yaml'), 'changed');
  await eventsDelivered(t);
  await source.reload();
  t.equal(reads(), watchRoot ? 1 : 2, 'once it was swapped, the tree counts as complete');
});

inBothModes('a root link that leads nowhere is read once its target appears', async (t, watchRoot) => {
  const base = t.testdir({ root: t.fixture('symlink', 'later/release') });
  const { first, loader } = await startSource(t, { root: join(base, 'root'), watchRoot });
  t.match(first, { failed: /does not exist/ });
  writeRules(join(base, 'staged/config'), 'came');
  mkdirSync(join(base, 'later'));
  renameSync(join(base, 'staged'), join(base, 'later/release'));
  t.ok(await loader.until('came'));
});

inBothModes(
  'a directory that is removed fails, and is read and watched when it comes back',
  async (t, watchRoot) => {
    for (const removed of ['config', '.', '..']) {
      const base = t.testdir({ parent: { root: { config: { 'a.yaml': 'here' } } } });
      const root = join(base, 'parent', 'root');
      const { source, loader } = await startSource(t, { root, watchRoot });
      rmSync(join(root, removed), { recursive: true });
      t.match(await loader.next(), { failed: /does not exist/ });
      writeRules(join(root, 'config'), 'back');
      t.ok(await loader.until('back'));
      writeRules(join(root, 'config'), 'changed');
      t.ok(await loader.until('changed'));
      await source.stop();
    }
  },
);
