import { ACTION } from '../../../src/counters/leases/lease.ts';
import { callsFor, concurrent, once, reserving, WINDOW_S } from '../../support/leases.ts';
import type { LeaseScene, LeaseTopic } from './scene.ts';

const tokens = callsFor('tokens', reserving(100));

/** Moves the clock into the next window. */
function endWindow(scene: LeaseScene): void {
  scene.wait(scene.windowEndS * 1_000 - scene.nowMs);
  scene.windowEndS += WINDOW_S;
}

/** Moves the clock to shortly before the end of the window. */
function beforeTheEnd(scene: LeaseScene, seconds: number): void {
  scene.wait((scene.windowEndS - seconds) * 1_000 - scene.nowMs);
}

/** What happens to leases when the window ends in which they began. */
export const windows: LeaseTopic = test => {
  test('a lease holds nothing, and spends nothing, in a later window', async (scene, t) => {
    beforeTheEnd(scene, 60);
    await scene.each(tokens('a').op(60), tokens('b').op(20), tokens('b').op(10));
    endWindow(scene);
    t.match(await scene.look(tokens('a').op(0)), { level: 0, held: 0 });
    t.match(await scene.each(tokens('c').op(100)), [{ refused: false, after: 100 }]);
    t.match(await scene.each(tokens('a').op(70)), [{ step: 'settle', after: 100, refused: false }]);
    t.match(await scene.each(tokens('a').op(70)), [{ step: 'repeat', after: 100 }]);
    t.match(await scene.each(tokens('c').op(30)), [{ step: 'settle', after: 30, spent: 30 }]);
  });

  test('a refund and a release give nothing back to a later window', async (scene, t) => {
    beforeTheEnd(scene, 60);
    await scene.each(tokens('a').op(60), tokens('b').op(20));
    endWindow(scene);
    t.match(await scene.each(tokens('c').op(50), tokens('a').refund(60)), [
      {},
      { step: 'settle', after: 50 },
    ]);
    const release = tokens('b').acting(ACTION.release)(0);
    t.match(await scene.each(release), [{ step: 'settle', after: 50 }]);
    t.match(await scene.look(tokens('a').op(0)), { level: 50, held: 50 });
  });

  test('a lease that is extended stays one of its window', async (scene, t) => {
    beforeTheEnd(scene, 60);
    await scene.each(tokens('a').op(60));
    endWindow(scene);
    t.match(await scene.each(tokens('a').op(0)), [{ step: 'extend', after: 0 }]);
    t.match(await scene.each(tokens('b').op(100), tokens('a').op(80)), [
      { step: 'take', refused: false },
      { step: 'settle', after: 100 },
    ]);
  });

  test('a lease that has ended is taken again in the present window', async (scene, t) => {
    beforeTheEnd(scene, 60);
    await scene.each(tokens('a').op(60));
    endWindow(scene);
    scene.wait(540_000);
    t.match(await scene.each(tokens('a').op(0)), [{ step: 'take', after: 60, held: 60 }]);
    t.match(await scene.each(tokens('a').op(50)), [{ step: 'settle', after: 50, spent: 50 }]);
  });

  test('a holder that is taken again holds the hits of the present window', async (scene, t) => {
    beforeTheEnd(scene, 60);
    const take = tokens('a').acting(ACTION.reserve);
    await scene.each(take(60));
    endWindow(scene);
    t.match(await scene.each(take(50)), [{ step: 'take', after: 50, held: 50 }]);
    t.match(await scene.each(tokens('a').op(40)), [{ step: 'settle', after: 40, spent: 40 }]);
  });

  test('a late settlement of a later window spends nothing', async (scene, t) => {
    beforeTheEnd(scene, 60);
    await scene.each(tokens('a').op(60));
    endWindow(scene);
    scene.wait(600_000);
    t.match(await scene.each(tokens('b').op(10), tokens('a').op(60)), [{}, { step: 'settle', after: 10 }]);
  });

  test('what is allowed beyond the estimates is counted by window', async (scene, t) => {
    const lenient = callsFor('lenient', reserving(100, { allowsOverdraft: true }));
    await scene.each(lenient('a').op(10), lenient('a').op(90));
    t.match(await scene.look(lenient('a').op(0)), { level: 10 });
    endWindow(scene);
    t.match(await scene.each(lenient('b').op(20), lenient('b').op(20)), [{ after: 20 }, { after: 20 }]);
    t.match(await scene.each(lenient('c').op(80), lenient('d').op(1)), [{ after: 100 }, { refused: true }]);
  });

  test('slots have no window, and calls that count once have one', async (scene, t) => {
    const [slots, calls] = [callsFor('slots', concurrent(2)), callsFor('calls', once(2))];
    beforeTheEnd(scene, 60);
    await scene.each(slots('a').op(1), calls('a').op(1), slots('b').op(1), calls('b').op(1));
    endWindow(scene);
    t.match(await scene.each(slots('c').op(1), calls('c').op(1)), [
      { refused: true, after: 2 },
      { after: 1 },
    ]);
    t.match(await scene.each(slots('a').refund(1), calls('a').op(1)), [
      { after: 1 },
      { step: 'settle', after: 1 },
    ]);
  });

  test('leases that last longer than several windows hold in the one in which they began', async (scene, t) => {
    const long = callsFor('long', reserving(100, { forS: 10 * WINDOW_S }));
    for (let window = 0; window < 5; window++) {
      t.match(await scene.each(long(`${window}`).op(80)), [{ refused: false, after: 80 }]);
      endWindow(scene);
    }
    const settled = await scene.each(...[0, 1, 2, 3, 4].map(window => long(`${window}`).op(70)));
    t.match(settled, Array(5).fill({ step: 'settle', after: 0 }));
  });

  test('a clock that is slightly behind still counts in the window that has begun', async (scene, t) => {
    endWindow(scene);
    await scene.each(tokens('a').op(60));
    const { windowEndS } = scene;
    scene.windowEndS -= WINDOW_S;
    scene.wait(-1_000);
    t.match(await scene.each(tokens('b').op(50), tokens('b').op(30)), [{ refused: true }, { after: 90 }]);
    scene.windowEndS = windowEndS;
    scene.wait(2_000);
    t.match(await scene.look(tokens('a').op(0)), { level: 90, held: 90 });
  });
};
