import { callsFor, concurrent, reserving } from '../../support/leases.ts';
import { until } from '../../support/until.ts';
import type { LeaseTopic } from './scene.ts';

/** How leases and windows end by the clock of a server. The leases are short, because the tests wait for their ends. */
export const serverClock: LeaseTopic = test => {
  test('slots and hits of holders that have died come back at the end of their leases, and not earlier', async (scene, t) => {
    const [tokens, slots] = [
      callsFor('tokens', reserving(100, { forS: 1 })),
      callsFor('slots', concurrent(1, { forS: 1 })),
    ];
    const startMs = performance.now();
    t.match(await scene.each(slots('a').op(1), slots('b').op(1), tokens('a').op(60), tokens('b').op(41)), [
      { refused: false },
      { refused: true },
      { refused: false },
      { refused: true },
    ]);
    await until(async () => !(await scene.each(slots('b').op(1)))[0].refused);
    t.ok(performance.now() - startMs >= 999, 'the lease lasts a second');
    t.match(await scene.each(slots('a').refund(1), slots('c').op(1)), [
      { step: 'nothing' },
      { refused: true },
    ]);
    // In a cluster, another node has this lease, and got it a little later.
    let level = await scene.levelAfter(tokens('b').op(0));
    await until(async () => {
      if (level.held > 0) level = await scene.levelAfter(tokens('b').op(0));
      return level.held === 0;
    });
    t.match(level, { held: 0, expired: 60 });
    t.match(await scene.each(tokens('c').op(100)), [{ refused: false, after: 100 }]);
  });

  test('an extension prolongs its own lease, and a request no other one', async (scene, t) => {
    const slots = callsFor('slots', concurrent(9, { forS: 600 }));
    await scene.each(slots('a').op(1));
    const endsMs = async (holder: string, hits: number) =>
      (await scene.levelAfter(slots(holder).op(hits))).endsMs;
    await until(async () => (await endsMs('b', 1)) < 599_950);
    t.ok((await endsMs('c', 0)) < 599_950, 'a question does not prolong it either');
    await scene.each(slots('b').refund(9));
    t.ok((await endsMs('c', 0)) < 599_950, 'nor does a release');
    t.ok((await endsMs('a', 0)) > 599_950);
  });

  test('leases hold nothing after the end of their window, and spend nothing', async (scene, t) => {
    const tokens = callsFor('tokens', reserving(100));
    scene.windowEndS = Math.floor(Date.now() / 1_000) + 2;
    t.match(
      await scene.each(tokens('a').op(60), tokens('b').op(20), tokens('b').op(30), tokens('c').op(11)),
      [{}, {}, { after: 90 }, { refused: true }],
    );
    await until(() => Date.now() / 1_000 >= scene.windowEndS + 0.01);
    scene.nowMs = Date.now();
    scene.windowEndS += 3_600;
    t.match(await scene.each(tokens('c').op(40), tokens('a').op(70), tokens('c').op(30)), [
      { step: 'take', after: 40 },
      { step: 'settle', after: 40, spent: 70 },
      { step: 'settle', after: 30 },
    ]);
  });
};
