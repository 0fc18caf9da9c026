import t from 'tap';
import { pickKind } from '../../../bench/soak/grpc/begin-call.ts';
import { CALL_KINDS } from '../../../bench/soak/grpc/call-kinds.ts';
import { Tally } from '../../../bench/soak/grpc/tally.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

const DRAWS = 100_000;

t.test('kinds of calls are drawn as often as their weights say, and the same from the same seed', async t => {
  const draw = (): Map<string, number> => {
    const random = new SeededRandom(7);
    const drawn = new Map<string, number>();
    for (let i = 0; i < DRAWS; i++) {
      const { name } = pickKind(random);
      drawn.set(name, (drawn.get(name) ?? 0) + 1);
    }
    return drawn;
  };
  const drawn = draw();
  const weights = CALL_KINDS.reduce((sum, { weight }) => sum + weight, 0);
  for (const { name, weight } of CALL_KINDS) {
    const expected = (DRAWS * weight) / weights;
    const deviation = Math.abs((drawn.get(name) ?? 0) - expected);
    t.ok(deviation < 5 * Math.sqrt(expected), name);
  }
  t.same(draw(), drawn);
});

t.test('a call that ends as its kind has to is no fault', async t => {
  const tally = new Tally();
  for (const kind of CALL_KINDS) if (kind.ending !== null) tally.end(kind, kind.ending);
  t.same(tally.faults, []);
});

t.test('a call that ends in another way, or is ended by the wrong side, is a fault', async t => {
  const tally = new Tally();
  const [plain] = CALL_KINDS;
  const cancelled = CALL_KINDS.find(({ name }) => name === 'stream cancelled')!;
  tally.end(plain, { status: -1, contentBytes: 0 });
  tally.end(plain, { status: 0, contentBytes: 5 });
  tally.end(cancelled, { status: 0, contentBytes: 28 });
  t.same(tally.faults, [
    'a call (plain) ended with a reset and not with status 0 after 28 bytes',
    'a call (plain) ended with status 0 after 5 bytes and not with status 0 after 28 bytes',
    'a call (stream cancelled) ended with status 0 after 28 bytes and not with nothing, as its caller gives it up',
  ]);
});

t.test('of very many faults the first are kept and all are counted', async t => {
  const tally = new Tally();
  for (let i = 0; i < 1_000; i++) tally.fault(`fault ${i}`);
  t.equal(tally.faults.length, 20);
  t.equal(tally.faultCount, 1_000);
});
