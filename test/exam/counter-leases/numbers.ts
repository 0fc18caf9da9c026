import { callsFor, concurrent, reserving } from '../../support/leases.ts';
import type { LeaseTopic } from './scene.ts';

const MOST = Number.MAX_SAFE_INTEGER;

/** Large hits, and many holders. */
export const numbers: LeaseTopic = test => {
  test('hits up to 2^53 - 1 are exact', async (scene, t) => {
    const of = callsFor('large', reserving(MOST));
    t.match(await scene.each(of('a').op(MOST - 7), of('b').op(8), of('b').op(7), of('c').op(1)), [
      { step: 'take', after: MOST - 7, held: MOST - 7 },
      { step: 'take', after: MOST - 7, refused: true },
      { step: 'take', after: MOST, held: 7, refused: false },
      { step: 'take', after: MOST, refused: true },
    ]);
    t.match(await scene.each(of('a').op(MOST - 9), of('b').op(6), of('c').op(4), of('c').op(3)), [
      { step: 'settle', after: MOST - 2, spent: MOST - 9, held: MOST - 7 },
      { step: 'settle', after: MOST - 3 },
      { step: 'take', refused: true },
      { step: 'take', refused: false, after: MOST },
    ]);
    t.match(await scene.each(of('c').refund(2), of('').refund(MOST - 10)), [
      { after: MOST - 2 },
      { after: 8 },
    ]);
    t.match(await scene.look(of('a').op(0)), { level: 8, held: 0 });
  });

  test('a settlement beyond 2^53 - 1 stays over every limit', async (scene, t) => {
    const of = callsFor('beyond', reserving(MOST));
    await scene.each(of('a').op(1), of('b').op(1), of('a').op(MOST));
    const [settled] = await scene.each(of('b').op(MOST));
    t.ok(settled.after >= MOST, `${settled.after}`);
    t.match(await scene.each(of('c').op(1), of('c').op(MOST)), [{ refused: true }, { refused: true }]);
  });

  test('thousands of holders of one limit are in one batch, in order', async (scene, t) => {
    const of = callsFor('many', reserving(5_000));
    const holders = Array.from({ length: 3_000 }, (_, i) => of(`holder ${i}`));
    const taken = await scene.each(...holders.map(holder => holder.op(2)));
    t.same(
      taken.map(({ after }) => after),
      holders.map((_, i) => Math.min(2 * (i + 1), 5_000)),
    );
    t.same(
      taken.map(({ refused }) => refused),
      holders.map((_, i) => i >= 2_500),
    );
    t.match(await scene.look(of('a').op(0)), { level: 5_000, held: 5_000 });
    const settled = await scene.each(...holders.slice(0, 2_500).map(holder => holder.op(1)));
    t.same(
      settled.map(({ after }) => after),
      settled.map((_, i) => 5_000 - (i + 1)),
    );
    t.match(await scene.look(of('a').op(0)), { level: 2_500, held: 0 });
  });

  test('holders take and release their slots within one batch', async (scene, t) => {
    const of = callsFor('passing', concurrent(1));
    const ops = Array.from({ length: 500 }, (_, i) => of(`${i >> 1}`)).map((holder, i) =>
      i % 2 === 0 ? holder.op(1) : holder.refund(1),
    );
    const answers = await scene.each(...ops);
    t.same(
      answers.map(({ after, refused }) => [after, refused]),
      ops.map((_, i) => [i % 2 === 0 ? 1 : 0, false]),
    );
  });

  test('many limits with the same holders are in one batch', async (scene, t) => {
    const limits = Array.from({ length: 100 }, (_, i) => callsFor(`limit ${i}`, reserving(i + 1)));
    const groups = ['a', 'b'].map(name => ({ ops: limits.slice(50).map(of => of(name).op(40)) }));
    const answers = await scene.requests(...groups);
    t.match(answers.slice(0, 50), Array(50).fill({ step: 'take', refused: false, after: 40 }));
    t.same(
      answers.slice(50).map(({ refused }) => refused),
      limits.slice(50).map((_, i) => i + 51 < 80),
    );
    const settled = await scene.requests({ ops: limits.slice(50).map(of => of('a').op(1)) });
    t.match(settled, Array(50).fill({ step: 'settle', after: 1, held: 40 }));
  });
};
