import type { Clock } from '../../base/clock.ts';
import { RefundMarks } from '../../counters/refund-marks.ts';
import type { EngineOptions } from '../../decision/engine.ts';
import type { Uncounted } from '../../decision/evaluate.ts';
import { OverLimitCache } from '../../decision/over-limit-cache.ts';
import { ANSWER } from '../../rules/domain-answers.ts';
import type { LoadSettings } from '../../rules/parse/load.ts';
import type { Settings } from '../../settings/table.ts';
import { servingThreads } from '../../settings/thread-counts.ts';
import type { StoreSharing } from '../stores/opened-store.ts';

/** Returns the options of the decision engine for the settings. */
export function engineOptions(settings: Settings): EngineOptions {
  return {
    cacheKeyPrefix: settings.cacheKeyPrefix,
    expirationJitterMaxSeconds: settings.expirationJitterMaxSeconds,
    nearLimitRatio: settings.nearLimitRatio,
    holdBack: settings.stopCacheKeyIncrementWhenOverLimit,
    modes: { shadow: settings.shadowMode, quota: settings.quotaMode },
    uncounted: uncountedOf(settings),
    headerNames: settings.limitResponseHeadersEnabled
      ? {
          limit: settings.limitLimitHeader,
          remaining: settings.limitRemainingHeader,
          reset: settings.limitResetHeader,
        }
      : null,
    unitHeaders: settings.limitPerUnitHeadersEnabled,
    dynamicMetadata: settings.responseDynamicMetadata,
    answers: enabledAnswers(settings),
  };
}

/** The settings that rules are loaded with. */
export function loadSettingsOf(settings: Settings): LoadSettings {
  return {
    mergeDomains: settings.mergeDomainConfig,
    forMemcached: settings.backendType === 'memcached',
    answers: enabledAnswers(settings),
    undotsStatistics: settings.sanitizeDescriptorMetricDots,
    calendarMonths: settings.useCalendarMonthRateLimit,
  };
}

/** Whether the decision log is enabled. It needs the origins of requests. */
export function logsDecisions({ decisionLog }: Settings): boolean {
  return decisionLog !== 'off';
}

/** What the settings enable for the answers of all domains: bits of `ANSWER`. */
function enabledAnswers(settings: Settings): number {
  return (
    (settings.answerRetryAfter ? ANSWER.retryAfter : 0) |
    (settings.answerRatelimitHeaders ? ANSWER.ratelimitHeaders : 0) |
    (settings.answerProblemBody ? ANSWER.problemBody : 0) |
    (settings.answerMatchedRule ? ANSWER.matchedRule : 0)
  );
}

/**
 * Opens the local cache of one thread, with its share of the configured size. Returns null if the cache is disabled.
 */
export function openOverLimitCache(
  settings: Settings,
  clock: Pick<Clock, 'nowMs'>,
  { refundMarks }: Pick<StoreSharing, 'refundMarks'>,
): OverLimitCache | null {
  if (refundMarks === null) return null;
  return new OverLimitCache(localCacheBytes(settings), clock, new RefundMarks(refundMarks));
}

/** The share of one thread in the configured size of the local cache; 0 if it is disabled. */
export function localCacheBytes(settings: Settings): number {
  const serving = servingThreads(settings).threads;
  const threads = 1 + settings.workerThreads + (serving > 1 ? serving : 0);
  return Math.ceil(settings.localCacheSizeBytes / threads);
}

/**
 * In the modes `error` and `local`, a descriptor has no count only if there is no room for it. Then the request fails.
 */
function uncountedOf({ storeFailureMode }: Settings): Uncounted {
  return storeFailureMode === 'allow' || storeFailureMode === 'deny' ? storeFailureMode : 'refuse';
}
