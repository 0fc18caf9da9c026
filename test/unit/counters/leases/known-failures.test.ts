import t, { type Test } from 'tap';
import { LeaseScene } from '../../../exam/counter-leases/scene.ts';
import { NOON } from '../../../support/counting.ts';
import { callsFor, concurrent, once, reserving } from '../../../support/leases.ts';
import { embeddedStore } from '../../../support/stores.ts';

// What goes wrong in other limiters of concurrency and budgets.

const HOUR_MS = 3_600_000;

function shows(title: string, show: (scene: LeaseScene, t: Test) => Promise<unknown>): void {
  t.test(title, async t => show(new LeaseScene(embeddedStore(), NOON.nowS * 1_000), t));
}

/** https://github.com/BerriAI/litellm/issues/20256 and https://github.com/BerriAI/litellm/issues/16011 */
shows('slots of callers that never come back do not add up until nobody gets in', async (scene, t) => {
  const slots = callsFor('model', concurrent(3, { forS: 60 }));
  for (let round = 0; round < 50; round++) {
    const names = ['a', 'b', 'c'].map(name => `${name}${round}`);
    const taken = await scene.each(...names.map(name => slots(name).op(1)));
    t.match(taken, Array(3).fill({ refused: false }), `round ${round}`);
    scene.wait(60_000);
  }
});

/** https://github.com/BerriAI/litellm/pull/28160 */
shows('steady traffic does not keep the slots of lost callers alive', async (scene, t) => {
  const slots = callsFor('model', concurrent(2, { forS: 60 }));
  await scene.each(slots('lost').op(1));
  for (let second = 0; second < 60; second++) {
    await scene.each(slots(`${second}`).op(1), slots(`${second}`).refund(1));
    scene.wait(1_000);
  }
  t.match(await scene.look(slots('x').op(0)), { level: 0, held: 0 });
});

/** https://github.com/BerriAI/litellm/issues/27955 */
shows('a slot is free at once when it is released, and not at the end of a window', async (scene, t) => {
  const slots = callsFor('model', concurrent(1, { forS: HOUR_MS / 1_000 }));
  for (let request = 0; request < 100; request++) {
    const holder = slots(`${request}`);
    t.match(await scene.each(holder.op(1), holder.refund(1)), [{ refused: false }, { after: 0 }]);
  }
});

/** https://github.com/BerriAI/litellm/issues/39309 */
shows('requests that find no slot use up nothing of the limits on requests and tokens', async (scene, t) => {
  const slots = callsFor('slots', concurrent(1, { settles: true }));
  const [tokens, calls] = [callsFor('tokens', reserving(1_000)), callsFor('calls', once(100))];
  const request = (holder: string) => [tokens(holder).op(10), calls(holder).op(1), slots(holder).op(1)];
  await scene.together(...request('first'));
  for (let other = 0; other < 100; other++) await scene.together(...request(`other ${other}`));
  t.match(await scene.look(tokens('x').op(0)), { level: 10 });
  t.match(await scene.look(calls('x').op(0)), { level: 1 });
});

/** https://github.com/BerriAI/litellm/issues/26672 */
shows('parallel requests do not exceed a budget whose cost is known only afterwards', async (scene, t) => {
  const budget = callsFor('budget', reserving(450_000));
  const cost = 150_000;
  const names = ['a', 'b', 'c', 'd', 'e'];
  const asked = await scene.each(...names.map(name => budget(name).op(cost)));
  t.equal(asked.filter(({ refused }) => !refused).length, 3);
  const settled = await scene.each(...names.slice(0, 3).map(name => budget(name).op(cost)));
  t.match(settled.at(-1), { after: 450_000 });
});
