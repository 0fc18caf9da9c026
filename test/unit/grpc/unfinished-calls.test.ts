import t from 'tap';
import { type Call, UnfinishedCalls } from '../../../src/grpc/calls.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

/** As much of a call as the list looks at. */
function unfinished(beganMs: number): Call {
  return { beganMs, older: null, newer: null } as Call;
}

t.test('the oldest call is known, whichever calls are removed', async t => {
  const random = new SeededRandom(11);
  const calls = new UnfinishedCalls();
  const expected: Call[] = [];
  for (let step = 0; step < 2_000; step++) {
    if (expected.length === 0 || random.next() < 0.5) {
      const added = unfinished(step);
      calls.add(added);
      expected.push(added);
    } else {
      const [removed] = expected.splice(random.below(expected.length), 1);
      calls.remove(removed);
      t.equal(removed.older, null, 'a removed call links to no other');
      t.equal(removed.newer, null);
    }
    t.equal(calls.oldest, expected[0] ?? null);
  }
});
