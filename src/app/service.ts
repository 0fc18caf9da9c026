import { randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { Health } from '../base/health.ts';
import { type Service, ServiceStack } from '../base/lifecycle.ts';
import type { Logger } from '../base/logger.ts';
import type { FingerprintKey } from '../counters/fingerprint.ts';
import { Batcher } from '../decision/batcher.ts';
import { Engine } from '../decision/engine.ts';
import { OverLimitCache } from '../decision/over-limit-cache.ts';
import { RuleStatistics } from '../decision/rule-statistics.ts';
import { dumpRules } from '../rules/dump.ts';
import { FileRuleSource } from '../rules/source/file-source.ts';
import type { Settings } from '../settings/table.ts';
import { StatsRegistry } from '../stats/registry.ts';
import { type Addresses, Ports } from './ports.ts';
import { RuleCompiler } from './rule-compiler.ts';
import { RuleLoader } from './rule-loader.ts';
import { createStore, type OpenedStore } from './stores.ts';

/** What the process gives the service. */
export interface ServiceParts {
  readonly settings: Settings;
  readonly logger: Logger;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/** The health component that a termination signal sets unhealthy (spec 3.4). */
const TERMINATION_COMPONENT = 'termination';

/** The health component of the counter store. */
const STORE_COMPONENT = 'store';

/**
 * The decision service: everything wired together, started in order and stopped in reverse.
 *
 * No port opens before the store answers and rules are in force, so that whoever reaches the service gets decisions;
 * `FORCE_START_WITHOUT_INITIAL_CONFIG` opens them without rules.
 */
export class DecisionService {
  readonly #parts: ServiceParts;
  readonly #stack = new ServiceStack();
  readonly #health = new Health();
  readonly #stats = new StatsRegistry();
  readonly #store: OpenedStore;
  readonly #batcher: Batcher;
  readonly #compiler = new RuleCompiler();
  readonly #loader: RuleLoader;
  readonly #ports: Ports;
  #stopping: Promise<void> | null = null;
  /** Until when calls may run on after a stop was asked for. */
  #drainUntilMs = 0;
  #announceStop: () => void = () => {};
  readonly #stopAsked: Promise<void>;

  constructor(parts: ServiceParts) {
    const { settings, logger, clock, random } = parts;
    const stats = this.#stats;
    this.#parts = parts;
    this.#stopAsked = new Promise(resolve => {
      this.#announceStop = resolve;
    });
    this.#store = createStore({ settings, logger, clock, random, stats });
    const statistics = new RuleStatistics();
    stats.addSource(statistics);
    const serviceError = stats.counter('ratelimit.service.call.should_rate_limit.service_error');
    const engine = new Engine({
      options: engineOptions(settings),
      store: this.#store.store,
      overLimit: openOverLimitCache(settings, clock, stats),
      statistics,
      counters: {
        storeError: stats.counter('ratelimit.service.call.should_rate_limit.redis_error'),
        serviceError,
        globalShadowMode: stats.counter('ratelimit.service.global_shadow_mode'),
      },
      clock,
      logger,
      random,
    });
    this.#batcher = new Batcher({
      engine,
      fingerprintKey: randomFingerprintKey(),
      maxQueued: settings.maxQueuedDecisions,
      serviceError,
    });
    this.#loader = new RuleLoader({
      compiler: this.#compiler,
      batcher: this.#batcher,
      statistics,
      health: this.#health,
      logger,
      mergeDomains: settings.mergeDomainConfig,
      healthNeedsDomain: settings.healthyWithAtLeastOneConfigLoaded,
      loadSuccess: stats.counter('ratelimit.service.config_load_success'),
      loadError: stats.counter('ratelimit.service.config_load_error'),
      readAttempts: stats.counter('runtime.load_attempts'),
      readFailures: stats.counter('runtime.load_failures'),
    });
    stats.gauge('runtime.num_values', () => this.#loader.fileCount);
    this.#ports = new Ports({
      settings,
      decider: this.#batcher,
      health: this.#health,
      stats,
      dumpRules: () => (this.#loader.current === null ? [] : dumpRules(this.#loader.current)),
      clock,
      logger,
    });
  }

  /**
   * Starts everything; null when {@link stop} was called before it was done.
   * @throws Error when the store cannot be reached within its bound or a port cannot be opened; all is stopped again
   */
  async start(): Promise<Addresses | null> {
    const { settings, logger } = this.#parts;
    this.#health.set(TERMINATION_COMPONENT, true);
    this.#health.set(STORE_COMPONENT, false);
    try {
      await this.#stack.start(this.#store);
      this.#health.set(STORE_COMPONENT, true);
      await this.#stack.start(this.#compiler);
      await this.#stack.start(this.#ruleSource());
      await this.#loader.settled();
      if (this.#loader.current === null && !settings.forceStartWithoutInitialConfig) {
        logger.warning(
          'no port is open until rules are loaded; mend the rule files, or set FORCE_START_WITHOUT_INITIAL_CONFIG=true',
        );
        await Promise.race([this.#loader.firstLoad, this.#stopAsked]);
      }
      return await this.#openPorts();
    } catch (failure) {
      // After a stop nothing starts any more, and what starts fails.
      if (this.#stopping !== null) return null;
      // The first failure is what the caller must learn; that others do not stop either often follows from it.
      await this.stop().catch(() => {});
      throw failure;
    }
  }

  /** Unhealthy at once; running calls are finished within the bound; then everything is closed. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  async #stopAll(): Promise<void> {
    const { settings, clock } = this.#parts;
    this.#drainUntilMs = clock.nowMs() + settings.shutdownTimeoutMs;
    this.#health.set(TERMINATION_COMPONENT, false);
    this.#ports.drain();
    this.#announceStop();
    await this.#stack.stop();
  }

  async #openPorts(): Promise<Addresses> {
    await this.#stack.start(this.#decisionsUnderWay());
    await this.#stack.start(this.#ports);
    const { addresses } = this.#ports;
    for (const [name, address] of Object.entries(addresses)) {
      if (address !== null) this.#parts.logger.info('listening', { name, address });
    }
    return addresses;
  }

  /** Keeps the store in place until the last decision is made: callers that gave up leave some when the ports close. */
  #decisionsUnderWay(): Service {
    const { clock, logger } = this.#parts;
    return {
      name: 'decisions under way',
      start: async () => {},
      stop: async () => {
        const bound = Promise.withResolvers<void>();
        const timer = clock.after(Math.max(this.#drainUntilMs - clock.nowMs(), 0), bound.resolve);
        await Promise.race([this.#batcher.drained(), bound.promise]);
        timer.cancel();
        const requests = this.#batcher.pending;
        if (requests > 0) logger.warning('the store did not answer in time for some requests', { requests });
      },
    };
  }

  #ruleSource(): FileRuleSource {
    const { settings, logger, clock } = this.#parts;
    return new FileRuleSource(
      {
        root: settings.runtimeRoot,
        subdirectory: settings.runtimeSubdirectory,
        appDirectory: settings.runtimeAppDirectory,
        ignoreDotFiles: settings.runtimeIgnoreDotFiles,
        watchRoot: settings.runtimeWatchRoot,
        logger,
        clock,
      },
      this.#loader,
    );
  }
}

function engineOptions(settings: Settings): ConstructorParameters<typeof Engine>[0]['options'] {
  return {
    cacheKeyPrefix: settings.cacheKeyPrefix,
    expirationJitterMaxSeconds: settings.expirationJitterMaxSeconds,
    nearLimitRatio: settings.nearLimitRatio,
    holdBack: settings.stopCacheKeyIncrementWhenOverLimit,
    modes: { shadow: settings.shadowMode, quota: settings.quotaMode },
    headerNames: settings.limitResponseHeadersEnabled
      ? {
          limit: settings.limitLimitHeader,
          remaining: settings.limitRemainingHeader,
          reset: settings.limitResetHeader,
        }
      : null,
    dynamicMetadata: settings.responseDynamicMetadata,
  };
}

function openOverLimitCache(settings: Settings, clock: Clock, stats: StatsRegistry): OverLimitCache | null {
  if (settings.localCacheSizeBytes === 0) return null;
  const cache = new OverLimitCache(settings.localCacheSizeBytes, clock);
  stats.gauge('ratelimit.localcache.entryCount', () => cache.size);
  stats.gauge('ratelimit.localcache.hitCount', () => cache.hits);
  stats.gauge('ratelimit.localcache.missCount', () => cache.misses);
  stats.gauge('ratelimit.localcache.lookupCount', () => cache.hits + cache.misses);
  stats.gauge('ratelimit.localcache.evacuateCount', () => cache.evicted);
  stats.gauge('ratelimit.localcache.expiredCount', () => cache.expired);
  stats.gauge('ratelimit.localcache.overwriteCount', () => cache.overwritten);
  return cache;
}

function randomFingerprintKey(): FingerprintKey {
  const bytes = randomBytes(16);
  return [bytes.readInt32LE(0), bytes.readInt32LE(4), bytes.readInt32LE(8), bytes.readInt32LE(12)];
}
