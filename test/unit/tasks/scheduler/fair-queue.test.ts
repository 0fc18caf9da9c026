import t, { type Test } from 'tap';
import { FairQueue, type Turn } from '../../../../src/tasks/scheduler/fair-queue.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

const OPTIONS = { slots: 1_000, quantum: 16, maxTurn: 64 };

/** Turns that start all they may, and whose workers have more. */
function served(queue: FairQueue, turns: number, free: number): Map<string, number> {
  const started = new Map<string, number>();
  for (let count = 0; count < turns; count++) {
    const turn = queue.next(free);
    if (turn === null) break;
    queue.done(turn, turn.max, true);
    started.set(turn.tenant, (started.get(turn.tenant) ?? 0) + turn.max);
    for (let task = 0; task < turn.max; task++) queue.release(turn.tenant);
  }
  return started;
}

t.test('nobody waits: there is no turn', async t => {
  const queue = new FairQueue(OPTIONS);
  t.equal(queue.next(10), null);
  queue.add('acme', 'w1');
  t.equal(queue.next(0), null, 'nor without a free slot');
});

t.test('who waits alone is bounded by the free slots and the size of a turn', async t => {
  const queue = new FairQueue(OPTIONS);
  queue.add('acme', 'w1');
  const first = queue.next(1_000) as Turn;
  t.same(first, { tenant: 'acme', workerId: 'w1', max: 64 });
  queue.done(first, 64, true);
  t.equal(queue.next(5)?.max, 5);
});

t.test('a worker that is added twice has one turn, and none beside the one it has', async t => {
  const queue = new FairQueue(OPTIONS);
  queue.add('acme', 'w1');
  queue.add('acme', 'w1');
  const turn = queue.next(10) as Turn;
  t.equal(queue.next(10), null);
  queue.done(turn, 0, false);
  t.equal(queue.next(10), null);
});

t.test('a worker that becomes due during its turn has another, whatever the turn found', async t => {
  const queue = new FairQueue(OPTIONS);
  queue.add('acme', 'w1');
  const turn = queue.next(10) as Turn;
  queue.add('acme', 'w1');
  queue.done(turn, 0, false);
  t.same(queue.next(10)?.workerId, 'w1');
});

t.test('the workers of a tenant have turns one after the other', async t => {
  const queue = new FairQueue(OPTIONS);
  for (const worker of ['w1', 'w2', 'w3']) queue.add('acme', worker);
  const order: string[] = [];
  for (let count = 0; count < 6; count++) {
    const turn = queue.next(4) as Turn;
    order.push(turn.workerId);
    queue.done(turn, turn.max, true);
  }
  t.same(order, ['w1', 'w2', 'w3', 'w1', 'w2', 'w3']);
});

t.test('between tenants a turn is worth the quantum at most', async t => {
  const queue = new FairQueue(OPTIONS);
  queue.add('acme', 'w1');
  queue.add('other', 'w1');
  t.equal(queue.next(1_000)?.max, 16);
  t.equal(queue.next(1_000)?.tenant, 'other');
});

t.test('tenants start as many tasks as each other, whatever number of workers they have', async t => {
  const queue = new FairQueue(OPTIONS);
  for (let worker = 0; worker < 50; worker++) queue.add('many', `w${worker}`);
  queue.add('one', 'w');
  const started = served(queue, 1_000, 7);
  const [many, one] = [started.get('many') ?? 0, started.get('one') ?? 0];
  t.ok(Math.abs(many - one) <= 2 * OPTIONS.quantum, `${many} and ${one}`);
});

t.test('no tenant is ever ahead of another that waits by more than two quanta', async t => {
  for (let seed = 0; seed < 100; seed++) {
    const random = new SeededRandom(seed);
    const queue = new FairQueue(OPTIONS);
    const started = new Map(['a', 'b', 'c'].map(tenant => [tenant, 0]));
    for (const tenant of started.keys()) {
      for (let worker = random.below(5); worker >= 0; worker--) queue.add(tenant, `w${worker}`);
    }
    let most = 0;
    for (let count = 0; count < 300; count++) {
      const turn = queue.next(1 + random.below(30)) as Turn;
      queue.done(turn, turn.max, true);
      for (let task = 0; task < turn.max; task++) queue.release(turn.tenant);
      started.set(turn.tenant, (started.get(turn.tenant) as number) + turn.max);
      most = Math.max(most, Math.max(...started.values()) - Math.min(...started.values()));
    }
    if (most > 2 * OPTIONS.quantum) t.fail(`seed ${seed}: ${most} tasks apart`);
  }
});

