import { RefundMarks } from '../../counters/refund-marks.ts';
import type { GenerationSource } from '../../decision/batching/batcher.ts';
import type { NamedStatistics } from '../../decision/statistics/named-rows.ts';
import { DemandBoard } from '../../quota/demand-board.ts';
import { Payments } from '../../quota/payments.ts';
import { quotaCounters } from '../../quota/quota-counters.ts';
import { QuotaDesk } from '../../quota/quota-desk.ts';
import type { RehearsalSource } from '../../rehearsal/rehearsal-channel.ts';
import { RehearsedUsage } from '../../rehearsal/reported-usage.ts';
import { SharedRecordsReader } from '../../steering/shared-records.ts';
import type { OpenedStore } from '../stores/opened-store.ts';
import type { Surroundings } from '../surroundings.ts';
import { type DecidingSetup, rehearsalObserver } from './deciding.ts';

/** What the desk of each thread has for itself. */
interface OwnParts {
  readonly store: OpenedStore;
  /** The statistics with names made from request values. */
  readonly named: NamedStatistics;
  readonly rules: GenerationSource;
  readonly rehearsal: RehearsalSource;
}

/** Creates the desk of a thread for streams of quotas; null if the counter store cannot take hits back. */
export function createQuotaDesk(
  { settings, stats, clock, logger }: Omit<Surroundings, 'random'>,
  setup: DecidingSetup,
  { store, named, rules, rehearsal }: OwnParts,
): QuotaDesk | null {
  const { backendType, cacheKeyPrefix } = settings;
  if (backendType === 'memcached') return null;
  const { steering } = setup;
  const { fingerprintKey } = store;
  const desk = new QuotaDesk({
    payments: new Payments({
      store: store.store,
      cacheKeyPrefix,
      fingerprintKey,
      named,
      marks: store.refundMarks === null ? null : new RefundMarks(store.refundMarks),
      steering: steering === null ? null : new SharedRecordsReader(steering),
    }),
    board: new DemandBoard(cacheKeyPrefix),
    observer: new RehearsedUsage(rehearsalObserver(setup, rehearsal), fingerprintKey, named),
    rules,
    isShadow: settings.shadowMode,
    clock,
    logger,
    counters: quotaCounters(stats),
  });
  stats.gauge('ratelimit.quota.streams', () => desk.streams.size);
  stats.gauge('ratelimit.quota.buckets', () => desk.bucketCount);
  return desk;
}
