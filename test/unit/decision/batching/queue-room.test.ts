import t from 'tap';
import type { Fault } from '../../../../src/base/fault.ts';
import { Bound, SharedBound } from '../../../../src/base/threads/shared-bound.ts';
import type { CounterBatch } from '../../../../src/counters/batch.ts';
import { CounterTable } from '../../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../../src/counters/embedded/embedded-store.ts';
import {
  MAX_QUEUED_BYTES,
  type QueueBounds,
  QueueRoom,
} from '../../../../src/decision/batching/queue-room.ts';
import { encodeRateLimitRequest } from '../../../../src/messages/client-codec.ts';
import { Decisions, request } from '../../../support/decisions.ts';

/** What the queues of two threads together may hold. */
class SharedQueue {
  readonly #requests: SharedBound;
  readonly #bytes: SharedBound;

  constructor(max: { readonly requests: number; readonly bytes: number }) {
    this.#requests = new SharedBound(max.requests, 2);
    this.#bytes = new SharedBound(max.bytes, 2);
  }

  /** The bounds of a thread that starts, and what to do when it has ended. */
  join(): QueueBounds & { readonly left: () => void } {
    const requests = this.#requests.join();
    const bytes = this.#bytes.join();
    const left = (): void => {
      this.#requests.left(requests);
      this.#bytes.left(bytes);
    };
    return { requests: Bound.at(requests), bytes: Bound.at(bytes), left };
  }
}

/** Adds requests of this size until there is no room. @returns how many */
function fill(room: QueueRoom, hasRoom: 'hasRoom' | 'hasRoomForMore', bytes = 1): number {
  const before = room.requests;
  while (room[hasRoom]()) room.add(bytes);
  return room.requests - before;
}

t.test('one thread alone keeps an eighth of the queue for callers without waiting requests', async t => {
  const room = new QueueRoom({ requests: Bound.ofOneThread(64), bytes: Bound.ofOneThread(1_000) });
  t.equal(fill(room, 'hasRoomForMore'), 56);
  t.equal(fill(room, 'hasRoom'), 8);
  t.equal(room.fullMessage(), 'the queue is full: 64 requests are waiting; MAX_QUEUED_DECISIONS is 64');
  room.remove(64, 64);
  t.equal(fill(room, 'hasRoom', 100), 10);
  t.equal(room.fullMessage(), 'the queue is full: 1000 of 1000 bytes are waiting');
});

t.test('each of several threads keeps an eighth of what it can use', async t => {
  const queue = new SharedQueue({ requests: 256 * 8, bytes: MAX_QUEUED_BYTES });
  const first = new QueueRoom(queue.join());
  const second = new QueueRoom(queue.join());
  // Everything except the guaranteed quarter of the other thread.
  t.equal(fill(first, 'hasRoomForMore'), 1_536 * (7 / 8));
  t.equal(fill(first, 'hasRoom'), 1_536 / 8);
  t.equal(fill(second, 'hasRoomForMore'), 512 * (7 / 8));
  t.equal(fill(second, 'hasRoom'), 512 / 8);
  t.equal(
    second.fullMessage(),
    'the queue is full: 512 requests are waiting in this thread; MAX_QUEUED_DECISIONS is 2048 for all threads of the process',
  );
});

t.test('the bytes that wait in all threads have one bound', async t => {
  const queue = new SharedQueue({ requests: 1_000, bytes: 100 });
  const first = new QueueRoom(queue.join());
  const second = new QueueRoom(queue.join());
  t.equal(fill(first, 'hasRoom'), 75);
  t.equal(fill(second, 'hasRoom'), 25);
  t.equal(
    second.fullMessage(),
    'the queue is full: 25 bytes are waiting in this thread; all threads of the process may hold 100 bytes',
  );
  first.remove(75, 75);
  t.equal(fill(second, 'hasRoom'), 50);
});

t.test('one caller may fill a quarter of the queue of all threads', async t => {
  const room = new QueueRoom(new SharedQueue({ requests: 100, bytes: 1_000 }).join());
  t.notOk(room.isShareUsed(24, 250));
  t.ok(room.isShareUsed(25, 0));
  t.ok(room.isShareUsed(1, 251));
  t.equal(
    room.shareMessage(25, 30),
    '25 requests with 30 bytes of this connection are waiting; it may use a quarter of the queue of all threads: 100 requests (MAX_QUEUED_DECISIONS) and 1000 bytes',
  );
});

const RULES =
  'domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: minute, requests_per_unit: 1000}\n';

/** The embedded store; each batch waits until the gate opens. */
class GatedStore extends EmbeddedCounterStore {
  readonly #gate: Promise<void>;

  constructor(gate: Promise<void>) {
    super(CounterTable.create(1_024));
    this.#gate = gate;
  }

  override increment(batch: CounterBatch): Promise<void> {
    return this.#gate.then(() => super.increment(batch));
  }
}

t.test('batchers of several threads refuse what is beyond the bound of all of them', async t => {
  const gate = Promise.withResolvers<void>();
  const queue = new SharedQueue({ requests: 8, bytes: MAX_QUEUED_BYTES });
  const message = encodeRateLimitRequest(request('d', 'a=x'));
  const open = (opened: Promise<void>) => {
    const bounds = queue.join();
    const decisions = new Decisions({ store: new GatedStore(opened), rules: RULES, sharedBounds: bounds });
    const outcomes: string[] = [];
    const ask = (count: number): void => {
      for (let i = 0; i < count; i++)
        decisions.batcher.decide(message, 'protobuf', {
          gone: false,
          answered: () => outcomes.push('answered'),
          refused: ({ code }: Fault) => outcomes.push(code),
        });
    };
    return { decisions, bounds, outcomes, ask };
  };
  const first = open(gate.promise);
  const second = open(new Promise(() => {}));
  first.ask(7);
  t.same(first.outcomes, ['overloaded'], 'two places are guaranteed to the other thread');
  second.ask(3);
  t.same(second.outcomes, ['overloaded']);
  // The second thread dies, and another takes its place.
  second.bounds.left();
  const third = open(gate.promise);
  third.ask(3);
  t.same(third.outcomes, ['overloaded']);
  gate.resolve();
  await Promise.all([first, third].map(({ decisions }) => decisions.batcher.drained()));
  t.equal(first.outcomes.filter(outcome => outcome === 'answered').length, 6);
  third.ask(4);
  await third.decisions.batcher.drained();
  t.equal(third.outcomes.filter(outcome => outcome === 'answered').length, 6);
});
