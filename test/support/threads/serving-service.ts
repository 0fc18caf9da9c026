import type { Worker } from 'node:worker_threads';
import type { Test } from 'tap';
import { DecisionService, type StartedAt } from '../../../src/app/service.ts';
import { loadSteeringStore } from '../../../src/app/steering/open-steering.ts';
import { loadStoreFactory } from '../../../src/app/stores/stores.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { loadSettings } from '../../../src/settings/load.ts';
import { dialled, getPage } from '../asking.ts';
import { GrpcClient } from '../grpc-client.ts';
import { HTTP_ENGINE } from '../http-engine.ts';
import { KeepingLogger } from '../keeping-logger.ts';
import { writeRules } from '../rule-files.ts';
import { tempDirectory } from '../temp-directory.ts';
import { until } from '../until.ts';
import { startedThreads } from './started-threads.ts';

export const SERVING_RULES =
  'domain: d\ndescriptors:\n  - key: k\n    rate_limit: {unit: year, requests_per_unit: 1000000}\n';

/** A service in this process with serving threads, which can be made to die. */
export interface ServingService {
  readonly service: DecisionService;
  readonly at: StartedAt;
  readonly logger: KeepingLogger;
  /** The serving threads, in order; replacements are added at the end. */
  readonly workers: readonly Worker[];
  /** A client with a connection of its own. */
  client(): GrpcClient;
  /** Reads a statistic from the debug port; 0 if there is none. */
  statistic(name: string): Promise<number>;
  /** Resolves when this number of threads serve. */
  serving(threads: number): Promise<void>;
}

/** Starts a service on free loopback ports. It is stopped with the test. */
export async function startServing(
  t: Test,
  threads: number,
  env: Readonly<Record<string, string>> = {},
): Promise<ServingService> {
  const workers = startedThreads(t);
  const logger = new KeepingLogger();
  const settings = loadSettings({
    ...{ HOST: '127.0.0.1', GRPC_HOST: '127.0.0.1', DEBUG_HOST: '127.0.0.1' },
    ...{ PORT: '0', GRPC_PORT: '0', DEBUG_PORT: '0', SERVE_THREADS: String(threads) },
    RUNTIME_ROOT: writeRules(tempDirectory(t), { 'config/rules.yaml': SERVING_RULES }),
    ...env,
  });
  const service = new DecisionService({
    settings,
    logger,
    clock: systemClock,
    random: Math.random,
    openTracing: null,
    version: '0.0.0',
    httpEngine: HTTP_ENGINE,
    createStore: await loadStoreFactory(settings),
    openSteeringStore: await loadSteeringStore(settings),
    openTasks: null,
    openDecisionLog: null,
  });
  t.teardown(() => service.stop());
  const at = (await service.start())!;
  // The serving threads are the first ones to start. The thread that compiled the rules followed.
  workers.splice(threads);
  const clients: GrpcClient[] = [];
  t.teardown(() => {
    for (const client of clients) client.close();
  });
  const statistic = async (name: string): Promise<number> => {
    const { text } = await getPage(at.debug!, '/stats');
    return Number(new RegExp(`^${name.replaceAll('.', '\\.')}: (.*)$`, 'm').exec(text)?.[1] ?? 0);
  };
  return {
    service,
    at,
    logger,
    workers,
    client: () => {
      const client = new GrpcClient(dialled(at.grpc));
      clients.push(client);
      return client;
    },
    statistic,
    serving: count => until(async () => (await statistic('ratelimit.service.serving_threads')) === count),
  };
}
