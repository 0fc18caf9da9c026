import { join } from 'node:path';
import { type RedisServer, startRedis } from '../../../test/support/redis-server.ts';
import { writeRules } from '../../../test/support/rule-files.ts';
import { INSPECTED, ServiceMemory } from '../../soak/decisions/service-memory.ts';
import { ForkedChild } from '../../support/forked-child.ts';
import type { WatchedProcesses } from '../../support/load-window.ts';
import type { QuotaAnswers } from '../../support/quota-load/load.ts';
import type { Store } from '../decisions/contestants.ts';
import { entryOf } from '../decisions/generators.ts';
import { BenchService } from '../decisions/service.ts';
import { quotaRules } from './cases.ts';

/** What runs for one case: the service with one serving thread, its store, and the process of the proxies. */
export class QuotaField {
  readonly service: BenchService;
  readonly memory: ServiceMemory;
  /** Null on the embedded store. */
  readonly redis: RedisServer | null;
  readonly generator: ForkedChild<QuotaAnswers>;

  private constructor(service: BenchService, memory: ServiceMemory, redis: RedisServer | null) {
    this.service = service;
    this.memory = memory;
    this.redis = redis;
    this.generator = new ForkedChild({ entry: entryOf('../../support/quota-load/generator') });
  }

  /** @param folder for files of this case */
  static async start(store: Store, folder: string): Promise<QuotaField> {
    const rulesFolder = join(folder, 'rules');
    writeRules(rulesFolder, { 'config/bench.yaml': quotaRules() });
    const redis = store === 'redis' ? await startRedis() : null;
    try {
      const service = await BenchService.start({
        ...INSPECTED,
        RUNTIME_ROOT: rulesFolder,
        RUNTIME_WATCH_ROOT: 'false',
        SERVE_THREADS: '1',
        ...(redis === null ? {} : { KVCACHE_URL: `redis://${redis.address}` }),
      });
      try {
        return new QuotaField(service, await ServiceMemory.connect(service.output), redis);
      } catch (failure) {
        await service.stop();
        throw failure;
      }
    } catch (failure) {
      await redis?.stop();
      throw failure;
    }
  }

  get watched(): WatchedProcesses {
    return { service: this.service.pid, ...(this.redis === null ? {} : { store: this.redis.pid }) };
  }

  async stop(): Promise<void> {
    await this.generator.stop();
    this.memory.close();
    await this.service.stop();
    await this.redis?.stop();
  }
}
