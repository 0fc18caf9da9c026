import t from 'tap';
import { FairShares } from '../../../../src/base/turns/fair-shares.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

const BASE = 64;
const CAPACITY = 8 * BASE;

const shares = () => new FairShares({ capacity: CAPACITY, base: BASE });

t.test('a holder that is alone has its base and half of what is to spare', async t => {
  const all = shares();
  t.equal(all.roomFor('acme'), BASE + BASE / 2);
  all.take('acme', BASE + BASE / 2);
  t.equal(all.roomFor('acme'), 0);
  t.equal(all.heldBy('acme'), BASE + BASE / 2);
});

t.test('what is given back can be taken again', async t => {
  const all = shares();
  all.take('acme', 80);
  all.give('acme', 80);
  t.same([all.taken, all.heldBy('acme'), all.roomFor('acme')], [0, 0, 96]);
  all.give('acme', 1);
  t.equal(all.taken, 0, 'nothing is given back twice');
});

t.test('holders that take all they can, one after the other, leave each of the next its share', async t => {
  const all = shares();
  for (let holders = 1; holders <= BASE; holders++) {
    const room = all.roomFor(`t${holders}`);
    t.ok(room >= Math.floor(BASE / holders), `holder ${holders} has room for ${room}`);
    all.take(`t${holders}`, room);
  }
  t.ok(all.roomFor('another') >= 1);
});

t.test('whatever is taken and given back, a holder below its share always has room', async t => {
  for (let seed = 0; seed < 20; seed++) {
    const random = new SeededRandom(seed);
    const all = shares();
    const names = Array.from({ length: 1 + random.below(80) }, (_, at) => `t${at}`);
    for (let step = 0; step < 1_000; step++) {
      const name = random.pick(names);
      const held = all.heldBy(name);
      if (random.below(3) === 0) all.give(name, held === 0 ? 0 : 1 + random.below(held));
      else all.take(name, Math.min(all.roomFor(name), 1 + random.below(2 * BASE)));
      const holders = names.filter(each => all.heldBy(each) > 0).length;
      for (const each of names) {
        const has = all.heldBy(each);
        const share = Math.max(1, Math.floor(BASE / (has > 0 ? holders : holders + 1)));
        if (has < share && all.roomFor(each) < 1) t.fail(`seed ${seed}: ${each} has no room`);
      }
      if (all.taken > CAPACITY) t.fail(`seed ${seed}: ${all.taken} are taken`);
    }
  }
});
