import type { BatchObserver } from '../../decision/batch-observer.ts';
import type { Settings } from '../../settings/table.ts';
import type { StatsRegistry } from '../../stats/registry.ts';
import type { DecisionLogSharing } from './open-decision-logger.ts';

interface ThreadSetup {
  readonly settings: Settings;
  /** Null if the decision log is disabled. */
  readonly decisionLog: DecisionLogSharing | null;
}

/**
 * The observers of a thread that decides. Their code is loaded only if the settings require it.
 *
 * @param stats the statistics of the thread
 * @param write sends lines of the decision log to the primary thread
 */
export async function threadObservers(
  { settings, decisionLog: sharing }: ThreadSetup,
  stats: StatsRegistry,
  write: (lines: string) => void,
): Promise<readonly BatchObserver[]> {
  if (sharing === null) return [];
  const { openDecisionLogger } = await import('./open-decision-logger.ts');
  return [openDecisionLogger({ settings, sharing, stats, write })];
}
