import t from 'tap';
import { FiguresWriter, ThreadFigures } from '../../../../src/app/serving/thread-figures.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

t.test('every thread sees the figures of all, and those of an ended thread are 0', async t => {
  const figures = ThreadFigures.create(2);
  const elsewhere = ThreadFigures.attach(figures.buffer);
  elsewhere.set(1, { connections: 3, decisions: 5_000_000_000, busy: 0.25 });
  t.same(figures.all(), [
    { connections: 0, decisions: 0, busy: 0 },
    { connections: 3, decisions: 5_000_000_000, busy: 0.25 },
  ]);
  figures.clear(1);
  t.same(elsewhere.of(1), { connections: 0, decisions: 0, busy: 0 });
});

t.test('a thread writes its figures when it starts, every second, and on request', async t => {
  const clock = new ManualClock(0);
  const figures = ThreadFigures.create(1);
  let connections = 1;
  const shares = [1, 0.25];
  const busyShare = () => shares.shift()!;
  const writer = new FiguresWriter(figures, 0, clock, busyShare, () => ({ connections, decisions: 7 }));
  writer.start();
  t.same(
    figures.of(0),
    { connections: 1, decisions: 7, busy: 0 },
    'busy is what the first second shows, not the start',
  );
  connections = 2;
  writer.write();
  t.equal(figures.of(0).connections, 2);
  connections = 3;
  clock.advance(1_000);
  t.equal(figures.of(0).connections, 3);
  t.equal(figures.of(0).busy, 0.25);
  writer.stop();
  connections = 4;
  clock.advance(5_000);
  t.equal(figures.of(0).connections, 3);
});
