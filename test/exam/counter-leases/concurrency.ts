import { ACTION } from '../../../src/counters/leases/lease.ts';
import { callsFor, concurrent } from '../../support/leases.ts';
import type { LeaseTopic } from './scene.ts';

const of = callsFor('running', concurrent(3));

/** How slots limit what runs at the same time. */
export const concurrency: LeaseTopic = test => {
  test('as many requests as there are slots run at the same time', async (scene, t) => {
    t.match(await scene.each(...['a', 'b', 'c', 'd'].map(name => of(name).op(1))), [
      { step: 'take', after: 1, held: 1 },
      { step: 'take', after: 2, held: 1 },
      { step: 'take', after: 3, held: 1 },
      { step: 'take', after: 3, held: 0, refused: true },
    ]);
    t.match(await scene.each(of('b').refund(1)), [{ step: 'settle', after: 2, held: 1, spent: 0 }]);
    t.match(await scene.each(of('d').op(1), of('e').op(1)), [{ refused: false }, { refused: true }]);
    t.match(await scene.look(of('a').op(0)), { level: 3, held: 3, endsMs: 600_000 });
  });

  test('a slot is released once, and only by its holder', async (scene, t) => {
    await scene.each(...['a', 'b', 'c', 'd'].map(name => of(name).op(1)));
    t.match(await scene.each(of('d').refund(1)), [{ step: 'nothing', after: 3 }], 'it was refused');
    t.match(await scene.each(of('a').refund(1), of('a').refund(1), of('a').acting(ACTION.release)(0)), [
      { step: 'settle', after: 2 },
      { step: 'nothing', after: 2 },
      { step: 'nothing', after: 2 },
    ]);
    t.match(await scene.each(of('b').acting(ACTION.release)(0)), [{ step: 'settle', after: 1 }]);
  });

  test('a holder that is taken again takes another slot, and can release one of them', async (scene, t) => {
    const a = of('a');
    t.match(await scene.each(a.op(1), a.op(1), of('b').op(1), a.op(1)), [
      { step: 'take', after: 1 },
      { step: 'take', after: 2 },
      { step: 'take', after: 3 },
      { step: 'take', after: 3, refused: true },
    ]);
    t.match(await scene.each(a.refund(1)), [{ step: 'free', after: 2 }]);
    t.match(await scene.each(a.refund(1), a.refund(1)), [{ step: 'settle', after: 1 }, { step: 'nothing' }]);
    await scene.each(a.op(1), a.op(1));
    t.match(await scene.each(a.acting(ACTION.release)(0)), [{ step: 'settle', after: 1, held: 2 }], 'all');
  });

  test('a holder that has released its slot can take one at once', async (scene, t) => {
    const a = of('a');
    for (let time = 1; time <= 5; time++) {
      t.match(await scene.each(a.op(1), a.refund(1)), [
        { step: 'take', after: 1, refused: false },
        { step: 'settle', after: 0 },
      ]);
    }
  });

  test('a call without hits extends a lease, or asks whether there is a slot', async (scene, t) => {
    t.match(await scene.each(of('a').op(0), of('a').op(1), of('a').op(0)), [
      { step: 'ask', after: 0, refused: false },
      { step: 'take', after: 1 },
      { step: 'extend', after: 1 },
    ]);
    await scene.each(of('b').op(2));
    t.match(await scene.each(of('c').op(0), of('a').op(0)), [
      { step: 'ask', refused: true },
      { step: 'extend', refused: false },
    ]);
  });

  test('a request that names no holder has a slot that nobody can release', async (scene, t) => {
    const nobody = of('');
    t.match(await scene.each(nobody.op(1), nobody.op(1), nobody.refund(1), of('a').op(1), of('b').op(1)), [
      { step: 'take', after: 1 },
      { step: 'take', after: 2 },
      { step: 'nothing', after: 2 },
      { step: 'take', after: 3 },
      { step: 'take', refused: true },
    ]);
  });

  test('beside a limit that is settled, a request has one slot until it is settled', async (scene, t) => {
    const beside = callsFor('beside', concurrent(2, { settles: true }));
    const a = beside('a');
    t.match(await scene.each(a.op(500)), [{ step: 'take', after: 1, held: 1 }], 'the hits are tokens');
    t.match(await scene.each(beside('b').op(700), beside('c').op(1)), [{ after: 2 }, { refused: true }]);
    t.match(await scene.each(a.op(450)), [{ step: 'settle', after: 1, spent: 0, held: 1 }]);
    t.match(await scene.each(a.op(450)), [{ step: 'repeat', after: 1 }]);
    t.match(await scene.each(a.op(500), a.acting(ACTION.settle)(1)), [{ step: 'take' }, { step: 'settle' }]);
    t.match(await scene.each(beside('b').refund(300)), [{ step: 'settle', after: 0 }]);
  });

  test('no slots, and requests that need several', async (scene, t) => {
    const none = callsFor('none', concurrent(0));
    t.match(await scene.each(none('a').op(1), none('a').op(0)), [{ refused: true }, { refused: true }]);
    t.match(await scene.each(of('a').op(2), of('b').op(2), of('c').op(1)), [
      { step: 'take', after: 2 },
      { step: 'take', refused: true },
      { step: 'take', after: 3 },
    ]);
    t.match(await scene.each(of('a').refund(5)), [{ step: 'settle', after: 1 }]);
  });
};
