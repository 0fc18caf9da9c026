import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { ManualClock } from '../../../support/manual-clock.ts';
import { refusal, spyOnWatch } from '../../../support/watched-places.ts';
import { startSource } from './started-source.ts';

t.test('a tangle of links ends in a fault, not in a search without end', async t => {
  const base = t.testdir({ a: t.fixture('symlink', 'a/a/x'), b: t.fixture('symlink', 'b') });
  for (const name of ['a', 'b']) {
    const { first } = await startSource(t, { root: join(base, name), watchRoot: false });
    t.match(first, { failed: /cannot be read \(ELOOP\)/ });
  }
});

t.test('a broken watcher is logged and set again after a delay, and the files are read', async t => {
  const root = t.testdir({ config: { 'a.yaml': 'a' } });
  const config = join(root, 'config');
  const clock = new ManualClock(0);
  const watchers = spyOnWatch(t, () => {});
  const { source, loader, logger } = await startSource(t, { root, watchRoot: false, clock });

  const broken = watchers.at(-1);
  broken?.close();
  broken?.emit('error', new Error('out of order'));
  t.strictSame(logger.lines, [
    'warning: Cannot watch a path, so changes may go unnoticed; retrying. ' +
      'If this persists, raise fs.inotify.max_user_watches and max_user_instances',
  ]);
  writeFileSync(join(config, 'a.yaml'), 'missed');
  clock.advance(10_000);
  t.strictSame(await loader.next(), { loaded: 'missed' });
  writeFileSync(join(config, 'a.yaml'), 'noticed');
  t.ok(await loader.until('noticed'));

  watchers.at(-1)?.emit('error', new Error('again'));
  t.equal(clock.pending, 1);
  await source.stop();
  t.equal(clock.pending, 0, 'the timer ends with the source');
});

t.test('when the system is out of watches, it is tried again until there are some', async t => {
  const root = t.testdir({ config: { 'a.yaml': 'a' } });
  const clock = new ManualClock(0);
  let exhausted = true;
  spyOnWatch(t, () => {
    if (exhausted) throw refusal('ENOSPC', 'System limit for number of file watchers reached');
  });
  const { first, loader, logger } = await startSource(t, { root, watchRoot: false, clock });
  t.strictSame(first, { loaded: 'a' }, 'files are read all the same');
  t.match(logger.lines[0], /^warning: Cannot watch a path, so changes may go unnoticed; retrying/);
  t.strictSame(clock.pendingDelaysMs, [10_000], 'one timer for all');

  clock.advance(10_000);
  await loader.next();
  t.equal(clock.pending, 1);
  exhausted = false;
  clock.advance(10_000);
  await loader.next();
  t.equal(clock.pending, 0);
  writeFileSync(join(root, 'config', 'a.yaml'), 'noticed');
  t.ok(await loader.until('noticed'));
});

t.test('a place without permission is logged, and the other places are watched', async t => {
  const root = t.testdir({ config: { 'a.yaml': 'a' } });
  const clock = new ManualClock(0);
  spyOnWatch(t, path => {
    if (path === dirname(root)) throw refusal('EACCES', 'permission denied');
  });
  const { loader, logger } = await startSource(t, { root, watchRoot: false, clock });
  t.strictSame(logger.lines, [
    'warning: Cannot watch a path, so changes may go unnoticed; ' +
      'let the user of this process read the path',
  ]);
  t.equal(clock.pending, 0, 'trying again would not help');
  writeFileSync(join(root, 'config', 'a.yaml'), 'noticed');
  t.ok(await loader.until('noticed'));
});
