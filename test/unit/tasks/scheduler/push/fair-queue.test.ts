import t from 'tap';
import { FairQueue, type Turn } from '../../../../../src/tasks/scheduler/push/fair-queue.ts';
import { PushSlots } from '../../../../../src/tasks/scheduler/push/push-slots.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { SeededRandom } from '../../../../support/seeded-random.ts';

const QUANTUM = 16;

/** A queue, and its slots. Attempts that a test does not age are short. */
function queueOf(slots = 1_000): { readonly queue: FairQueue; readonly slots: PushSlots } {
  const clock = new ManualClock(0);
  const after = clock.after.bind(clock);
  const pushSlots = new PushSlots({ slots, after });
  return { queue: new FairQueue({ slots: pushSlots, quantum: QUANTUM, maxTurn: 64 }), slots: pushSlots };
}

/** Starts so many tasks in a turn, all of which end at once. */
function startAndEnd({ queue, slots }: ReturnType<typeof queueOf>, turn: Turn, tasks = turn.max): void {
  const begun = Array.from({ length: tasks }, () => slots.begin(turn.tenant, 0));
  queue.done(turn, tasks, true);
  for (const slot of begun) slots.end(slot);
}

/** Turns that start all they may, and whose workers have more. */
function served(scene: ReturnType<typeof queueOf>, turns: number, free: number): Map<string, number> {
  const started = new Map<string, number>();
  for (let count = 0; count < turns; count++) {
    const turn = scene.queue.next(free);
    if (turn === null) break;
    startAndEnd(scene, turn);
    started.set(turn.tenant, (started.get(turn.tenant) ?? 0) + turn.max);
  }
  return started;
}

t.test('nobody waits: there is no turn', async t => {
  const { queue } = queueOf();
  t.equal(queue.next(10), null);
  queue.add('acme', 'w1');
  t.equal(queue.next(0), null, 'nor without a free slot');
});

t.test('who waits alone is bounded by the free slots and the size of a turn', async t => {
  const { queue } = queueOf();
  queue.add('acme', 'w1');
  const first = queue.next(1_000) as Turn;
  t.same(first, { tenant: 'acme', workerId: 'w1', max: 64 });
  queue.done(first, 64, true);
  t.equal(queue.next(5)?.max, 5);
});

t.test('a worker that is added twice has one turn, and none beside the one it has', async t => {
  const { queue } = queueOf();
  queue.add('acme', 'w1');
  queue.add('acme', 'w1');
  const turn = queue.next(10) as Turn;
  t.equal(queue.next(10), null);
  queue.done(turn, 0, false);
  t.equal(queue.next(10), null);
});

t.test('a worker that becomes due during its turn has another, whatever the turn found', async t => {
  const { queue } = queueOf();
  queue.add('acme', 'w1');
  const turn = queue.next(10) as Turn;
  queue.add('acme', 'w1');
  queue.done(turn, 0, false);
  t.same(queue.next(10)?.workerId, 'w1');
});

t.test('the workers of a tenant have turns one after the other', async t => {
  const { queue } = queueOf();
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
  const { queue } = queueOf();
  queue.add('acme', 'w1');
  queue.add('other', 'w1');
  t.equal(queue.next(1_000)?.max, 16);
  t.equal(queue.next(1_000)?.tenant, 'other');
});

t.test('tenants start as many tasks as each other, whatever number of workers they have', async t => {
  const scene = queueOf();
  for (let worker = 0; worker < 50; worker++) scene.queue.add('many', `w${worker}`);
  scene.queue.add('one', 'w');
  const started = served(scene, 1_000, 7);
  const [many, one] = [started.get('many') ?? 0, started.get('one') ?? 0];
  t.ok(Math.abs(many - one) <= 2 * QUANTUM, `${many} and ${one}`);
});

t.test('no tenant is ever ahead of another that waits by more than two quanta', async t => {
  for (let seed = 0; seed < 100; seed++) {
    const random = new SeededRandom(seed);
    const scene = queueOf();
    const { queue } = scene;
    const started = new Map(['a', 'b', 'c'].map(tenant => [tenant, 0]));
    for (const tenant of started.keys()) {
      for (let worker = random.below(5); worker >= 0; worker--) queue.add(tenant, `w${worker}`);
    }
    let most = 0;
    for (let count = 0; count < 300; count++) {
      const turn = queue.next(1 + random.below(30)) as Turn;
      startAndEnd(scene, turn);
      started.set(turn.tenant, (started.get(turn.tenant) as number) + turn.max);
      most = Math.max(most, Math.max(...started.values()) - Math.min(...started.values()));
    }
    if (most > 2 * QUANTUM) t.fail(`seed ${seed}: ${most} tasks apart`);
  }
});

t.test('a tenant with many workers has the share of one with a single worker', async t => {
  const scene = queueOf();
  const { queue } = scene;
  for (let worker = 0; worker < 20; worker++) queue.add('scattered', `w${worker}`);
  queue.add('plain', 'w');
  const started = new Map([
    ['scattered', 0],
    ['plain', 0],
  ]);
  for (let count = 0; count < 2_000; count++) {
    const turn = queue.next(1_000) as Turn;
    const tasks = turn.tenant === 'scattered' ? 1 : turn.max;
    startAndEnd(scene, turn, tasks);
    started.set(turn.tenant, (started.get(turn.tenant) as number) + tasks);
  }
  const [scattered, plain] = [...started.values()];
  t.ok(Math.abs(scattered - plain) <= 2 * QUANTUM, `${scattered} and ${plain}`);
});

t.test('a tenant that found nothing in its turns does not save them up', async t => {
  const { queue } = queueOf();
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
    t.ok(turn.max <= QUANTUM);
    queue.done(turn, turn.max, true);
  }
});

t.test('one tenant has at most half of the slots while another waits', async t => {
  const { queue, slots } = queueOf(15);
  queue.add('acme', 'w1');
  const alone = queue.next(15) as Turn;
  t.equal(alone.max, 15, 'all of them while it is alone');
  const begun = Array.from({ length: 15 }, () => slots.begin('acme', 0));
  queue.done(alone, 15, true);
  queue.add('other', 'w1');
  for (let ended = 0; ended < 8; ended++) slots.end(begun[ended]);
  const first = queue.next(15) as Turn;
  t.same(first, { tenant: 'other', workerId: 'w1', max: 7 });
  queue.done(first, 7, true);
  t.equal(queue.next(15), null, 'both have half');
  slots.end(begun[8]);
  t.same(queue.next(15), { tenant: 'acme', workerId: 'w1', max: 1 });
});

t.test('half of one slot is that slot', async t => {
  const { queue } = queueOf(1);
  queue.add('acme', 'w1');
  queue.add('other', 'w1');
  t.equal(queue.next(1)?.max, 1);
});
