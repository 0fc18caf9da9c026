import { Piscina } from 'piscina';
import { CounterTable } from '../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../src/counters/embedded/embedded-store.ts';
import type { CounterStore } from '../../src/counters/store.ts';
import type { EngineOptions } from '../../src/decision/engine.ts';
import type { DecidingThreads } from '../../src/decision/pool/decision-pool.ts';
import type { DecideResult, DecideTask } from '../../src/decision/pool/thread-messages.ts';
import { redisStoreKinds, type StoreKind, type Teardown, type TestEndpoint } from './stores.ts';

/** How another thread comes to the counters of a store. */
export type StoreAccess =
  | { readonly kind: 'memory'; readonly buffer: SharedArrayBuffer }
  | { readonly kind: 'redis'; readonly endpoint: TestEndpoint };

/** What a thread makes its engine of. */
export interface ThreadConfig {
  /** Tells configurations apart. */
  readonly id: number;
  readonly store: StoreAccess;
  readonly options: EngineOptions;
  readonly localCacheBytes: number;
  /** Memory of the steering records. */
  readonly steering?: SharedArrayBuffer;
}

/** A batch with the configuration it is to be decided by. */
export type ExamTask = DecideTask & { readonly config: ThreadConfig };

interface Pooled {
  readonly threads: ExamThreads;
  readonly access: StoreAccess;
}

const pooled = new WeakMap<CounterStore, Pooled>();
let configs = 0;

/** One thread that decides for every configuration of a test file: threads take long to start. */
class ExamThreads {
  readonly #pool: Piscina<ExamTask, DecideResult>;

  constructor(t: Teardown) {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    this.#pool = new Piscina({
      filename: new URL(`./deciding-thread.${extension}`, import.meta.url).href,
      minThreads: 1,
      maxThreads: 1,
      concurrentTasksPerWorker: 8,
      atomics: 'disabled',
    });
    t.teardown(() => this.#pool.destroy());
  }

  for(config: ThreadConfig): DecidingThreads {
    return {
      free: true,
      run: task => this.#pool.run({ ...task, config }, { transferList: [task.requests, task.answers] }),
    };
  }
}

/** The threads that decide for this store; null where the thread of the test is to decide. */
export function threadsFor(
  store: CounterStore,
  config: Omit<ThreadConfig, 'id' | 'store'>,
): DecidingThreads | null {
  const found = pooled.get(store);
  if (found === undefined) return null;
  return found.threads.for({ ...config, id: configs++, store: found.access });
}

/** Stores whose counting is left to another thread: the embedded one, and Redis. */
export async function pooledStoreKinds(t: Teardown): Promise<StoreKind[]> {
  const threads = new ExamThreads(t);
  const { redis, kinds } = await redisStoreKinds(t);
  const endpoint: TestEndpoint = { socketType: 'tcp', url: redis.address, auth: '' };
  return [
    {
      name: 'memory, decided by another thread',
      open: async () => {
        const table = CounterTable.create(16_384);
        const store = new EmbeddedCounterStore(table);
        pooled.set(store, { threads, access: { kind: 'memory', buffer: table.buffer } });
        return store;
      },
    },
    {
      name: 'redis, decided by another thread',
      open: async inner => {
        const store = await kinds[0].open(inner);
        pooled.set(store, { threads, access: { kind: 'redis', endpoint } });
        return store;
      },
    },
  ];
}