t.test(
  'a tenant whose tasks are spread over many workers has the share of one with a single worker',
  async t => {
    const queue = new FairQueue(OPTIONS);
    for (let worker = 0; worker < 20; worker++) queue.add('scattered', `w${worker}`);
    queue.add('plain', 'w');
    const started = new Map([
      ['scattered', 0],
      ['plain', 0],
    ]);
    for (let count = 0; count < 2_000; count++) {
      const turn = queue.next(1_000) as Turn;
      const tasks = turn.tenant === 'scattered' ? 1 : turn.max;
      queue.done(turn, tasks, true);
      for (let task = 0; task < tasks; task++) queue.release(turn.tenant);
      started.set(turn.tenant, (started.get(turn.tenant) as number) + tasks);
    }
    const [scattered, plain] = [...started.values()];
    t.ok(Math.abs(scattered - plain) <= 2 * OPTIONS.quantum, `${scattered} and ${plain}`);
  },
);

t.test('a tenant that found nothing in its turns does not save them up', async t => {
  const queue = new FairQueue(OPTIONS);
  queue.add('quiet', 'w');
  for (let count = 0; count < 10; count++) {
    queue.add('quiet', 'w');
    const turn = queue.next(1_000) as Turn;
    queue.done(turn, 0, false);
  }
  queue.add('busy', 'w');
  queue.add('quiet', 'w');
  for (let count = 0; count < 4; count++) {
    const turn = queue.next(1_000) as Turn;
    t.ok(turn.max <= OPTIONS.quantum);
    queue.done(turn, turn.max, true);
  }
});

t.test('one tenant has at most half of the slots while another waits', async t => {
  const queue = new FairQueue({ ...OPTIONS, slots: 20 });
  queue.add('acme', 'w1');
  const alone = queue.next(20) as Turn;
  t.equal(alone.max, 20, 'all of them while it is alone');
  queue.done(alone, 20, true);
  queue.add('other', 'w1');
  for (let ended = 0; ended < 10; ended++) queue.release('acme');
  const first = queue.next(10) as Turn;
  t.same(first, { tenant: 'other', workerId: 'w1', max: 10 });
  queue.done(first, 10, true);
  t.equal(queue.next(5), null, 'both have half');
  queue.release('acme');
  t.same(queue.next(1), { tenant: 'acme', workerId: 'w1', max: 1 });
});

t.test('half of one slot is that slot', async t => {
  const queue = new FairQueue({ ...OPTIONS, slots: 1 });
  queue.add('acme', 'w1');
  queue.add('other', 'w1');
  t.equal(queue.next(1)?.max, 1);
});

t.test('whatever happens, slots and shares hold', async t => {
  for (let seed = 0; seed < 200; seed++) checkRandomRun(t, seed);
});

/** A run of arrivals, turns and ends at random; tenants `a` and `b` always have work. */
function checkRandomRun(t: Test, seed: number): void {
  const random = new SeededRandom(seed);
  const slots = 2 + random.below(60);
  const queue = new FairQueue({ slots, quantum: 16, maxTurn: 64 });
  const workers = ['w1', 'w2', 'w3'];
  const used = new Map<string, number>();
  const started = new Map<string, number>([
    ['a', 0],
    ['b', 0],
  ]);
  const open: Turn[] = [];
  let total = 0;
  for (const tenant of ['a', 'b']) for (const worker of workers) queue.add(tenant, worker);
  for (let step = 0; step < 400; step++) {
    const taken = total + open.reduce((sum, turn) => sum + turn.max, 0);
    const what = random.below(4);
    if (what === 0) queue.add(random.pick(['c', 'd']), random.pick(workers));
    else if (what === 1) {
      const turn = queue.next(slots - taken);
      if (turn === null) continue;
      if (turn.max < 1 || turn.max > slots - taken) t.fail(`seed ${seed}: a turn of ${turn.max}`);
      if (open.some(other => other.tenant === turn.tenant && other.workerId === turn.workerId)) {
        t.fail(`seed ${seed}: two turns of one worker`);
      }
      const half = Math.max(1, Math.floor(slots / 2));
      const own = open.filter(other => other.tenant === turn.tenant).reduce((sum, { max }) => sum + max, 0);
      if ((used.get(turn.tenant) ?? 0) + own + turn.max > half) t.fail(`seed ${seed}: more than half`);
      open.push(turn);
    } else if (what === 2 && open.length > 0) {
      const [turn] = open.splice(random.below(open.length), 1);
      const always = started.has(turn.tenant);
      const count = always ? turn.max : random.below(turn.max + 1);
      queue.done(turn, count, always);
      total += count;
      used.set(turn.tenant, (used.get(turn.tenant) ?? 0) + count);
      if (always) started.set(turn.tenant, (started.get(turn.tenant) as number) + count);
    } else {
      const busy = [...used].filter(([, count]) => count > 0).map(([tenant]) => tenant);
      if (busy.length === 0) continue;
      const tenant = random.pick(busy);
      queue.release(tenant);
      used.set(tenant, (used.get(tenant) as number) - 1);
      total--;
    }
  }
}
