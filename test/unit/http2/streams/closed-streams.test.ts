import t from 'tap';
import { ClosedStreams } from '../../../../src/http2/streams/closed-streams.ts';

t.test('frames may still come on a stream that we ended first, until the peer ends it', async t => {
  const closed = new ClosedStreams();
  t.equal(closed.mayStillCome(3), false);
  closed.awaitEnd(3);
  t.equal(closed.mayStillCome(3), true);
  t.equal(closed.mayStillCome(1), false);
  closed.ended(3);
  t.equal(closed.mayStillCome(3), false);
});

t.test('what memory has lost gets the benefit of the doubt', async t => {
  const closed = new ClosedStreams();
  for (let id = 11; id < 11 + 2 * 1_024; id += 2) closed.awaitEnd(id);
  t.equal(closed.mayStillCome(9), false, 'all 1,024 are remembered');
  t.equal(closed.size, 1_024);
  closed.awaitEnd(9_999);
  t.equal(closed.size, 1_024, 'and no more');
  t.equal(closed.mayStillCome(11), true, 'the oldest is not');
  t.equal(closed.mayStillCome(9), true, 'nor what was before it');
  t.equal(closed.mayStillCome(13), true);
  closed.ended(13);
  t.equal(closed.mayStillCome(13), false, 'others are known as before');
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
