import { NEVER_FULL } from '../../../src/counters/batch.ts';
import { ACTION } from '../../../src/counters/leases/lease.ts';
import { fixedWindow, slidingWindow, tokenBucket } from '../../support/admission.ts';
import type { TestOp } from '../../support/counting.ts';
import { callsFor, concurrent, once, reserving, WINDOW_S } from '../../support/leases.ts';
import type { LeaseTopic } from './scene.ts';

const tokens = callsFor('tokens', reserving(100));
const money = callsFor('money', reserving(50));
const slots = callsFor('slots', concurrent(2, { settles: true }));
const calls = callsFor('calls', once(3));

/** Limits of every other kind, with 5 hits each. */
const others = (hits: number): TestOp[] => [
  { key: 'count', hits, limit: 5 },
  { key: 'fixed', hits, terms: fixedWindow(5, WINDOW_S) },
  { key: 'sliding', hits, terms: slidingWindow(5, 60) },
  { key: 'bucket', hits, terms: tokenBucket(5, 60) },
];

/** How several limits of one request are decided together. */
export const requests: LeaseTopic = test => {
  test('a request takes a lease of every limit, or of none', async (scene, t) => {
    const ask = (holder: string, hits: number) =>
      scene.together(tokens(holder).op(hits), money(holder).op(hits), slots(holder).op(hits));
    t.match(await ask('a', 30), [{ after: 30 }, { after: 30 }, { after: 1 }]);
    t.match(await ask('b', 30), [
      { step: 'take', refused: false, heldBack: true, after: 30, held: 0 },
      { step: 'take', refused: true, heldBack: false, after: 30, held: 0 },
      { step: 'take', refused: false, heldBack: true, after: 1, held: 0 },
    ]);
    t.match(await ask('b', 20), [{ after: 50 }, { after: 50 }, { after: 2 }], 'there is nothing of it');
    t.match(await ask('c', 0), [{ heldBack: true }, { refused: true }, { refused: true, after: 2 }]);
  });

  test('a request that a full limit refuses uses up nothing of its other limits', async (scene, t) => {
    await scene.together(tokens('a').op(100), ...others(2));
    const refused = await scene.together(tokens('b').op(1), ...others(2));
    t.match(refused, [{ refused: true }, ...Array(4).fill({ refused: false, heldBack: true })]);
    t.same(
      refused.map(({ after }) => after),
      [100, 2, 2, 2, 24_000],
    );
    await scene.each(tokens('a').op(10));
    const admitted = await scene.together(tokens('b').op(1), ...others(3));
    t.match(admitted, Array(5).fill({ refused: false, heldBack: false }));
  });

  test('any other limit that is full holds back the lease', async (scene, t) => {
    for (const [i, full] of others(1).entries()) {
      await scene.together({ ...full, hits: 5 });
      const answers = await scene.together(tokens('a').op(10), full, slots('a').op(1));
      t.match(answers, [
        { step: 'take', heldBack: true, after: 0, held: 0 },
        { heldBack: false },
        { step: 'take', heldBack: true, after: 0, held: 0 },
      ]);
      t.match(await scene.look(tokens('a').op(0)), { level: 0, held: 0, endsMs: 0 }, `limit ${i}`);
    }
  });

  test('a request that is known to be over its limit takes no lease', async (scene, t) => {
    await scene.each(tokens('b').op(20));
    const ops = [tokens('a').op(10), slots('a').op(1), tokens('b').op(5)];
    t.match(await scene.requests({ held: true, ops }), [
      { step: 'take', heldBack: true, after: 5 },
      { step: 'take', heldBack: true, after: 0 },
      { step: 'settle', heldBack: false, after: 5 },
    ]);
  });

  test('a settlement, an extension and a release are not held back by a full limit', async (scene, t) => {
    const start = (holder: string) => [tokens(holder).op(20), slots(holder).op(1)];
    await scene.requests({ ops: start('a') }, { ops: start('b') }, { ops: [{ key: 'count', hits: 5 }] });
    const full: TestOp = { key: 'count', hits: 1, limit: 5 };
    t.match(await scene.together(full, tokens('a').op(0), slots('a').op(0)), [
      { refused: false, heldBack: false, after: 6 },
      { step: 'extend', heldBack: false },
      { step: 'extend', heldBack: false },
    ]);
    t.match(await scene.together(full, tokens('a').op(70), slots('a').op(70)), [
      {},
      { step: 'settle', heldBack: false, after: 90 },
      { step: 'settle', heldBack: false, after: 1 },
    ]);
    const release = [tokens, slots].map(of => of('b').acting(ACTION.release)(0));
    t.match(await scene.together(...release, full), [
      { step: 'settle', after: 70 },
      { step: 'settle', after: 0 },
      { heldBack: false },
    ]);
  });

  test('what a request gives back makes room for its own hits, wherever it stands', async (scene, t) => {
    await scene.each(tokens('a').op(100), slots('a').op(1), slots('b').op(1));
    t.match(
      await scene.together(tokens('b').op(60), slots('c').op(1), tokens('a').op(40), slots('a').op(1)),
      [
        { step: 'take', refused: false, after: 100 },
        { step: 'take', refused: false, after: 2 },
        { step: 'settle', after: 40 },
        { step: 'settle', after: 1 },
      ],
    );
  });

  test('a limit whose rejections do not count refuses only its own lease', async (scene, t) => {
    await scene.each(tokens('a').op(100));
    const quiet = tokens('b').op(1, { limit: NEVER_FULL });
    t.match(await scene.together(quiet, slots('b').op(1), { key: 'count', hits: 1 }), [
      { step: 'take', refused: true, after: 100, held: 0 },
      { step: 'take', refused: false, after: 1, held: 1 },
      { after: 1, heldBack: false },
    ]);
    t.match(await scene.together({ ...quiet, hits: 5 }, slots('b').op(5)), [
      { step: 'take', refused: true, after: 100 },
      { step: 'settle', after: 0 },
    ]);
  });

  test('a plain limit beside leases counts the first call of a holder, and no later one', async (scene, t) => {
    const both = (holder: string, hits: number, more: Partial<TestOp> = {}) =>
      scene.together(tokens(holder).op(hits, more), calls(holder).op(1, more));
    t.match(await both('a', 30), [{ after: 30 }, { step: 'take', after: 1, spent: 1, held: 0 }]);
    t.match(await both('a', 0), [{ step: 'extend' }, { step: 'settle', after: 1, spent: 0 }]);
    t.match(await both('b', 30), [{ after: 60 }, { step: 'take', after: 2, spent: 1 }]);
    t.match(await both('b', 10), [
      { step: 'settle', after: 40 },
      { step: 'settle', after: 2, spent: 0 },
    ]);
    t.match(await both('c', 20), [{ after: 60 }, { after: 3 }]);
    t.match(await both('c', 5, { isRefund: true }), [{ after: 55 }, { step: 'settle', after: 3 }]);
    t.match(await both('d', 1), [
      { heldBack: true, after: 55 },
      { step: 'take', refused: true, after: 3 },
    ]);
    t.match(await scene.look(calls('a').op(0)), { level: 3, held: 0 });
  });

  test('requests of a batch are decided in order, each by what those before it left', async (scene, t) => {
    const start = (holder: string, hits: number) => ({
      ops: [tokens(holder).op(hits), slots(holder).op(1), { key: 'all', hits: 1, limit: 9 }],
    });
    const answers = await scene.requests(
      start('a', 60),
      start('b', 60),
      start('c', 40),
      start('d', 1),
      start('a', 10),
      start('d', 50),
    );
    t.match(
      answers.filter((_, i) => i % 3 < 2),
      [
        { after: 60, refused: false },
        { after: 1, refused: false },
        { after: 60, refused: true },
        { after: 1, heldBack: true },
        { after: 100, refused: false },
        { after: 2, refused: false },
        { after: 100, refused: true },
        { after: 2, refused: true },
        { step: 'settle', after: 50 },
        { step: 'settle', after: 1 },
        { step: 'take', after: 100 },
        { step: 'take', after: 2 },
      ],
    );
    t.same(
      answers.filter((_, i) => i % 3 === 2).map(({ after }) => after),
      [1, 1, 2, 2, 3, 4],
    );
  });

  test('a limit twice in one request holds the hits of both, or of none', async (scene, t) => {
    t.match(await scene.together(tokens('a').op(30), tokens('a').op(40)), [{ after: 30 }, { after: 70 }]);
    t.match(await scene.look(tokens('a').op(0)), { level: 70, held: 70 });
    t.match(await scene.together(tokens('b').op(20), tokens('c').op(20)), [
      { after: 70, heldBack: true },
      { after: 70, refused: true },
    ]);
    t.match(await scene.look(tokens('a').op(0)), { level: 70, held: 70 });
    t.match(await scene.each(tokens('a').op(25)), [{ step: 'settle', after: 25, held: 70 }]);
  });
};
