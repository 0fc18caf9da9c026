import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Settings } from '../../settings/table.ts';
import type { OperatorRoute } from '../../transports/debug/operator/route.ts';
import { OperatorApi } from '../../transports/debug/operator/router.ts';
import { adminToken } from './admin-token.ts';

interface OperatorApiParts {
  readonly settings: Settings;
  /** The version of the service. */
  readonly version: string;
  readonly routes: readonly OperatorRoute[];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Creates the operator's API of the debug port. */
export function createOperatorApi({
  settings,
  version,
  routes,
  clock,
  logger,
}: OperatorApiParts): OperatorApi {
  return new OperatorApi({ routes, version, token: adminToken(settings, clock), clock, log: logger });
}
