import { appendFileSync, chmodSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import promises from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { wrapBuiltin } from '../../../support/wrapped-builtin.ts';
import { countReads, eventsDelivered, makeSource, startSource } from './started-source.ts';

t.test('start resolves when the first set was handed on', async t => {
  const root = t.testdir({ config: { 'a.yaml': 'one', 'b.yml': 'two', 'c.txt': '' } });
  for (const watchRoot of [true, false]) {
    const { source, loader } = makeSource(t, { root, watchRoot });
    await source.start();
    t.strictSame(loader.heard, [{ loaded: 'one two' }]);
  }
});

t.test('the directory is made of root, subdirectory and app directory, empty parts left out', async t => {
  const root = t.testdir({ 'a.yaml': 'root', sub: { 'a.yaml': 'sub', app: { deep: { 'a.yaml': 'deep' } } } });
  const places = [
    { subdirectory: '', appDirectory: '', loaded: 'root' },
    { subdirectory: 'sub', appDirectory: '', loaded: 'sub' },
    { subdirectory: '', appDirectory: 'sub', loaded: 'sub' },
    { subdirectory: 'sub', appDirectory: 'app/deep', loaded: 'deep' },
  ];
  for (const { loaded, ...place } of places) {
    for (const watchRoot of [true, false]) {
      const { first } = await startSource(t, { root, watchRoot, ...place });
      t.strictSame(first, { loaded });
    }
  }
});

t.test('watching the directory: each kind of change of a rule file reads all files again', async t => {
  const root = t.testdir({ config: { 'a.yaml': 'a' }, 'moved.yaml': 'm' });
  const config = join(root, 'config');
  const { loader } = await startSource(t, { root, watchRoot: false });

  writeFileSync(join(config, 'b.yaml'), 'b');
  t.ok(await loader.until('a b'));
  appendFileSync(join(config, 'b.yaml'), 'b');
  t.strictSame(await loader.next(), { loaded: 'a bb' }, 'written');
  chmodSync(join(config, 'b.yaml'), 0o600);
  t.strictSame(await loader.next(), { loaded: 'a bb' }, 'mode changed');
  rmSync(join(config, 'b.yaml'));
  t.strictSame(await loader.next(), { loaded: 'a' }, 'removed');
  renameSync(join(root, 'moved.yaml'), join(config, 'c.yaml'));
  t.strictSame(await loader.next(), { loaded: 'a m' }, 'moved in');
  renameSync(join(config, 'c.yaml'), join(config, 'c.txt'));
  t.strictSame(await loader.next(), { loaded: 'a' }, 'renamed to no rule file');
  renameSync(join(config, 'a.yaml'), join(root, 'moved.yaml'));
  t.strictSame(await loader.next(), { loaded: '' }, 'moved out');
});

t.test('watching the directory: other files do not make it read again', async t => {
  const root = t.testdir({ config: { 'a.yaml': 'a', sub: {} } });
  const config = join(root, 'config');
  const reads = countReads(t);
  const { source, loader } = await startSource(t, { root, watchRoot: false, ignoreDotFiles: true });

  for (const name of ['.a.yaml.swp', 'a.yaml~', '4913', '.b.yaml', 'sub/c.yaml']) {
    writeFileSync(join(config, name), 'not rules');
  }
  writeFileSync(join(root, 'outside.yaml'), 'not rules');
  await eventsDelivered(t);
  await source.reload();
  t.equal(reads(), 2, 'at the start and as asked');
  chmodSync(join(config, 'a.yaml'), 0o600);
  await eventsDelivered(t);
  await source.reload();
  t.equal(reads(), 4, 'for the mode of a rule file, and as asked');
  t.notOk(loader.heard.some(outcome => 'failed' in outcome));
});

t.test('watching the directory: dot files count unless they are ignored', async t => {
  const root = t.testdir({ config: {} });
  const { loader } = await startSource(t, { root, watchRoot: false });
  writeFileSync(join(root, 'config', '.a.yaml'), 'dot');
  t.ok(await loader.until('dot'));
});

t.test('watching the root: changes in the directory do not make it read again', async t => {
  const root = t.testdir({ config: { 'a.yaml': 'a' } });
  const config = join(root, 'config');
  const reads = countReads(t);
  const { source, loader } = await startSource(t, { root, watchRoot: true });

  writeFileSync(join(config, 'a.yaml'), 'changed');
  writeFileSync(join(config, 'b.yaml'), 'b');
  rmSync(join(config, 'b.yaml'));
  chmodSync(join(config, 'a.yaml'), 0o600);
  writeFileSync(join(root, 'other'), '');
  await eventsDelivered(t);
  await source.reload();
  t.equal(reads(), 2, 'at the start and as asked');
  chmodSync(root, 0o700);
  await eventsDelivered(t);
  await source.reload();
  t.equal(reads(), 4, 'for the mode of the root, and as asked');
  t.notOk(loader.heard.some(outcome => 'failed' in outcome));
});

t.test('a burst of writes ends with the last text and is read a bounded number of times', async t => {
  const root = t.testdir({ config: { 'a.yaml': '' } });
  const { loader } = await startSource(t, { root, watchRoot: false });
  for (let i = 1; i <= 200; i++) {
    writeFileSync(join(root, 'config', 'a.yaml'), String(i));
    if (i % 20 === 0) await nextTurn();
  }
  t.ok(await loader.until('200'));
  t.ok(loader.heard.length < 50, `${loader.heard.length} outcomes for 200 writes`);
});

t.test('a set that changed while it was read is not handed on, but read once more', async t => {
  const root = t.testdir({ config: { 'a.yaml': 'old', 'b.yaml': 'old' } });
  const reads = countReads(t);
  let change = true;
  wrapBuiltin(t, promises, 'open', open => async (path, ...args) => {
    if (String(path).endsWith('b.yaml') && change) {
      change = false;
      for (const name of ['a.yaml', 'b.yaml', 'c.yaml']) writeFileSync(join(root, 'config', name), 'new');
    }
    return open(path, ...args);
  });
  const { loader } = await startSource(t, { root, watchRoot: false });
  t.strictSame(loader.heard, [{ loaded: 'new new new' }]);
  t.equal(reads(), 2);
});

t.test('files that change during every read are handed on all the same', async t => {
  const root = t.testdir({ config: { 'a.yaml': 'a' } });
  wrapBuiltin(t, promises, 'open', open => async (path, ...args) => {
    chmodSync(path, 0o600);
    return open(path, ...args);
  });
  const { source, first } = await startSource(t, { root, watchRoot: false });
  t.strictSame(first, { loaded: 'a' });
  await source.stop();
});

t.test('reload reads again, and calls during a read share the next one', async t => {
  const root = t.testdir({ config: { 'a.yaml': 'a' } });
  const { source, loader } = makeSource(t, { root, watchRoot: true });
  await source.reload();
  t.strictSame(loader.heard, [], 'not started');
  await source.start();
  await source.reload();
  t.equal(loader.heard.length, 2);
  await Promise.all([source.reload(), source.reload(), source.reload()]);
  t.equal(loader.heard.length, 3);
});

t.test('an unreadable file fails the whole set until it is fixed', async t => {
  const root = t.testdir({ config: { 'a.yaml': 'a', 'x.yaml': {} } });
  const { first, loader } = await startSource(t, { root, watchRoot: false });
  t.match(first, { failed: /x\.yaml' is a directory/ });
  rmSync(join(root, 'config', 'x.yaml'), { recursive: true });
  t.strictSame(await loader.next(), { loaded: 'a' });
});

t.test('the lock of an editor, a link to nothing, does not keep the rules from being reloaded', async t => {
  const root = t.testdir({ config: { 'a.yaml': 'a' } });
  const { source, loader, logger } = await startSource(t, { root, watchRoot: false });
  const lock = join(root, 'config', '.#a.yaml');
  symlinkSync('ann@host.4711:1795423140', lock);
  writeFileSync(join(root, 'config', 'a.yaml'), 'changed');
  await loader.until('changed');
  await source.reload();
  const line =
    'warning: Rule file skipped: it is a link to a file that does not exist. Fix or remove the link';
  t.strictSame(logger.lines, [line], 'once');
});

t.test('ignored files are logged once at debug level', async t => {
  const root = t.testdir({ config: { 'a.yaml': 'a', 'README.md': '', '.dot': '' } });
  const readme = join(root, 'config', 'README.md');
  const { source, logger } = await startSource(t, { root, watchRoot: true, ignoreDotFiles: true });
  const line = 'debug: File ignored: only *.yaml and *.yml are rule files';
  await source.reload();
  const debugLines = (): string[] => logger.lines.filter(each => each.startsWith('debug: '));
  t.strictSame(debugLines(), [line]);
  rmSync(readme);
  await source.reload();
  writeFileSync(readme, '');
  await source.reload();
  t.strictSame(debugLines(), [line, line]);
});

t.test('nothing is handed on after stop', async t => {
  const root = t.testdir({ config: { 'a.yaml': 'a' } });
  const { source, loader } = await startSource(t, { root, watchRoot: false });
  const other = await startSource(t, { root, watchRoot: false });

  writeFileSync(join(root, 'config', 'a.yaml'), 'unread');
  const reloads = [source.reload(), source.reload()];
  await source.stop();
  await Promise.all(reloads);
  writeFileSync(join(root, 'config', 'a.yaml'), 'changed');
  await other.loader.until('changed');
  await source.reload();
  t.strictSame(loader.heard, [{ loaded: 'a' }]);
});

t.test('stop leaves nothing behind, also before start, twice, and while starting', async t => {
  const root = t.testdir({ config: { 'a.yaml': 'a' } });
  const { source, loader } = makeSource(t, { root, watchRoot: false });
  await source.stop();
  const started = source.start();
  await Promise.all([source.stop(), source.stop()]);
  await started;
  t.strictSame(loader.heard, []);
  await source.start();
  t.ok(process.getActiveResourcesInfo().includes('FSEventWrap'), 'watches while it runs');
  await source.stop();
  // Closed handles are released at the end of a turn of the loop.
  await nextTurn();
  await nextTurn();
  t.notOk(process.getActiveResourcesInfo().includes('FSEventWrap'));
});

t.test('a loader that throws does not end the watching', async t => {
  const root = t.testdir({ config: { 'a.yaml': 'a' } });
  const { source, loader, logger } = makeSource(t, { root, watchRoot: false });
  loader.onHeard = () => {
    throw new Error('not taken');
  };
  await source.start();
  t.strictSame(logger.lines, ['error: Could not load the rule files (this is a bug; please report it)']);
  writeFileSync(join(root, 'config', 'a.yaml'), 'next');
  t.ok(await loader.until('next'));
});
