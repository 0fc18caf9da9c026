import t from 'tap';
import { LiveStreams } from '../../../../src/http2/streams/live-streams.ts';
import { Http2Stream } from '../../../../src/http2/streams/stream.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

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
