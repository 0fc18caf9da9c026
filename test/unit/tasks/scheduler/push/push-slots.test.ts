import t, { type Test } from 'tap';
import { FairQueue, type Turn } from '../../../../../src/tasks/scheduler/push/fair-queue.ts';
import { attemptsFor, type PushSlot, PushSlots } from '../../../../../src/tasks/scheduler/push/push-slots.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { SeededRandom } from '../../../../support/seeded-random.ts';

/** Attempts have left their slots after this time. */
const LONG_MS = 500;

/** A process with a queue, whose tenants have one worker each. */
class Scene {
  readonly clock = new ManualClock(0);
  readonly slots: PushSlots;
  readonly queue: FairQueue;
  readonly attempts = new Map<string, PushSlot[]>();
  /** Tasks that wait, by tenant. */
  readonly waiting = new Map<string, number>();
  roomier = 0;

  constructor(slots: number) {
    this.slots = new PushSlots({ slots, after: this.clock.after.bind(this.clock) });
    this.queue = new FairQueue({ slots: this.slots, quantum: 16, maxTurn: 64 });
    this.slots.onRoom(() => {
      this.roomier++;
      this.start();
    });
  }

  /** Tasks of the tenant become due. */
  add(tenant: string, tasks: number): void {
    this.waiting.set(tenant, (this.waiting.get(tenant) ?? 0) + tasks);
    this.queue.add(tenant, 'w');
    this.start();
  }

  /** Gives turns as long as there are any. */
  start(): void {
    for (let turn = this.queue.next(1_000); turn !== null; turn = this.queue.next(1_000)) this.#take(turn);
  }

  running(tenant: string): number {
    return this.attempts.get(tenant)?.length ?? 0;
  }

  get allRunning(): number {
    return [...this.attempts.values()].reduce((sum, { length }) => sum + length, 0);
  }

  end(tenant: string, count: number): void {
    for (const slot of this.attempts.get(tenant)?.splice(0, count) ?? []) this.slots.end(slot);
    this.start();
  }

  #take(turn: Turn): void {
    const { tenant, max } = turn;
    const left = this.waiting.get(tenant) ?? 0;
    const started = Math.min(max, left);
    const running = this.attempts.get(tenant) ?? [];
    for (let task = 0; task < started; task++) running.push(this.slots.begin(tenant, 100));
    this.attempts.set(tenant, running);
    this.waiting.set(tenant, left - started);
    this.queue.done(turn, started, left > started);
  }
}

t.test('a tenant is held back while it has its share and more to start', async t => {
  const scene = new Scene(16);
  scene.add('acme', 20);
  t.same(scene.queue.heldBack(), []);
  for (let i = 0; i < 4; i++) scene.clock.advance(LONG_MS);
  t.equal(scene.running('acme'), 20);
  scene.add('acme', 20);
  for (let i = 0; i < 4; i++) scene.clock.advance(LONG_MS);
  t.equal(scene.running('acme'), 24);
  t.same(scene.queue.heldBack(), ['acme']);
  scene.add('globex', 1);
  t.same(scene.queue.heldBack(), ['acme']);
  t.equal(scene.running('globex'), 1);
  scene.end('acme', 24);
  t.same(scene.queue.heldBack(), []);
});

t.test('a tenant that is alone has all slots but the reserve', async t => {
  const scene = new Scene(256);
  scene.add('acme', 1_000);
  t.equal(scene.running('acme'), 240);
  scene.add('other', 1);
  t.equal(scene.running('other'), 1, 'a tenant with nothing in progress starts at once');
});

t.test('attempts that take long leave their slots, and their tenant keeps its share', async t => {
  const scene = new Scene(256);
  scene.add('acme', 1_000);
  scene.clock.advance(LONG_MS);
  t.equal(scene.roomier, 1);
  t.equal(scene.running('acme'), 384, 'its base and half of what is to spare');
  scene.clock.advance(60_000);
  t.equal(scene.running('acme'), 384);
  t.equal(scene.slots.used, 0);
  t.equal(scene.clock.pending, 0, 'no timer goes on');
});

