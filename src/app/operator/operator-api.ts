import { BatchFigures } from '../../decision/statistics/batch-figures.ts';
import type { Steering } from '../../steering/steering.ts';
import type { SendToRedis } from '../../steering/steering-store.ts';
import { countersRoutes } from '../../transports/debug/operator/counters/counters-routes.ts';
import { leasesRoutes } from '../../transports/debug/operator/counters/leases-routes.ts';
import { quotasRoutes } from '../../transports/debug/operator/counters/quotas-routes.ts';
import { EventStreams } from '../../transports/debug/operator/event-streams.ts';
import { hotKeyRoutes } from '../../transports/debug/operator/hot-key-routes.ts';
import { limitsRoutes } from '../../transports/debug/operator/limits-routes.ts';
import { loadsRoutes } from '../../transports/debug/operator/loads-routes.ts';
import { ratesRoutes } from '../../transports/debug/operator/rates-routes.ts';
import { rehearsalRoutes } from '../../transports/debug/operator/rehearsal-routes.ts';
import {
  type KnownInstances,
  rolloutRoutes,
} from '../../transports/debug/operator/rollout/rollout-routes.ts';
import type { OperatorRoute } from '../../transports/debug/operator/route.ts';
import { OperatorApi } from '../../transports/debug/operator/router.ts';
import { statusRoutes } from '../../transports/debug/operator/status-routes.ts';
import { steeringRoutes } from '../../transports/debug/operator/steering-routes.ts';
import { routesWithoutTasks } from '../../transports/debug/operator/tenant-operations.ts';
import type { Decisions } from '../decision/decisions.ts';
import { hotKeyReaders } from '../decision/hot-keys.ts';
import type { Rules } from '../rules/rules.ts';
import type { PrimaryThread } from '../surroundings.ts';
import { adminToken, reportUnreadableToken } from './admin-token.ts';
import { Presence } from './presence.ts';
import { processQuotas } from './process-quotas.ts';
import { ProcessStatus } from './status.ts';

/** Maximum number of other processes in the status, which is sent every second. */
const MAX_OTHERS = 99;

/** The operator's API, and what runs for it. */
interface CreatedApi {
  readonly api: OperatorApi;
  /** Null if the processes that share the store do not tell each other. */
  readonly presence: Presence | null;
}

/**
 * Creates the operator's API of the debug port.
 *
 * @param steering null if steering records are disabled
 * @param taskRoutes what the task service adds; null if the process does not serve tasks
 */
export function createOperatorApi(
  primary: PrimaryThread,
  rules: Rules,
  decisions: Decisions,
  steering: Steering | null,
  taskRoutes: readonly OperatorRoute[] | null,
): CreatedApi {
  const { settings, version, clock, logger } = primary;
  const { setup, explainer } = decisions;
  const readers = hotKeyReaders(primary, setup, () => rules.current);
  const status = new ProcessStatus(primary, rules, BatchFigures.attach(setup.batchFigures));
  const presence = openPresence(primary, steering?.send ?? null, status);
  const read = async () => status.read(((await presence?.look())?.others ?? []).slice(0, MAX_OTHERS));
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
      ...limitsRoutes(rules.rates),
      ...ratesRoutes(rules.rates),
      ...countersRoutes(explainer),
      ...leasesRoutes(explainer),
      ...quotasRoutes(processQuotas(primary, decisions)),
      ...loadsRoutes(rules.loads),
      ...hotKeyRoutes({ readers, rules: () => rules.current }),
      ...steeringRoutes(steering),
      ...statusRoutes(read, streams),
      ...rolloutRoutes(() => knownInstances(status, presence)),
      ...rehearsalRoutes(rules.rehearsals.rehearsals),
      ...(taskRoutes ?? routesWithoutTasks()),
    ],
    version,
    token,
    clock,
    log: logger,
  });
  return { api, presence };
}

/** @param presence null if the processes that share the store do not tell each other */
async function knownInstances(status: ProcessStatus, presence: Presence | null): Promise<KnownInstances> {
  const { others, isComplete } = (await presence?.look()) ?? { others: [], isComplete: true };
  return { instances: [status.self(), ...others], isShared: presence !== null, isComplete };
}

/**
 * In a cluster, the key must be at the node that has the steering records.
 *
 * @param send sends commands to Redis; null if the process has none
 */
function openPresence(
  { settings, clock, logger }: PrimaryThread,
  send: SendToRedis | null,
  status: ProcessStatus,
): Presence | null {
  if (send === null) return null;
  const prefix = settings.cacheKeyPrefix;
  const isTagged = settings.redisType === 'cluster' && !prefix.includes('{');
  const key = isTagged ? `{${prefix}sluice:steering}:processes` : `${prefix}sluice:processes`;
  return new Presence(send, key, () => status.self(), clock, logger);
}
