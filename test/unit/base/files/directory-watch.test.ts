import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import t, { type Test } from 'tap';
import { DirectoryWatch } from '../../../../src/base/files/directory-watch.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';
import { refusal, spyOnWatch } from '../../../support/watched-places.ts';

interface Told {
  readonly kind: 'moved' | 'touched' | 'broken';
  readonly what: string;
}

/** A watch that is set, and closed when the test ends; `until` waits for what it tells. */
async function setWatch(t: Test, root: string, directory = root) {
  const told: Told[] = [];
  let wake: () => void = () => {};
  const tell = (kind: Told['kind'], what: string): void => {
    told.push({ kind, what });
    wake();
  };
  const watch = new DirectoryWatch(
    { root, directory },
    {
      moved: () => tell('moved', ''),
      touched: name => tell('touched', name),
      broken: (place, failure) => tell('broken', `${place}: ${failure.message}`),
    },
  );
  t.teardown(() => watch.close());
  await watch.set();
  const until = async (kind: Told['kind'], what = ''): Promise<true> => {
    while (!told.some(one => one.kind === kind && one.what === what)) {
      await new Promise<void>(resolve => {
        wake = resolve;
      });
    }
    return true;
  };
  return { watch, told, until };
}

/** Makes `link` lead to `target` in one step. */
function swap(link: string, target: string): void {
  symlinkSync(target, `${link}.new`);
  renameSync(`${link}.new`, link);
}

t.test('only the directories on the way from the root are watched', async t => {
  const base = t.testdir({
    data: { releases: { first: { sub: { config: { 'a.yaml': '' }, other: {} } } } },
    srv: { near: t.fixture('symlink', 'far'), far: t.fixture('symlink', '../data/releases/first') },
  });
  const watched: string[] = [];
  spyOnWatch(t, path => watched.push(relative(base, path)));
  await setWatch(t, join(base, 'srv/near'), join(base, 'srv/near/sub/config'));
  t.strictSame(watched, ['srv', 'data/releases', 'srv/near', 'srv/near/sub', 'srv/near/sub/config']);
});

t.test('of what lies above the root the links are followed, and nothing else', async t => {
  const base = tempDirectory(t);
  mkdirSync(join(base, 'releases/1/etc/tls'), { recursive: true });
  symlinkSync('releases/1', join(base, 'current'));
  const watched: string[] = [];
  spyOnWatch(t, path => watched.push(relative(base, path)));
  const { until } = await setWatch(t, join(base, 'current/etc/tls'));
  t.strictSame(watched, ['', 'releases', 'current/etc', 'current/etc/tls']);
  swap(join(base, 'current'), 'releases/2');
  t.ok(await until('moved'));
});

t.test('where a link leads elsewhere, the links on the way there are followed', async t => {
  const base = tempDirectory(t);
  mkdirSync(join(base, 'store/1/deep/tls'), { recursive: true });
  mkdirSync(join(base, 'etc'));
  symlinkSync('1', join(base, 'store/latest'));
  symlinkSync('../store/latest/deep/tls', join(base, 'etc/tls'));
  const { until } = await setWatch(t, join(base, 'etc/tls'));
  swap(join(base, 'store/latest'), '2');
  t.ok(await until('moved'));
});

t.test('entries of the directory are touched; a name on the way to it moves it', async t => {
  const base = tempDirectory(t);
  mkdirSync(join(base, 'root/config'), { recursive: true });
  const { told, until, watch } = await setWatch(t, join(base, 'root'), join(base, 'root/config'));
  writeFileSync(join(base, 'root/config/a.yaml'), '');
  t.ok(await until('touched', 'a.yaml'));
  writeFileSync(join(base, 'root/beside'), '');
  writeFileSync(join(base, 'root/config/b.yaml'), '');
  t.ok(await until('touched', 'b.yaml'));
  t.notOk(told.some(({ kind, what }) => kind !== 'touched' || what === 'beside'));
  renameSync(join(base, 'root/config'), join(base, 'root/former'));
  t.ok(await until('moved'));
  told.length = 0;
  await watch.set();
  mkdirSync(join(base, 'root/config'));
  t.ok(await until('moved'));
});

t.test('a file can be watched: written in place, and replaced by another', async t => {
  const file = join(tempDirectory(t), 'file');
  writeFileSync(file, 'first');
  const { told, until, watch } = await setWatch(t, file);
  writeFileSync(file, 'second');
  t.ok(await until('moved'));
  told.length = 0;
  await watch.set();
  writeFileSync(`${file}.new`, 'third');
  renameSync(`${file}.new`, file);
  t.ok(await until('moved'));
});

t.test('a path that is missing is awaited in the nearest directory above', async t => {
  const base = tempDirectory(t);
  const { told, until, watch } = await setWatch(t, join(base, 'a/b/c'));
  for (const made of ['a', 'a/b', 'a/b/c']) {
    told.length = 0;
    mkdirSync(join(base, made));
    t.ok(await until('moved'));
    await watch.set();
  }
  writeFileSync(join(base, 'a/b/c/file'), '');
  t.ok(await until('touched', 'file'));
});

t.test('a tangle of links is not followed without end', async t => {
  const base = tempDirectory(t);
  symlinkSync('a/a/x', join(base, 'a'));
  symlinkSync('b', join(base, 'b'));
  for (const name of ['a', 'b']) {
    const { until } = await setWatch(t, join(base, name));
    swap(join(base, name), 'elsewhere');
    t.ok(await until('moved'));
  }
});

t.test('no more than 66 directories are watched, however long the way is', async t => {
  const base = tempDirectory(t);
  // 30 links, each through three directories of its own: 120 names to follow.
  let at = base;
  for (let i = 0; i < 30; i++) {
    symlinkSync('p/q/r/go', join(at, 'go'));
    at = join(at, 'p/q/r');
    mkdirSync(at, { recursive: true });
  }
  mkdirSync(join(at, 'go/config'), { recursive: true });
  const watched = new Set<string>();
  spyOnWatch(t, path => watched.add(path));
  const { until } = await setWatch(t, join(base, 'go'), join(base, 'go/config'));
  t.ok(watched.size > 40 && watched.size <= 66, `${watched.size} watched`);
  writeFileSync(join(at, 'go/config/file'), '');
  t.ok(await until('touched', 'file'));
});

t.test('a place that cannot be watched is reported, and the others are watched', async t => {
  const base = tempDirectory(t);
  mkdirSync(join(base, 'config'));
  spyOnWatch(t, path => {
    if (path === base) throw refusal('EACCES', 'permission denied');
  });
  const { told, until } = await setWatch(t, join(base, 'config'));
  t.strictSame(told, [{ kind: 'broken', what: `${base}: EACCES: permission denied` }]);
  writeFileSync(join(base, 'config/file'), '');
  t.ok(await until('touched', 'file'));
});

t.test('a watch that was closed tells nothing, and can be set again', async t => {
  const base = tempDirectory(t);
  const watchers = spyOnWatch(t, () => {});
  const { told, until, watch } = await setWatch(t, base);
  const closed = watchers.map(watcher => new Promise(resolve => watcher.once('close', resolve)));
  watch.close();
  await Promise.all(closed);
  writeFileSync(join(base, 'unheard'), '');
  await watch.set();
  writeFileSync(join(base, 'heard'), '');
  t.ok(await until('touched', 'heard'));
  t.strictSame(
    told.map(({ what }) => what).filter(what => what === 'unheard'),
    [],
  );
});
