import { type Clock, within } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Batcher } from '../../decision/batching/batcher.ts';

/**
 * Waits until all requests are decided, or until the time for the shutdown is over. The store must stay open until then:
 * callers that gave up leave decisions behind when ports close.
 */
export async function decided(
  batcher: Batcher,
  boundMs: number,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<void> {
  await within(clock, boundMs, batcher.drained());
  const requests = batcher.pending;
  if (requests > 0)
    logger.warning('Shutdown timeout: the store has not answered some requests', { requests });
}
