import t from 'tap';
import { IdleCollector, ownMemory, type ThreadMemory } from '../../../src/app/idle-collector.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const MIB = 1024 * 1024;
const LIVE_BYTES = 20 * MIB;

/** A thread whose garbage and load are set by the test. */
class Thread implements ThreadMemory {
  readonly clock = new ManualClock(0);
  share = 0;
  garbageBytes = 0;
  pauseMs = 10;
  collections = 0;

  constructor() {
    const collector = new IdleCollector(this.clock, this);
    collector.start();
    this.stop = () => collector.stop();
  }

  readonly stop: () => void;

  busy(): number {
    return this.share;
  }

  bytes(): number {
    return LIVE_BYTES + this.garbageBytes;
  }

  collect(): void {
    this.collections++;
    this.garbageBytes = 0;
    this.clock.advance(this.pauseMs);
  }
}

/** A thread whose garbage of the start has been collected, and that may collect again. */
function startedThread(): Thread {
  const thread = new Thread();
  thread.clock.advance(60_000);
  return thread;
}

t.test('the garbage of the start is collected once the thread is idle', async t => {
  const thread = new Thread();
  thread.clock.advance(5_000);
  t.equal(thread.collections, 1);
});

t.test('an idle thread that has grown by 16 MiB collects within five seconds', async t => {
  const thread = startedThread();
  thread.garbageBytes = 16 * MIB;
  thread.clock.advance(5_000);
  t.equal(thread.collections, 2);
});

t.test('a thread that has grown by less does not pause', async t => {
  const thread = startedThread();
  thread.garbageBytes = 16 * MIB - 1;
  thread.clock.advance(600_000);
  t.equal(thread.collections, 1);
});

t.test('a thread under load never collects; it does when the load has ended', async t => {
  const thread = startedThread();
  thread.garbageBytes = 100 * MIB;
  thread.share = 0.01;
  thread.clock.advance(600_000);
  t.equal(thread.collections, 1);
  thread.share = 0.009;
  thread.clock.advance(5_000);
  t.equal(thread.collections, 2);
});

t.test('collections are at least 20 seconds apart', async t => {
  const thread = startedThread();
  for (let second = 0; second < 60; second++) {
    thread.garbageBytes = 100 * MIB;
    thread.clock.advance(1_000);
  }
  t.ok(thread.collections <= 4, String(thread.collections));
});

t.test('long pauses take at most a thousandth of the time', async t => {
  const thread = startedThread();
  thread.pauseMs = 300;
  for (let minute = 0; minute < 60; minute++) {
    thread.garbageBytes = 100 * MIB;
    thread.clock.advance(60_000);
  }
  t.ok(thread.collections <= 13, String(thread.collections));
});

t.test('a collector that has stopped leaves the thread alone', async t => {
  const thread = startedThread();
  thread.stop();
  thread.garbageBytes = 100 * MIB;
  thread.clock.advance(600_000);
  t.equal(thread.collections, 1);
});

t.test('a collection of the calling thread returns the memory of what is no longer used', async t => {
  const memory = ownMemory();
  memory.collect();
  const before = memory.bytes();
  const held: { pieces: unknown[] } = { pieces: [] };
  const fill = () => {
    for (let n = 0; n < 400; n++) held.pieces.push([new Uint8Array(65_536), Array(8_000).fill(n)]);
  };
  fill();
  t.ok(memory.bytes() > before + 40 * MIB, 'the memory is held');
  held.pieces = [];
  memory.collect();
  t.ok(memory.bytes() < before + 10 * MIB, 'the memory is returned');
  t.notOk('gc' in globalThis, 'no other code sees the function');
});
