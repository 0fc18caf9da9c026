import t from 'tap';
import { Balance } from '../../../../src/app/serving/balance.ts';

interface Load {
  readonly connections: number;
  readonly decisions: number;
  readonly busy: number;
}

const load = (connections: number, busy: number): Load => ({ connections, decisions: 0, busy });

/** The looks, counted from 1, at which something should move. */
function movesAt(looks: number, threads: (look: number) => readonly Load[]): (readonly [number, object])[] {
  let look = 0;
  const balance = new Balance({ all: () => [...threads(look)] });
  const moves: (readonly [number, object])[] = [];
  for (look = 1; look <= looks; look++) {
    const move = balance.look();
    if (move !== null) moves.push([look, move]);
  }
  return moves;
}

t.test('a connection of the busiest thread moves if the difference lasts, then every ten looks', async t => {
  t.same(
    movesAt(26, () => [load(3, 0.9), load(1, 0.45)]),
    [
      [5, { from: 0, mostShare: 0.5 }],
      [15, { from: 0, mostShare: 0.5 }],
      [25, { from: 0, mostShare: 0.5 }],
    ],
  );
});

t.test('nothing moves', async t => {
  const never = (threads: readonly Load[]) =>
    t.same(
      movesAt(60, () => threads),
      [],
    );
  t.comment('while the busiest thread has time to spare');
  never([load(3, 0.6), load(1, 0.1)]);
  t.comment('while all threads have much to do');
  never([load(3, 0.95), load(1, 0.8)]);
  t.comment('if the work comes from one connection');
  never([load(1, 0.9), load(1, 0.1)]);
});

t.test('a burst moves nothing', async t => {
  t.same(
    movesAt(60, look => (look % 5 === 0 ? [load(2, 0.3), load(2, 0.3)] : [load(2, 0.9), load(2, 0.1)])),
    [],
  );
});
