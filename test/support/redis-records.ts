import { loadSteeringStore } from '../../src/app/steering/open-steering.ts';
import type { OpenedStore } from '../../src/app/stores/opened-store.ts';
import { loadStoreFactory } from '../../src/app/stores/stores.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { OutageLog } from '../../src/base/outage-log.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { StatsRegistry } from '../../src/stats/registry.ts';
import type { PlanChange } from '../../src/steering/records-change.ts';
import type { RecordsListener, SendToRedis, SteeringStore } from '../../src/steering/steering-store.ts';
import { KeepingLogger } from './keeping-logger.ts';

interface OpenerOptions {
  /** The clock of the steering records. The counters have that of the system. */
  readonly clock?: Clock;
  /** Keeps what the steering records log. */
  readonly logger?: KeepingLogger;
}

/** Opens the steering records of processes with these settings, each with its counters in Redis. */
export async function redisRecordsOpener(
  env: Readonly<Record<string, string>>,
  { clock = systemClock, logger = new KeepingLogger() }: OpenerOptions = {},
): Promise<() => SteeringStore> {
  const settings = loadSettings({ BACKEND_TYPE: 'redis', REDIS_SOCKET_TYPE: 'tcp', ...env });
  const [createStore, open] = await Promise.all([loadStoreFactory(settings), loadSteeringStore(settings)]);
  return () => {
    const counters = createStore({
      settings,
      logger: new KeepingLogger(),
      clock: systemClock,
      random: () => 0,
      stats: new StatsRegistry(),
      outages: new OutageLog({ clock: systemClock, logger: new KeepingLogger() }),
    });
    return new RecordsOfProcess(counters, open!(counters, { clock, logger }));
  };
}

/** The steering records of a process, which start after its counters and stop before them. */
class RecordsOfProcess implements SteeringStore {
  readonly send: SendToRedis | null;
  readonly #counters: OpenedStore;
  readonly #records: SteeringStore;

  constructor(counters: OpenedStore, records: SteeringStore) {
    this.send = records.send;
    this.#counters = counters;
    this.#records = records;
  }

  async start(listener: RecordsListener): Promise<void> {
    await this.#counters.start();
    await this.#records.start(listener);
  }

  async stop(): Promise<void> {
    await this.#records.stop();
    await this.#counters.stop();
  }

  change(plan: PlanChange): Promise<void> {
    return this.#records.change(plan);
  }
}
