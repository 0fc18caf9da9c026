import type { Clock } from '../../base/clock.ts';
import type { Health } from '../../base/health.ts';
import type { AuditLogger } from '../../base/logger.ts';
import type { Explainer } from '../../decision/explain/explain.ts';
import type { Seats } from '../../decision/hot-keys/seats.ts';
import type { BatchFigures } from '../../decision/statistics/batch-figures.ts';
import type { RuleRates } from '../../decision/statistics/rule-rates.ts';
import type { Rehearsals } from '../../rehearsal/rehearsals.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import type { RuleLoads } from '../../rules/rule-loads.ts';
import type { Settings } from '../../settings/table.ts';
import type { Steering } from '../../steering/steering.ts';
import { countersRoutes } from '../../transports/debug/operator/counters-routes.ts';
import { EventStreams } from '../../transports/debug/operator/event-streams.ts';
import { hotKeyRoutes } from '../../transports/debug/operator/hot-key-routes.ts';
import { limitsRoutes } from '../../transports/debug/operator/limits-routes.ts';
import { loadsRoutes } from '../../transports/debug/operator/loads-routes.ts';
import { ratesRoutes } from '../../transports/debug/operator/rates-routes.ts';
import { rehearsalRoutes } from '../../transports/debug/operator/rehearsal-routes.ts';
import type { OperatorRoute } from '../../transports/debug/operator/route.ts';
import { OperatorApi } from '../../transports/debug/operator/router.ts';
import { statusRoutes } from '../../transports/debug/operator/status-routes.ts';
import { steeringRoutes } from '../../transports/debug/operator/steering-routes.ts';
import { routesWithoutTasks } from '../../transports/debug/operator/tenant-operations.ts';
import { hotKeyReaders } from '../decision/hot-keys.ts';
import type { OpenedStore } from '../stores/opened-store.ts';
import { adminToken, reportUnreadableToken } from './admin-token.ts';
import { Presence } from './presence.ts';
import { ProcessStatus } from './status.ts';

interface OperatorApiParts {
  readonly settings: Settings;
  /** The version of the service. */
  readonly version: string;
  readonly store: OpenedStore;
  /** Null if hot keys are disabled. */
  readonly hotKeys: Seats | null;
  readonly rules: () => CompiledRules | null;
  readonly rates: RuleRates;
  readonly rehearsals: Rehearsals;
  readonly explainer: Explainer;
  readonly loads: RuleLoads;
  readonly health: Health;
  readonly batchFigures: BatchFigures;
  /** Null if steering records are disabled. */
  readonly steering: Steering | null;
  /** What the task service adds; null if the process does not serve tasks. */
  readonly taskRoutes: readonly OperatorRoute[] | null;
  readonly clock: Clock;
  readonly logger: AuditLogger;
}

/** The operator's API, and what runs for it. */
interface CreatedApi {
  readonly api: OperatorApi;
  /** Null if the processes that share the store do not tell each other. */
  readonly presence: Presence | null;
}

/** Creates the operator's API of the debug port. */
export function createOperatorApi(parts: OperatorApiParts): CreatedApi {
  const { settings, version, store, hotKeys, rules, clock, logger } = parts;
  const readers = hotKeyReaders(settings, store, { seats: hotKeys, rules, clock });
  const status = new ProcessStatus(parts);
  const presence = openPresence(parts, status);
  const read = () => status.read(presence?.others ?? []);
  const streams = new EventStreams({
    status: read,
    refusals: readers === null ? null : (timeMs, count) => readers.refusals.since(timeMs, count),
    clock,
    log: logger,
  });
  const token = adminToken(settings, clock);
  void reportUnreadableToken(token, logger);
  const api = new OperatorApi({
    routes: [
      ...limitsRoutes(parts.rates),
      ...ratesRoutes(parts.rates),
      ...countersRoutes(parts.explainer),
      ...loadsRoutes(parts.loads),
      ...hotKeyRoutes({ readers, rules }),
      ...steeringRoutes(parts.steering),
      ...statusRoutes(read, streams),
      ...rehearsalRoutes(parts.rehearsals),
      ...(parts.taskRoutes ?? routesWithoutTasks()),
    ],
    version,
    token,
    clock,
    log: logger,
  });
  return { api, presence };
}

/** In a cluster, the key must be at the node that has the steering records. */
function openPresence(
  { settings, steering, clock }: OperatorApiParts,
  status: ProcessStatus,
): Presence | null {
  const send = steering?.send ?? null;
  if (send === null) return null;
  const prefix = settings.cacheKeyPrefix;
  const isTagged = settings.redisType === 'cluster' && !prefix.includes('{');
  const key = isTagged ? `{${prefix}sluice:steering}:processes` : `${prefix}sluice:processes`;
  return new Presence({ send, key, self: () => status.self(), clock });
}
