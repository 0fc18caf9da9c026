import { DecisionLogger } from '../../decision/decision-log/decision-logger.ts';
import { LogTexts } from '../../decision/decision-log/log-texts.ts';
import { SharedRate } from '../../decision/decision-log/shared-rate.ts';
import type { Settings } from '../../settings/table.ts';
import type { StatsRegistry } from '../../stats/registry.ts';

/** What all threads that log decisions have in common. */
export interface DecisionLogSharing {
  /** Memory of a `SharedRate`. */
  readonly rate: SharedArrayBuffer;
  /** The secret key of hashes; null if texts are logged as they are. */
  readonly hashKey: Uint8Array | null;
}

interface DecisionLoggerCreation {
  readonly settings: Settings;
  readonly sharing: DecisionLogSharing;
  /** The statistics of the thread. */
  readonly stats: StatsRegistry;
  /** Passes lines on to the primary thread, or writes them there. */
  readonly write: (lines: string) => void;
}

/** Creates the logger of a thread that decides. Call it only if the decision log is enabled. */
export function openDecisionLogger({
  settings,
  sharing,
  stats,
  write,
}: DecisionLoggerCreation): DecisionLogger {
  return new DecisionLogger({
    sample: settings.decisionLog === 'sampled' ? settings.decisionLogSample : 0,
    rate: new SharedRate(sharing.rate, settings.decisionLogMaxPerSecond),
    texts: new LogTexts(sharing.hashKey),
    modes: { shadow: settings.shadowMode, quota: settings.quotaMode },
    dropped: stats.counter('ratelimit.decision_log.dropped_by_rate'),
    write,
  });
}
