import { callsFor, reserving } from '../../support/leases.ts';
import type { LeaseTopic } from './scene.ts';

/** What a settlement that exceeds what its lease held means for later requests. */
export const overdrafts: LeaseTopic = test => {
  test('hits beyond what a lease held are spent, even beyond the limit, and refuse the next request', async (scene, t) => {
    const of = callsFor('strict', reserving(100));
    t.match(await scene.each(of('a').op(60), of('b').op(40)), [{ after: 60 }, { after: 100 }]);
    t.match(await scene.each(of('a').op(90)), [{ step: 'settle', after: 130, spent: 90, refused: false }]);
    t.match(await scene.each(of('c').op(1), of('c').op(0)), [
      { refused: true },
      { refused: true, after: 130 },
    ]);
    t.match(await scene.each(of('b').op(5), of('c').op(6), of('c').op(5)), [
      { step: 'settle', after: 95 },
      { step: 'take', refused: true },
      { step: 'take', refused: false, after: 100 },
    ]);
  });

  test('if the rule allows it, they take no room from others', async (scene, t) => {
    const of = callsFor('lenient', reserving(100, { allowsOverdraft: true }));
    t.match(await scene.each(of('a').op(60), of('b').op(40)), [{ after: 60 }, { after: 100 }]);
    t.match(await scene.each(of('a').op(90)), [{ step: 'settle', after: 100, spent: 90, held: 60 }]);
    t.match(await scene.each(of('c').op(1)), [{ refused: true }], 'what was held is spent');
    t.match(await scene.each(of('b').op(10), of('c').op(30)), [
      { after: 70 },
      { after: 100, refused: false },
    ]);
    t.match(await scene.each(of('').refund(500)), [{ step: 'giveBack', after: 30 }], 'nothing is owed');
    t.match(await scene.look(of('c').op(0)), { level: 30, held: 30 });
  });

  test('a limit that is lowered below what is held refuses requests until there is room', async (scene, t) => {
    const [of, ofLower] = [reserving(100), reserving(50)].map(terms => callsFor('lowered', terms));
    await scene.each(of('a').op(50), of('b').op(40));
    t.match(await scene.each(ofLower('c').op(1), ofLower('a').op(0)), [
      { step: 'take', refused: true, after: 90 },
      { step: 'extend', refused: false, after: 90 },
    ]);
    t.match(await scene.each(ofLower('a').op(20), ofLower('c').op(1)), [
      { step: 'settle', after: 60 },
      { refused: true, after: 60 },
    ]);
    t.match(await scene.each(ofLower('b').refund(35), ofLower('c').op(26), ofLower('c').op(25)), [
      { step: 'settle', after: 25 },
      { refused: true },
      { refused: false, after: 50 },
    ]);
    const none = callsFor('lowered', reserving(0));
    t.match(await scene.each(none('d').op(1), none('d').op(0), none('c').op(20)), [
      { refused: true },
      { step: 'ask', refused: true },
      { step: 'settle', refused: false, after: 45 },
    ]);
  });
};
