import { Fault } from '../../base/fault.ts';
import type { Decider, DecisionReply, ResponseFormat } from '../../decision/decider.ts';
import { RequestTable } from '../../messages/request-table.ts';
import type { Settings } from '../../settings/table.ts';
import type { Counter, StatsRegistry } from '../../stats/registry.ts';

/** The decider for the callers of the ports. Without `ENABLE_NEGATIVE_HITS`, it rejects their refunds. */
export function deciderOfCallers(
  { enableNegativeHits }: Settings,
  stats: StatsRegistry,
  decider: Decider,
): Decider {
  if (enableNegativeHits) return decider;
  return new RefundRejecter(decider, stats.counter('ratelimit.service.negative_hits_rejected'));
}

/**
 * Rejects requests that refund hits, before anything is counted. It decodes each request once more, and stands in front of
 * the decider, because the task service refunds hits of starts in any case.
 */
class RefundRejecter implements Decider {
  readonly #decider: Decider;
  readonly #rejected: Counter;
  readonly #table = new RequestTable();

  constructor(decider: Decider, rejected: Counter) {
    this.#decider = decider;
    this.#rejected = rejected;
  }

  decide(request: Uint8Array, format: ResponseFormat, reply: DecisionReply): void {
    const refund = this.#firstRefund(request);
    if (refund < 0) {
      this.#decider.decide(request, format, reply);
      return;
    }
    this.#rejected.add(1);
    const place = `descriptors[${refund}].is_negative_hits`;
    const advice = 'remove it, or set ENABLE_NEGATIVE_HITS=true in the rate limit service';
    reply.refused(
      new Fault(
        'unimplemented',
        `negative hits are not enabled on this server: \`${place}\` is true; ${advice}`,
      ),
    );
  }

  /**
   * Index of the first descriptor that refunds hits. It is -1 if no descriptor does, and if the decider rejects the message.
   */
  #firstRefund(request: Uint8Array): number {
    const table = this.#table;
    table.reset();
    table.attach(request);
    try {
      table.decode(0, request.length);
    } catch {
      return -1;
    }
    return table.isRefund.subarray(0, table.descriptorRows).indexOf(1);
  }
}
