import t from 'tap';
import { type Unfinished, UnfinishedRequests } from '../../../src/grpc/unfinished.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

function request(beganMs: number): Unfinished {
  return { beganMs, older: null, newer: null };
}

t.test('the oldest is at hand, whichever are taken out', async t => {
  const random = new SeededRandom(11);
  const requests = new UnfinishedRequests<Unfinished>();
  const expected: Unfinished[] = [];
  for (let step = 0; step < 2_000; step++) {
    if (expected.length === 0 || random.next() < 0.5) {
      const added = request(step);
      requests.add(added);
      expected.push(added);
    } else {
      const [removed] = expected.splice(random.below(expected.length), 1);
      requests.remove(removed);
      t.equal(removed.older, null, 'what is out holds on to nothing');
      t.equal(removed.newer, null);
    }
    t.equal(requests.oldest, expected[0] ?? null);
    t.equal(requests.size, expected.length);
  }
});
