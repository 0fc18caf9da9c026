import t from 'tap';
import { DEFAULT_SERVER_LIMITS, serverLimitsOf } from '../../../../src/transports/grpc/own-server.ts';

t.test('servers of several threads divide the memory and the budget for inflating', async t => {
  t.strictSame(serverLimitsOf(1), DEFAULT_SERVER_LIMITS);
  const { maxHeldBytes, maxQueuedBytes, inflation } = DEFAULT_SERVER_LIMITS;
  t.strictSame(serverLimitsOf(4), {
    ...DEFAULT_SERVER_LIMITS,
    maxHeldBytes: maxHeldBytes / 4,
    maxQueuedBytes: maxQueuedBytes / 4,
    inflation: { burst: inflation.burst / 4, perSecond: inflation.perSecond / 4, perRequest: 0 },
  });
});