t.test('attempts that end in time free their slots once', async t => {
  const scene = new Scene(32);
  scene.add('acme', 30);
  scene.end('acme', 10);
  t.equal(scene.slots.used, 20);
  scene.clock.advance(LONG_MS);
  t.equal(scene.slots.used, 0);
  scene.end('acme', 20);
  t.equal(scene.slots.used, 0);
});

t.test('however many receivers hang, the next tenant has its share in a second', async t => {
  const scene = new Scene(256);
  for (let tenants = 1; tenants <= 256; tenants++) {
    const name = `t${tenants}`;
    scene.add(name, 300);
    t.ok(scene.running(name) >= 1, `${name} starts at once`);
    scene.clock.advance(1_000);
    const share = Math.floor(256 / (tenants + 1));
    if (scene.running(name) < share) t.fail(`${name} has ${scene.running(name)} of ${share}`);
  }
  t.ok(scene.allRunning <= attemptsFor(256));
});

t.test('tenants that wait together each have their share within a second', async t => {
  for (const waiting of [1, 2, 3, 10, 100]) {
    const scene = new Scene(256);
    for (const name of ['hanging-1', 'hanging-2']) scene.add(name, 300);
    scene.clock.advance(10_000);
    const names = Array.from({ length: waiting }, (_, at) => `t${at}`);
    for (const name of names) scene.add(name, 300);
    scene.clock.advance(1_000);
    const fewest = Math.min(...names.map(name => scene.running(name)));
    t.ok(fewest >= Math.floor(256 / (waiting + 3)), `${waiting} wait: each has ${fewest} or more`);
  }
});

t.test('large payloads of one tenant leave room for those of others', async t => {
  const scene = new Scene(4_096);
  const mebibyte = 1024 * 1024;
  let begun = 0;
  for (; scene.slots.roomFor('acme', 1) > 0; begun++) {
    scene.slots.keep('acme', 1);
    scene.slots.begin('acme', mebibyte);
  }
  t.ok(begun < 100, `${begun} MiB of one tenant`);
  t.ok(scene.slots.roomFor('other', 1) > 0);
});

t.test('nothing becomes long after a stop', async t => {
  const scene = new Scene(16);
  scene.add('acme', 1);
  scene.slots.stop();
  t.equal(scene.clock.pending, 0);
});

t.test('whatever hangs, nobody with nothing in progress waits longer than a second', async t => {
  for (let seed = 0; seed < 60; seed++) checkRandomRun(t, seed);
});

/** A run of arrivals, ends and hangs at random. */
function checkRandomRun(t: Test, seed: number): void {
  const random = new SeededRandom(seed);
  const slots = 1 + random.below(64);
  const scene = new Scene(slots);
  const names = Array.from({ length: 1 + random.below(slots) }, (_, at) => `t${at}`);
  const emptySince = new Map<string, number>();
  for (let step = 0; step < 400; step++) {
    const tenant = random.pick(names);
    const what = random.below(4);
    if (what === 0) scene.add(tenant, random.below(100));
    else if (what === 1) scene.end(tenant, random.below(scene.running(tenant) + 1));
    else scene.clock.advance(random.below(300));
    const nowMs = scene.clock.nowMs();
    for (const name of names) {
      const starved = scene.running(name) === 0 && (scene.waiting.get(name) ?? 0) > 0;
      if (!starved) emptySince.delete(name);
      else if (!emptySince.has(name)) emptySince.set(name, nowMs);
      const since = emptySince.get(name) ?? nowMs;
      if (nowMs - since > 1_000) t.fail(`seed ${seed}: ${name} waits with nothing in progress`);
    }
    if (scene.slots.used > slots) t.fail(`seed ${seed}: ${scene.slots.used} of ${slots} slots`);
    if (scene.allRunning > attemptsFor(slots)) t.fail(`seed ${seed}: ${scene.allRunning} attempts`);
  }
}
