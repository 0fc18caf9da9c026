import { ACTION } from '../../../src/counters/leases/lease.ts';
import { callsFor, reserving } from '../../support/leases.ts';
import type { LeaseTopic } from './scene.ts';

const of = callsFor('tokens', reserving(100));

/** How hits are held for a holder, and spent when it settles them. */
export const reservations: LeaseTopic = test => {
  test('the first call of a holder holds its hits, and the next one spends what was used', async (scene, t) => {
    const a = of('a');
    t.match(await scene.each(a.op(40)), [{ step: 'take', after: 40, held: 40, spent: 0, refused: false }]);
    t.match(await scene.look(a.op(0)), { level: 40, held: 40, endsMs: 600_000 });
    t.match(await scene.each(a.op(30)), [{ step: 'settle', after: 30, held: 40, spent: 30 }], 'less');
    t.match(await scene.look(a.op(0)), { level: 30, held: 0, endsMs: 0 });
    t.match(await scene.each(of('b').op(10), of('b').op(25)), [{ after: 40 }, { after: 55 }], 'more');
    t.match(await scene.each(of('c').op(10), of('c').op(10)), [{ after: 65 }, { after: 65 }], 'as much');
    const nothing = [of('d').op(10), of('d').acting(ACTION.settle)(0)];
    t.match(
      await scene.each(...nothing),
      [{ after: 75 }, { step: 'settle', after: 65, spent: 0 }],
      'nothing',
    );
  });

  test('what is held takes room, and what is given back makes room', async (scene, t) => {
    t.match(await scene.each(of('a').op(60), of('b').op(41), of('c').op(40), of('d').op(1)), [
      { step: 'take', refused: false, after: 60 },
      { step: 'take', refused: true, after: 60, held: 0, spent: 0 },
      { step: 'take', refused: false, after: 100 },
      { step: 'take', refused: true, after: 100 },
    ]);
    t.match(await scene.each(of('a').op(10), of('b').op(50), of('e').op(1)), [
      { step: 'settle', after: 50 },
      { step: 'take', after: 100, refused: false },
      { refused: true },
    ]);
  });

  test('a refund says how much was not used, and the rest is spent', async (scene, t) => {
    const a = of('a');
    await scene.each(a.op(50), of('b').op(10));
    t.match(await scene.each(a.refund(20)), [{ step: 'settle', after: 40, spent: 30, held: 50 }]);
    t.match(await scene.look(a.op(0)), { level: 40, held: 10 });
    t.match(await scene.each(of('b').refund(10)), [{ step: 'settle', after: 30, spent: 0 }], 'all of it');
    t.match(await scene.each(of('c').op(5), of('c').refund(9)), [{ after: 35 }, { after: 30 }], 'too much');
  });

  test('a refund, a release and an end by a holder who is not known release nothing', async (scene, t) => {
    await scene.each(of('a').op(50), of('b').op(70));
    const b = of('b');
    t.match(
      await scene.each(
        b.refund(50),
        b.refund(70),
        b.acting(ACTION.release)(0),
        b.acting(ACTION.settle)(0),
        b.acting(ACTION.extend)(0),
        b.op(0),
      ),
      [
        { step: 'nothing', after: 50 },
        { step: 'nothing', after: 50 },
        { step: 'nothing', after: 50 },
        { step: 'nothing', after: 50 },
        { step: 'ask', after: 50, refused: false },
        { step: 'ask', after: 50, refused: false },
      ],
      'the request of the holder was refused',
    );
    t.match(await scene.look(b.op(0)), { level: 50, held: 50 });
  });

  test('a settlement that is made twice counts once', async (scene, t) => {
    const a = of('a');
    await scene.each(a.op(50), a.op(30));
    t.match(await scene.each(a.op(30)), [{ step: 'repeat', after: 30, refused: false, spent: 0, held: 0 }]);
    await scene.each(of('b').op(20), of('b').refund(5));
    t.match(await scene.each(of('b').refund(5)), [{ step: 'nothing', after: 45 }]);
    const c = of('c');
    await scene.each(c.op(10), c.acting(ACTION.settle)(10));
    const again = await scene.each(c.acting(ACTION.settle)(10), c.acting(ACTION.settle)(12), c.op(10));
    t.match(again, [{ step: 'nothing' }, { step: 'nothing' }, { step: 'repeat', after: 55 }]);
  });

  test('a holder whose lease is settled counts again when it is used again', async (scene, t) => {
    const a = of('a');
    await scene.each(a.op(50), a.op(30));
    t.match(await scene.each(a.op(20)), [{ step: 'take', after: 50 }], 'other hits');
    await scene.each(a.op(20), a.op(20));
    t.match(await scene.each(a.op(20)), [{ step: 'take', after: 70 }], 'the same hits for the third time');
    await scene.each(a.refund(15));
    t.match(await scene.each(a.op(15)), [{ step: 'take', after: 70 }], 'as many as were given back');
    t.match(await scene.look(a.op(0)), { level: 70, held: 15 });
  });

  test('a call without hits asks whether a hit would fit', async (scene, t) => {
    t.match(await scene.each(of('a').op(0)), [{ step: 'ask', after: 0, refused: false }]);
    t.match(await scene.each(of('b').op(100), of('a').op(0)), [
      {},
      { step: 'ask', after: 100, refused: true },
    ]);
    t.match(
      await scene.each(of('b').op(99), of('b').op(0)),
      [{}, { step: 'ask', refused: false }],
      'settled',
    );
  });

  test('a call without hits holds the estimate, if the rule has one', async (scene, t) => {
    const with30 = callsFor('estimates', reserving(100, { estimate: 30 }));
    const [a, b] = [with30('a'), with30('b')];
    t.match(await scene.each(a.op(0), b.acting(ACTION.reserve)(0)), [
      { step: 'take', after: 30, held: 30 },
      { step: 'take', after: 60, held: 30 },
    ]);
    t.match(await scene.each(a.op(0)), [{ step: 'extend', after: 60 }], 'the holder is alive');
    t.match(await scene.each(a.op(45), b.op(5)), [{ after: 75 }, { after: 50 }]);
    t.match(await scene.each(with30('c').op(40)), [{ step: 'take', after: 90 }], 'hits are better known');
    t.match(await scene.each(with30('d').op(0)), [{ step: 'take', after: 90, refused: true }]);
  });

  test('a call without hits ends the lease, if the rule says so', async (scene, t) => {
    const ofRule = callsFor('zero', reserving(100, { zeroSettles: true }));
    const a = ofRule('a');
    t.match(await scene.each(a.op(30), a.op(0)), [{ after: 30 }, { step: 'settle', after: 0, held: 30 }]);
    t.match(await scene.each(a.op(0)), [{ step: 'ask', after: 0 }]);
    t.match(await scene.each(a.acting(ACTION.reserve)(30), a.acting(ACTION.extend)(0)), [
      { step: 'take', after: 30 },
      { step: 'extend', after: 30 },
    ]);
  });

  test('callers that are no proxies say what they want', async (scene, t) => {
    const a = of('a');
    const [reserve, settle, release] = [ACTION.reserve, ACTION.settle, ACTION.release].map(a.acting);
    t.match(await scene.each(reserve(20), reserve(30)), [
      { step: 'take', after: 20 },
      { step: 'take', after: 50, held: 30 },
    ]);
    t.match(
      await scene.each(settle(10)),
      [{ step: 'settle', after: 10, held: 50, spent: 10 }],
      'both at once',
    );
    t.match(await scene.each(reserve(10), release(0)), [{ after: 20 }, { step: 'settle', after: 10 }]);
    t.match(await scene.each(release(0)), [{ step: 'nothing', after: 10 }]);
    t.match(await scene.each(reserve(101)), [{ step: 'take', after: 10, refused: true }]);
    const late = of('late').acting(ACTION.settle)(70);
    t.match(await scene.each(late), [{ step: 'settle', after: 80, spent: 70, refused: false }], 'unknown');
    t.match(await scene.each(late), [{ step: 'nothing', after: 80, spent: 0 }], 'once');
  });

  test('hits of a call that names no holder are spent at once, and can be given back', async (scene, t) => {
    const nobody = of('');
    t.match(await scene.each(nobody.op(40), nobody.op(0), nobody.op(61), nobody.refund(10)), [
      { step: 'spend', after: 40, spent: 40 },
      { step: 'ask', after: 40, refused: false },
      { step: 'spend', after: 40, spent: 0, refused: true },
      { step: 'giveBack', after: 30 },
    ]);
    t.match(await scene.each(of('a').op(50), nobody.refund(99)), [{ after: 80 }, { after: 50 }]);
    t.match(await scene.look(nobody.op(0)), { level: 50, held: 50 }, 'a refund frees no lease of others');
  });

  test('without holders, a call with hits settles the lease that ends first', async (scene, t) => {
    const nobody = callsFor('unnamed', reserving(100, { hasHolders: false, estimate: 40 }))('');
    t.match(await scene.each(nobody.op(0), nobody.op(0), nobody.op(0)), [
      { step: 'take', after: 40 },
      { step: 'take', after: 80 },
      { step: 'take', after: 80, refused: true },
    ]);
    t.match(await scene.each(nobody.op(15), nobody.op(15)), [
      { step: 'settle', after: 55, held: 40, spent: 15 },
      { step: 'settle', after: 30, held: 40, spent: 15 },
    ]);
    t.match(await scene.each(nobody.op(15)), [{ step: 'settle', after: 45, spent: 15 }], 'without a lease');
    t.match(await scene.each(nobody.refund(5)), [{ step: 'giveBack', after: 40 }]);
  });

  test('names of holders are of any length, and differ if any byte differs', async (scene, t) => {
    const names = ['a', 'A', 'a ', 'ä', '1', '01', 'x'.repeat(128), 'x'.repeat(129), 'x'.repeat(4_000)];
    const holders = [...names, `${'x'.repeat(3_999)}y`, `y${'x'.repeat(3_999)}`].map(of);
    const taken = await scene.each(...holders.map(holder => holder.op(2)));
    t.same(new Set(taken.map(({ step }) => step)), new Set(['take']));
    t.match(await scene.look(of('a').op(0)), { held: 22 });
    const settled = await scene.each(...holders.map(holder => holder.op(1)));
    t.same(new Set(settled.map(({ step }) => step)), new Set(['settle']));
    t.match(await scene.look(of('a').op(0)), { level: 11, held: 0 });
  });

  test('equal holders of different limits have leases of their own', async (scene, t) => {
    const other = callsFor('others', reserving(10));
    t.match(await scene.each(of('a').op(7), other('a').op(5)), [
      { step: 'take' },
      { step: 'take', after: 5 },
    ]);
    t.match(await scene.each(of('a').op(3), other('a').op(0)), [{ after: 3 }, { step: 'extend', after: 5 }]);
  });
};
