import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import t, { type Test } from 'tap';
import { inBothModes, startSource, swap, writeRules } from './started-source.ts';

function releases(t: Test): string {
  return t.testdir({
    first: { sub: { config: { 'a.yaml': 'first' } } },
    second: { sub: { config: { 'a.yaml': 'second' } } },
    third: { sub: { config: { 'a.yaml': 'third' } } },
    current: t.fixture('symlink', 'first'),
  });
}

inBothModes('a swap of the root link reads the new tree, again and again', async (t, watchRoot) => {
  const base = releases(t);
  const root = join(base, 'current');
  const { first, loader } = await startSource(t, { root, subdirectory: 'sub', watchRoot });
  t.strictSame(first, { loaded: 'first' });
  swap(root, 'second');
  t.strictSame(await loader.next(), { loaded: 'second' });
  swap(root, join(base, 'third'));
  t.strictSame(await loader.next(), { loaded: 'third' }, 'by an absolute link');
  rmSync(root);
  t.match(await loader.next(), { failed: /does not exist/ });
  symlinkSync('first', root);
  t.strictSame(await loader.next(), { loaded: 'first' }, 'removed and made again');
});

inBothModes(
  'the root may be written with a trailing slash, a leading ./ or relative',
  async (t, watchRoot) => {
    for (const write of [
      (path: string) => `${path}/`,
      (path: string) => relative(process.cwd(), path),
      (path: string) => `./${relative(process.cwd(), path)}//`,
      (path: string) => join(dirname(path), 'first', '..', '.', 'current'),
    ]) {
      const path = join(releases(t), 'current');
      const { source, loader } = await startSource(t, {
        root: write(path),
        subdirectory: '/sub/',
        watchRoot,
      });
      swap(path, 'second');
      t.strictSame(await loader.next(), { loaded: 'second' }, write('ROOT'));
      await source.stop();
    }
  },
);

t.test('after a swap of the root the new directory is watched, the old one no longer', async t => {
  const base = releases(t);
  const root = join(base, 'current');
  const { loader } = await startSource(t, { root, subdirectory: 'sub', watchRoot: false });
  swap(root, 'second');
  await loader.until('second');
  const before = loader.heard.length;
  writeFileSync(join(base, 'first/sub/config/a.yaml'), 'old');
  chmodSync(join(base, 'second/sub/config/a.yaml'), 0o600);
  t.strictSame(await loader.next(), { loaded: 'second' });
  t.equal(loader.heard.length, before + 1);
});

inBothModes('links behind the root link are watched too', async (t, watchRoot) => {
  const base = releases(t);
  mkdirSync(join(base, 'links'));
  symlinkSync('../first', join(base, 'links', 'live'));
  const root = join(base, 'root');
  symlinkSync(join(base, 'links', 'live'), root);
  const { loader } = await startSource(t, { root, subdirectory: 'sub', watchRoot });
  swap(join(base, 'links', 'live'), '../second');
  t.strictSame(await loader.next(), { loaded: 'second' });
});

inBothModes('a link that leads up from behind another link is followed', async (t, watchRoot) => {
  const base = t.testdir({
    link: t.fixture('symlink', 'deep/inner'),
    deep: {
      inner: { current: t.fixture('symlink', '../release') },
      staged: { config: { 'a.yaml': 'released' } },
    },
  });
  const { first, loader } = await startSource(t, { root: join(base, 'link/current'), watchRoot });
  t.match(first, { failed: /does not exist/ });
  renameSync(join(base, 'deep/staged'), join(base, 'deep/release'));
  t.strictSame(await loader.next(), { loaded: 'released' });
});

inBothModes('a directory above the root that is moved away and back is noticed', async (t, watchRoot) => {
  const base = t.testdir({ parent: { root: { config: { 'a.yaml': 'a' } } } });
  const { loader } = await startSource(t, { root: join(base, 'parent/root'), watchRoot });
  renameSync(join(base, 'parent'), join(base, 'away'));
  t.match(await loader.next(), { failed: /does not exist/ });
  renameSync(join(base, 'away'), join(base, 'parent'));
  t.strictSame(await loader.next(), { loaded: 'a' });
});

