import { ACTION } from '../../../src/counters/leases/lease.ts';
import { callsFor, concurrent, once, reserving } from '../../support/leases.ts';
import type { LeaseTopic } from './scene.ts';

/** Leases of ten seconds. */
const tokens = callsFor('tokens', reserving(100, { forS: 10 }));
const slots = callsFor('slots', concurrent(2, { forS: 10 }));

/** How leases end by themselves. */
export const ends: LeaseTopic = test => {
  test('the slot of a holder that has died comes back at the end of its lease, and not earlier', async (scene, t) => {
    await scene.each(slots('a').op(1));
    scene.wait(4_000);
    await scene.each(slots('b').op(1));
    t.match(await scene.levelAfter(slots('c').op(1)), { held: 2, endsMs: 6_000, expired: 0 });
    scene.wait(5_999);
    t.match(await scene.each(slots('c').op(1)), [{ refused: true, after: 2 }]);
    t.match(await scene.levelAfter(slots('c').op(1)), { endsMs: 1 });
    scene.wait(1);
    t.match(await scene.levelAfter(slots('c').op(1)), { held: 2, endsMs: 4_000, expired: 1 });
    scene.wait(10_000);
    t.match(await scene.levelAfter(slots('d').op(0)), { held: 0, endsMs: 0, expired: 2 }, 'all of them');
    t.match(await scene.levelAfter(slots('d').op(0)), { held: 0, endsMs: 0, expired: 0 }, 'are found once');
  });

  test('a request prolongs no other lease, and a release shortens none', async (scene, t) => {
    const many = callsFor('many', concurrent(9, { forS: 10 }));
    await scene.each(many('a').op(1));
    for (let second = 1; second < 10; second++) {
      scene.wait(1_000);
      const holder = many(`${second}`);
      t.match(await scene.each(holder.op(1), holder.refund(1), many('late').op(0)), [
        { after: 2 },
        { after: 1 },
      ]);
    }
    scene.wait(999);
    t.match(await scene.levelAfter(many('late').op(0)), { held: 1, endsMs: 1 });
    scene.wait(1);
    t.match(await scene.look(many('a').op(0)), { level: 0, endsMs: 0 });
  });

  test('a holder that calls without hits keeps its lease', async (scene, t) => {
    await scene.each(tokens('a').op(60), slots('a').op(1));
    for (let time = 0; time < 5; time++) {
      scene.wait(9_999);
      t.match(await scene.each(tokens('a').op(0), slots('a').acting(ACTION.extend)(0)), [
        { step: 'extend', after: 60 },
        { step: 'extend', after: 1 },
      ]);
      t.match(await scene.look(slots('a').op(0)), { endsMs: 10_000 });
    }
    t.match(await scene.each(tokens('a').op(50), slots('a').refund(1)), [{ after: 50 }, { after: 0 }]);
  });

  test('a lease that is taken again lasts as long as a new one', async (scene, t) => {
    await scene.each(slots('a').op(1), tokens('a').op(10));
    scene.wait(8_000);
    await scene.each(slots('a').op(1), tokens('a').acting(ACTION.reserve)(10));
    t.match(await scene.look(slots('a').op(0)), { level: 2, endsMs: 10_000 });
    t.match(await scene.look(tokens('a').op(0)), { level: 20, endsMs: 10_000 });
    scene.wait(10_000);
    t.match(await scene.levelAfter(slots('a').op(0)), { held: 0, expired: 2 });
    t.match(await scene.levelAfter(tokens('b').op(0)), { held: 0, expired: 20 });
  });

  test('a late settlement counts what it says, whether or not it fits', async (scene, t) => {
    await scene.each(tokens('a').op(60), tokens('b').op(30));
    scene.wait(10_000);
    t.match(await scene.levelAfter(tokens('c').op(90)), { held: 90, expired: 90 }, 'there was room');
    t.match(await scene.each(tokens('a').op(50)), [{ step: 'settle', after: 140, spent: 50, held: 60 }]);
    t.match(await scene.each(tokens('a').op(50)), [{ step: 'repeat', after: 140 }]);
    t.match(await scene.each(tokens('b').refund(10)), [{ step: 'settle', after: 160, spent: 20 }]);
    t.match(await scene.each(tokens('c').op(10)), [{ step: 'settle', after: 80 }]);
  });

  test('a late settlement within the hits of the lease is no overdraft', async (scene, t) => {
    const lenient = callsFor('lenient', reserving(100, { forS: 10, allowsOverdraft: true }));
    await scene.each(lenient('a').op(60));
    scene.wait(10_000);
    t.match(await scene.each(lenient('a').op(70)), [{ step: 'settle', after: 60, spent: 70, held: 60 }]);
  });

  test('a lease that has ended is taken again by a call without hits, if there is room', async (scene, t) => {
    await scene.each(tokens('a').op(60), tokens('b').op(40));
    scene.wait(10_000);
    t.match(await scene.each(tokens('a').op(0)), [{ step: 'take', after: 60, held: 60, refused: false }]);
    t.match(await scene.each(tokens('c').op(30), tokens('b').acting(ACTION.extend)(0)), [
      { step: 'take', after: 90 },
      { step: 'take', after: 90, held: 0, refused: true },
    ]);
    t.match(await scene.each(tokens('c').op(0), tokens('c').refund(30)), [{}, { after: 60 }]);
    t.match(await scene.each(tokens('b').op(0)), [{ step: 'take', after: 100, held: 40 }]);
  });

  test('a release of a lease that has ended spends nothing and frees nothing', async (scene, t) => {
    await scene.each(tokens('a').op(60), slots('a').op(1));
    scene.wait(10_000);
    await scene.each(tokens('b').op(50), slots('b').op(1));
    t.match(await scene.each(tokens('a').acting(ACTION.release)(0), slots('a').refund(1)), [
      { step: 'nothing', after: 50 },
      { step: 'nothing', after: 1 },
    ]);
  });

  test('a lease that has ended is forgotten after the same time again', async (scene, t) => {
    await scene.each(tokens('a').op(60), tokens('b').op(20));
    scene.wait(19_999);
    t.match(await scene.each(tokens('a').op(7)), [{ step: 'settle', after: 7 }]);
    scene.wait(1);
    t.match(await scene.each(tokens('b').op(7)), [{ step: 'take', after: 14 }]);
    t.match(await scene.look(tokens('b').op(0)), { level: 14, held: 7 });
  });

  test('a settled lease is remembered for as long as a lease lasts, and for a minute at most', async (scene, t) => {
    for (const [name, forS, rememberedS] of [
      ['short', 10, 10],
      ['long', 3_000, 60],
    ] as const) {
      const of = callsFor(name, reserving(100, { forS }));
      await scene.each(of('a').op(9), of('a').op(5), of('b').op(9), of('b').op(5));
      scene.wait(rememberedS * 1_000 - 1);
      t.match(await scene.each(of('a').op(5)), [{ step: 'repeat', after: 10 }], name);
      scene.wait(1);
      t.match(await scene.each(of('b').op(5)), [{ step: 'take', after: 15 }], name);
    }
  });

  test('a slot of nobody, and an estimate without a holder, come back at the end', async (scene, t) => {
    const unnamed = callsFor('unnamed', reserving(100, { forS: 10, hasHolders: false, estimate: 60 }))('');
    await scene.each(slots('').op(1), unnamed.op(0));
    scene.wait(5_000);
    await scene.each(slots('').op(1));
    t.match(await scene.each(slots('').op(1), unnamed.op(0)), [{ refused: true }, { refused: true }]);
    scene.wait(5_000);
    t.match(await scene.each(slots('').op(1), unnamed.op(0)), [{ after: 2 }, { refused: false, after: 60 }]);
    t.match(await scene.each(unnamed.op(10), unnamed.op(20)), [{ after: 10 }, { after: 30 }]);
  });

  test('of leases without holders, the one that ends first is settled', async (scene, t) => {
    const unnamed = callsFor('unnamed', reserving(100, { forS: 10, hasHolders: false, estimate: 20 }))('');
    await scene.each(unnamed.op(0));
    scene.wait(3_000);
    await scene.each(unnamed.op(0));
    t.match(await scene.look(unnamed.op(0)), { level: 40, endsMs: 7_000 });
    await scene.each(unnamed.op(5));
    t.match(await scene.look(unnamed.op(0)), { level: 25, held: 20, endsMs: 10_000 });
  });

  test('a call of a holder counts once, also after its lease has ended', async (scene, t) => {
    const calls = callsFor('calls', once(100, { forS: 10 }));
    await scene.each(calls('a').op(1));
    scene.wait(10_000);
    t.match(await scene.each(calls('a').op(0), calls('a').op(1)), [
      { after: 1 },
      { step: 'settle', after: 1 },
    ]);
    t.match(await scene.levelAfter(calls('b').op(0)), { held: 0, expired: 0 });
  });

  test('shorter leases of a changed rule hold for leases that exist', async (scene, t) => {
    const long = callsFor('changed', concurrent(1, { forS: 1_000 }));
    const short = callsFor('changed', concurrent(1, { forS: 5 }));
    await scene.each(long('a').op(1));
    t.match(await scene.levelAfter(short('b').op(1)), { held: 1, endsMs: 5_000 });
    scene.wait(5_000);
    t.match(await scene.each(short('b').op(1)), [{ refused: false, after: 1 }]);
  });

  test('a clock that is set back lets no lease last longer than a new one', async (scene, t) => {
    await scene.each(slots('a').op(1), slots('b').op(1));
    scene.wait(-86_400_000);
    t.match(await scene.levelAfter(slots('c').op(1)), { held: 2, endsMs: 10_000 });
    scene.wait(10_000);
    t.match(await scene.levelAfter(slots('c').op(1)), { held: 1, expired: 2 });
  });
};
