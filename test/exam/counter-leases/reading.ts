import { callsFor, concurrent, once, reserving } from '../../support/leases.ts';
import type { LeaseTopic } from './scene.ts';

const tokens = callsFor('tokens', reserving(100));
const slots = callsFor('slots', concurrent(2));

/** What explanations and operators see. */
export const reading: LeaseTopic = test => {
  test('what is spent and held can be read as often as one likes', async (scene, t) => {
    t.match(await scene.look(tokens('a').op(1)), { level: 0, held: 0, endsMs: 0 });
    await scene.each(tokens('a').op(30), tokens('b').op(20), tokens('b').op(15), slots('a').op(1));
    for (let time = 1; time <= 2; time++) {
      t.match(await scene.look(tokens('a').op(99)), { level: 45, held: 30, endsMs: 600_000 });
      t.match(await scene.look(slots('c').op(1)), { level: 1, held: 1, endsMs: 600_000 });
    }
    t.match(await scene.each(tokens('a').op(30)), [{ step: 'settle', after: 45 }]);
  });

  test('a reset removes what is spent and held, and says what it was', async (scene, t) => {
    const calls = callsFor('calls', once(5));
    await scene.each(
      tokens('a').op(30),
      tokens('b').op(9),
      tokens('b').op(5),
      slots('a').op(1),
      calls('a').op(1),
    );
    t.match(await scene.look(tokens('x').op(1), 'reset'), { level: 35, held: 30 });
    t.match(await scene.look(slots('x').op(1), 'reset'), { level: 1, held: 1 });
    t.match(await scene.look(calls('x').op(1), 'reset'), { level: 1, held: 0 });
    t.match(
      await scene.look(tokens('x').op(1), 'reset'),
      { level: 0, held: 0, endsMs: 0 },
      'it can be repeated',
    );
    t.match(await scene.each(tokens('c').op(100), slots('b').op(2)), [{ after: 100 }, { after: 2 }]);
    t.match(await scene.each(tokens('a').refund(30), slots('a').refund(1), calls('a').refund(1)), [
      { step: 'nothing', after: 100 },
      { step: 'nothing', after: 2 },
      { step: 'nothing', after: 0 },
    ]);
  });

  test('a reset forgets what is allowed beyond the estimates', async (scene, t) => {
    const lenient = callsFor('lenient', reserving(100, { allowsOverdraft: true }));
    await scene.each(lenient('a').op(10), lenient('a').op(90));
    t.match(await scene.look(lenient('a').op(0), 'reset'), { level: 10 });
    t.match(await scene.each(lenient('b').op(100), lenient('c').op(1)), [{ after: 100 }, { refused: true }]);
  });

  test('a reset of one limit leaves the leases of others', async (scene, t) => {
    const other = callsFor('other', reserving(100));
    await scene.each(tokens('a').op(30), other('a').op(30));
    await scene.look(tokens('a').op(0), 'reset');
    t.match(await scene.each(other('a').op(20)), [{ step: 'settle', after: 20 }]);
  });
};