inBothModes(
  'a swap of the directory itself or of one between it and the root is noticed',
  async (t, watchRoot) => {
    const base = releases(t);
    const { loader } = await startSource(t, { root: join(base, 'first'), subdirectory: 'sub', watchRoot });
    renameSync(join(base, 'first/sub/config'), join(base, 'first/sub/old'));
    t.match(await loader.next(), { failed: /does not exist/ });
    symlinkSync('../../third/sub/config', join(base, 'first/sub/config'));
    t.strictSame(await loader.next(), { loaded: 'third' });
    renameSync(join(base, 'first/sub'), join(base, 'first/old'));
    t.match(await loader.next(), { failed: /does not exist/ });
    renameSync(join(base, 'second/sub'), join(base, 'first/sub'));
    t.strictSame(await loader.next(), { loaded: 'second' });
  },
);

/** A volume as Kubernetes mounts it at `volume`; `path` is where a file is kept in it. */
function mount(volume: string, path: string) {
  const publish = (text: string) => {
    writeRules(dirname(join(volume, `..${text}`, path)), text);
    swap(join(volume, '..data'), `..${text}`);
  };
  mkdirSync(volume, { recursive: true });
  publish('first');
  const [shown] = path.split('/');
  symlinkSync(join('..data', shown), join(volume, shown));
  return { publish };
}

inBothModes('a Kubernetes swap of ..data in the directory is noticed', async (t, watchRoot) => {
  for (const ignoreDotFiles of [true, false]) {
    const root = t.testdir({});
    const { publish } = mount(join(root, 'config'), 'a.yaml');
    const { source, first, loader } = await startSource(t, { root, watchRoot, ignoreDotFiles });
    t.strictSame(first, { loaded: 'first' });
    publish('second');
    rmSync(join(root, 'config/..first'), { recursive: true });
    t.ok(await loader.until('second'));
    publish('third');
    t.ok(await loader.until('third'));
    t.notOk(loader.heard.some(outcome => 'failed' in outcome));
    await source.stop();
  }
});

inBothModes(
  'a Kubernetes volume whose top entry is the directory is followed through ..data',
  async (t, watchRoot) => {
    const root = t.testdir({});
    const { publish } = mount(root, 'config/a.yaml');
    const { first, loader } = await startSource(t, { root, watchRoot });
    t.strictSame(first, { loaded: 'first' });
    publish('second');
    t.ok(await loader.until('second'));
    publish('third');
    t.ok(await loader.until('third'));
  },
);

t.test('watching the root warns when there is no link that could be swapped', async t => {
  const base = t.testdir({
    plain: { config: { 'a.yaml': '' } },
    kubernetes: { data: { 'a.yaml': '' }, config: { '..data': t.fixture('symlink', '../data') } },
    link: t.fixture('symlink', 'plain'),
    below: { sub: t.fixture('symlink', '../plain') },
  });
  const warnings = async (root: string, options: { subdirectory?: string; watchRoot?: boolean } = {}) => {
    const { source, logger } = await startSource(t, { root: join(base, root), watchRoot: true, ...options });
    await source.stop();
    return logger.lines.filter(line => line.startsWith('warning'));
  };
  t.match(await warnings('plain'), [
    /^warning: RUNTIME_WATCH_ROOT=true .* Set RUNTIME_WATCH_ROOT=false to reload/,
  ]);
  t.match(await warnings('./below/../plain/'), { length: 1 });
  t.strictSame(await warnings('plain', { watchRoot: false }), []);
  t.strictSame(await warnings('link'), []);
  t.strictSame(await warnings('kubernetes'), []);
  t.strictSame(await warnings('below', { subdirectory: 'sub' }), []);
  t.strictSame(await warnings('missing'), [], 'a link may still be put there');
});
