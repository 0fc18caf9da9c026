import type { Test } from 'tap';
import type { CounterStore } from '../../../src/counters/store.ts';
import { batchOf, NOON, type TestOp } from '../../support/counting.ts';
import { callsFor, concurrent, type Decided, decidedOf, reserving } from '../../support/leases.ts';
import { LeaseScene } from './scene.ts';

/** Two stores with the same counters, as two processes or two threads have them. */
export type OpenTwo = (t: Test) => Promise<readonly CounterStore[]>;

/** How two clients of the same counters share leases. */
export function leaseClientsExam(t: Test, openTwo: OpenTwo, startMs = NOON.nowS * 1_000): void {
  const [tokens, slots] = [callsFor('tokens', reserving(100)), callsFor('slots', concurrent(7))];

  t.test('batches in flight together never hold more than there is', async t => {
    const stores = await openTwo(t);
    const scenes = stores.map(store => new LeaseScene(store, startMs));
    const ops = Array.from({ length: 60 }, (_, i) => [tokens(`${i}`).op(1), slots(`${i}`).op(1)]);
    const answers = (await inFlight(scenes, ops)).map(decided => decided.answers);
    const admitted = answers.map(([first]) => !first.refused && !first.heldBack);
    t.equal(admitted.filter(Boolean).length, 7, 'as many as there are slots');
    t.ok(answers.flat().every(({ after }) => after <= 100));
    t.match(await scenes[0].look(tokens('x').op(0)), { level: 7, held: 7 });
    t.match(await scenes[1].look(slots('x').op(0)), { level: 7, held: 7 });
  });

  t.test('a lease that one client has taken is settled by the other', async t => {
    const stores = await openTwo(t);
    const [first, second] = stores.map(store => new LeaseScene(store, startMs));
    await first.together(tokens('a').op(60), slots('a').op(1));
    t.match(await second.each(tokens('b').op(41)), [{ refused: true, after: 60 }]);
    t.match(await second.together(tokens('a').op(50), slots('a').refund(1)), [
      { step: 'settle', after: 50, held: 60 },
      { step: 'settle', after: 0 },
    ]);
    t.match(await first.each(tokens('a').op(50), tokens('b').op(50)), [{ step: 'repeat' }, { after: 100 }]);
  });

  t.test('the count at the end is the sum of what was used', async t => {
    const stores = await openTwo(t);
    const scenes = stores.map(store => new LeaseScene(store, startMs));
    const of = callsFor('sum', reserving(1_000));
    const holders = Array.from({ length: 80 }, (_, i) => of(`${i}`));
    const used = (i: number) => (i * 7) % 23;
    await inFlight(
      scenes,
      holders.map(holder => [holder.op(10)]),
    );
    await inFlight(
      scenes,
      holders.map((holder, i) => [
        i % 2 === 0 ? holder.refund(10 - Math.min(used(i), 10)) : holder.op(1 + used(i)),
      ]),
    );
    const total = holders.map((_, i) => (i % 2 === 0 ? Math.min(used(i), 10) : 1 + used(i)));
    const level = total.reduce((sum, hits) => sum + hits, 0);
    t.match(await scenes[1].look(of('x').op(0)), { level, held: 0 });
  });
}

/** Decides requests at once, one by the first client and one by the other in turn. */
function inFlight(
  scenes: readonly LeaseScene[],
  requests: readonly (readonly TestOp[])[],
): Promise<Decided[]> {
  return Promise.all(
    requests.map(async (ops, i) => {
      const { store, time } = scenes[i % scenes.length];
      const batch = batchOf([{ ops }], time);
      await store.incrementHoldingBack(batch);
      return decidedOf(batch);
    }),
  );
}
