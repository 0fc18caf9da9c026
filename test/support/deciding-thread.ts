import { threadId } from 'node:worker_threads';
import { move } from 'piscina';
import { CounterTable } from '../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../src/counters/embedded/embedded-store.ts';
import type { CounterStore } from '../../src/counters/store.ts';
import { AnswerAdditions } from '../../src/decision/answers/additions.ts';
import { Engine } from '../../src/decision/engine.ts';
import { OverLimitCache } from '../../src/decision/over-limit-cache.ts';
import { ThreadDecider } from '../../src/decision/pool/thread-decider.ts';
import { SharedRecordsReader } from '../../src/steering/shared-records.ts';
import { KeepingLogger } from './keeping-logger.ts';
import { Moved } from './moved.ts';
import type { ExamTask, StoreAccess, ThreadConfig } from './pooled.ts';
import { redisStore, TEST_FINGERPRINT_KEY } from './stores.ts';

const deciders = new Map<number, Promise<ThreadDecider>>();
const redisStores = new Map<string, Promise<CounterStore>>();

/** Decides a batch by the configuration that comes with it. */
export default async function decide(task: ExamTask): Promise<unknown> {
  const { id } = task.config;
  let decider = deciders.get(id);
  if (decider === undefined) {
    decider = open(task.config);
    deciders.set(id, decider);
  }
  return move(new Moved(await (await decider).decide(task)));
}

async function open({
  store: access,
  options,
  localCacheBytes,
  steering,
}: ThreadConfig): Promise<ThreadDecider> {
  const store = await openStore(access);
  return new ThreadDecider({
    makeEngine: ({ counters, clock }) => {
      const overLimit = localCacheBytes === 0 ? null : new OverLimitCache(localCacheBytes, clock);
      const logger = new KeepingLogger();
      const engine = new Engine({
        options,
        additions: new AnswerAdditions(options),
        store,
        overLimit,
        counters,
        clock,
        logger,
        random: () => 0,
        nowMs: null,
        ...(steering !== undefined && { steering: new SharedRecordsReader(steering) }),
      });
      return { engine, overLimit };
    },
    fingerprintKey: TEST_FINGERPRINT_KEY,
    threadId,
  });
}

async function openStore(access: StoreAccess): Promise<CounterStore> {
  if (access.kind === 'memory') return new EmbeddedCounterStore(CounterTable.attach(access.buffer));
  const key = JSON.stringify(access.endpoint);
  let store = redisStores.get(key);
  if (store === undefined) {
    const made = redisStore(access.endpoint);
    store = made.start().then(() => made);
    redisStores.set(key, store);
  }
  return store;
}
