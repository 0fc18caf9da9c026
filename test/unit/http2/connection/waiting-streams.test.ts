import t from 'tap';
import { WaitingStreams } from '../../../../src/http2/connection/sender.ts';
import { Http2Stream } from '../../../../src/http2/streams/stream.ts';

/** Streams that may send so much each, all of them waiting. */
function waiting(...windows: readonly number[]): { line: WaitingStreams; streams: Http2Stream[] } {
  const line = new WaitingStreams();
  const streams = windows.map((sendWindow, i) => {
    const stream = new Http2Stream(2 * i + 1, { sendWindow, receiveWindow: 0, nowMs: 0 });
    line.add(stream);
    return stream;
  });
  return { line, streams };
}

const ready = (line: WaitingStreams): number[] => Array.from(line.ready, ({ id }) => id);

t.test('streams are ready in their order, unless their own window is shut', async t => {
  t.strictSame(ready(waiting(5, 0, 1, -3, 2).line), [1, 5, 9]);
});

t.test(
  'a stream that is served and added again comes again behind the others, also in the same round',
  async t => {
    const { line } = waiting(2, 3, 1);
    const served: number[] = [];
    for (const stream of line.ready) {
      served.push(stream.id);
      stream.sendWindow.consume(1);
      line.delete(stream);
      line.add(stream);
    }
    t.strictSame(served, [1, 3, 5, 1, 3, 3]);
    t.strictSame(ready(line), [], 'all are shut now');
  },
);

t.test('a stream whose window opens stands behind those that are ready', async t => {
  const { line, streams } = waiting(0, 1, 0);
  streams[0].sendWindow.widen(5);
  line.widened(streams[0]);
  line.widened(streams[2]);
  t.strictSame(ready(line), [3, 1]);
});

t.test('a stream that is not waiting does not begin to because its window opens', async t => {
  const { line, streams } = waiting(1);
  line.delete(streams[0]);
  line.widened(streams[0]);
  t.strictSame(ready(line), []);
});

t.test('when all windows change, every stream is looked at', async t => {
  const { line, streams } = waiting(1, 0, 5);
  for (const { sendWindow } of streams) sendWindow.widen(-1);
  line.resized();
  t.strictSame(ready(line), [5]);
  for (const { sendWindow } of streams) sendWindow.widen(10);
  line.resized();
  t.strictSame(ready(line), [5, 1, 3]);
});

t.test('streams are stalled by the time since when they wait, whatever for', async t => {
  const { line, streams } = waiting(1, 0, 1);
  streams.forEach((stream, i) => {
    stream.waitingSinceMs = 10 * i;
  });
  t.strictSame(line.stalled(0), []);
  t.strictSame(line.stalled(10), [streams[0]]);
  t.strictSame(line.stalled(11), [streams[0], streams[1]]);
  line.delete(streams[1]);
  t.strictSame(line.stalled(100), [streams[0], streams[2]]);
});
