import { systemClock } from '../../src/base/clock.ts';
import { OperatorApi } from '../../src/transports/debug/operator/router.ts';
import { KeepingLogger } from './keeping-logger.ts';

type Parts = ConstructorParameters<typeof OperatorApi>[0];

/** An operator's API without routes of its own and without a token. */
export function operatorApi(parts: Partial<Parts> = {}): OperatorApi {
  return new OperatorApi({
    routes: [],
    token: async () => null,
    version: '1.2.3',
    clock: systemClock,
    log: new KeepingLogger(),
    ...parts,
  });
}
