import t from 'tap';
import { Http2Stream } from '../../../../src/http2/streams/stream.ts';
import { LiveStreams, StreamTable } from '../../../../src/http2/streams/table.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

function open(table: StreamTable, id: number): Http2Stream {
  const stream = new Http2Stream(id, { sendWindow: 10, receiveWindow: 10, nowMs: 0 });
  table.use(id);
  table.add(stream);
  return stream;
}

t.test('a stream is idle until it is used, and one of an even id always (RFC 9113, 5.1.1)', async t => {
  const table = new StreamTable();
  t.equal(table.isIdle(1), true);
  open(table, 5);
  t.same(
    [1, 2, 5, 6, 7].map(id => table.isIdle(id)),
    [false, true, false, true, true],
  );
  t.equal(table.lastId, 5);
});

t.test('a new stream closes those below it that were passed over (RFC 9113, 5.1.1)', async t => {
  const table = new StreamTable();
  open(table, 1);
  open(table, 3);
  t.equal(table.closed.wasSkipped(1), false);
  open(table, 9);
  t.same(
    [1, 3, 5, 7, 9].map(id => table.closed.wasSkipped(id)),
    [false, false, true, true, false],
  );
  open(table, 11);
  t.equal(table.closed.wasSkipped(5), true, 'also when more are opened');
  const late = new StreamTable();
  open(late, 3);
  t.equal(late.closed.wasSkipped(1), true, 'the first one as well');
});

t.test(
  'a stream that we reset may still get frames, unless the peer had ended it (RFC 9113, 5.1)',
  async t => {
    const table = new StreamTable();
    const [first, second] = [open(table, 1), open(table, 3)];
    second.state = 'halfClosed';
    table.removeReset(first);
    table.removeReset(second);
    t.same([first.state, second.state, table.size], ['closed', 'closed', 0]);
    t.same([table.closed.late(1, true), table.closed.late(3, true)], ['ignore', 'fault']);
  },
);

t.test('a stream that is done is forgotten', async t => {
  const table = new StreamTable();
  const stream = open(table, 1);
  t.equal(table.get(1), stream);
  t.same([...table.values()], [stream]);
  table.remove(stream);
  t.equal(stream.state, 'closed');
  t.equal(table.get(1), undefined);
  t.equal(table.closed.late(1, false), 'fault');
});

const stream = (id: number) => new Http2Stream(id, { sendWindow: 1, receiveWindow: 1, nowMs: 0 });

t.test('holds what a map would, whatever comes and goes', async t => {
  const random = new SeededRandom(7);
  for (let round = 0; round < 20; round++) {
    const live = new LiveStreams();
    const model = new Map<number, Http2Stream>();
    // Some rounds grow large and shrink again; in all of them a few streams stay for long.
    const most = 1 + random.below(700);
    for (let id = 1, steps = 0; steps < 3_000; steps++) {
      if (model.size < most && random.below(100) < 55) {
        id += 2 * (1 + random.below(random.below(20) === 0 ? 1_000 : 2));
        const added = stream(id);
        live.add(added);
        model.set(id, added);
      } else {
        const ids = [...model.keys()];
        const gone = ids[random.below(ids.length + 1)] ?? id + 2;
        live.delete(gone);
        model.delete(gone);
      }
      if (live.size !== model.size) t.equal(live.size, model.size);
    }
    t.same(
      live.values().map(each => each.id),
      [...model.keys()],
    );
    t.ok([...model].every(([id, each]) => live.get(id) === each));
    t.equal(live.get(2_147_483_647), undefined);
  }
});
