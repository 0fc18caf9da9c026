import t from 'tap';
import { ClosedStreams } from '../../../../src/http2/streams/closed-streams.ts';

t.test('frames on a stream that we ended first are ignored, until the peer ends it', async t => {
  const closed = new ClosedStreams();
  t.equal(closed.late(3, false), 'fault');
  closed.remember(3, false);
  t.equal(closed.late(3, false), 'ignore');
  t.equal(closed.late(1, false), 'fault');
  t.equal(closed.late(3, true), 'ignore');
  t.equal(closed.late(3, true), 'fault');
});

t.test('of the frames on a stream that the peer reset, the first is answered with a reset', async t => {
  const closed = new ClosedStreams();
  closed.remember(3, true);
  t.equal(closed.late(3, false), 'reset');
  t.equal(closed.late(3, false), 'ignore');
  t.equal(closed.late(3, true), 'ignore');
  t.equal(closed.late(3, true), 'fault');
  closed.remember(5, true);
  t.equal(closed.late(5, true), 'reset');
  t.equal(closed.late(5, false), 'fault');
});

t.test('frames on streams that memory has lost are ignored', async t => {
  const closed = new ClosedStreams();
  for (let id = 11; id < 11 + 2 * 1_024; id += 2) {
    if (id % 4 === 1) closed.remember(id, false);
    else closed.remember(id, true);
  }
  t.equal(closed.late(9, true), 'fault', 'all 1,024 are remembered');
  t.equal(closed.size, 1_024);
  closed.remember(9_999, false);
  t.equal(closed.size, 1_024, 'and no more');
  t.equal(closed.late(11, false), 'ignore', 'the oldest is lost');
  t.equal(closed.late(9, false), 'ignore', 'like those before it');
  t.equal(closed.late(13, true), 'ignore');
  t.equal(closed.late(13, true), 'fault', 'others are known as before');
  t.equal(closed.late(15, true), 'reset');
});

t.test('ids that were passed over are known', async t => {
  const closed = new ClosedStreams();
  t.equal(closed.wasSkipped(1), false);
  closed.skip(3, 7);
  t.same(
    [1, 3, 5, 7, 9].map(id => closed.wasSkipped(id)),
    [false, true, true, true, false],
  );
});
