import t from 'tap';
import { CollectionRounds } from '../../../src/stats/collection-rounds.ts';

/** A part of the rounds that ends when the test says so. */
class Fetching {
  readonly begun: PromiseWithResolvers<void>[] = [];

  readonly fetch = (): Promise<void> => {
    const round = Promise.withResolvers<void>();
    this.begun.push(round);
    return round.promise;
  };
}

t.test('without anything to collect there is nothing to wait for', async t => {
  t.equal(new CollectionRounds().collect(), null);
});

t.test('a round ends when all of its parts have ended', async t => {
  const rounds = new CollectionRounds();
  const parts = [new Fetching(), new Fetching()];
  for (const { fetch } of parts) rounds.add(fetch);
  let collected = false;
  const collecting = rounds.collect()!.then(() => {
    collected = true;
  });
  parts[0].begun[0].resolve();
  await new Promise(resolve => setImmediate(resolve));
  t.notOk(collected);
  parts[1].begun[0].resolve();
  await collecting;
});

t.test('readers that ask during a round share the next one, which begins later', async t => {
  const rounds = new CollectionRounds();
  const { begun, fetch } = new Fetching();
  rounds.add(fetch);
  const first = rounds.collect();
  const second = rounds.collect();
  const third = rounds.collect();
  t.not(second, first);
  t.equal(third, second);
  t.equal(begun.length, 1);
  begun[0].resolve();
  await first;
  t.equal(begun.length, 2);
  const fourth = rounds.collect();
  t.not(fourth, second, 'the second round has begun as well');
  begun[1].resolve();
  await second;
  begun[2].resolve();
  await fourth;
  const later = rounds.collect();
  begun[3].resolve();
  await later;
  t.equal(begun.length, 4);
});
