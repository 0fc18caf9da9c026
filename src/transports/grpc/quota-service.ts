import { Fault } from '../../base/fault.ts';
import { type BidiMethod, GRPC_STATUS, type GrpcService } from '../../grpc/service.ts';
import type { QuotaDesk } from '../../quota/quota-desk.ts';
import { STATUS_OF_FAULT } from './rate-limit-service.ts';

const QUOTA_SERVICE = 'envoy.service.rate_limit_quota.v3.RateLimitQuotaService';

/** Maximum number of open streams in a thread. A proxy has one for each filter configuration. */
const MAX_STREAMS = 10_000;

const UNSUPPORTED =
  'quotas need counters that hits can be taken back from: set BACKEND_TYPE to `redis` or `memory` instead of memcached';

/**
 * `envoy.service.rate_limit_quota.v3.RateLimitQuotaService`.
 *
 * @param desk null if the counter store cannot do it
 */
export function quotaService(desk: QuotaDesk | null): GrpcService {
  return {
    unary: new Map(),
    serverStreaming: new Map(),
    bidiStreaming: new Map([[`/${QUOTA_SERVICE}/StreamRateLimitQuotas`, streamQuotas(desk)]]),
  };
}

function streamQuotas(desk: QuotaDesk | null): BidiMethod {
  return stream => {
    const receiver = { message: () => {}, end: () => stream.end(GRPC_STATUS.ok, '') };
    if (desk === null) {
      stream.end(GRPC_STATUS.unimplemented, UNSUPPORTED);
      return receiver;
    }
    if (desk.streams.size >= MAX_STREAMS) {
      const text = `the server has ${MAX_STREAMS} streams of quotas already; try again later`;
      stream.end(GRPC_STATUS.resourceExhausted, text);
      return receiver;
    }
    const proxy = desk.open(stream.peer, message => stream.send(message));
    stream.onClose(() => desk.close(proxy));
    const message = (request: Uint8Array): void => {
      try {
        desk.report(proxy, request);
      } catch (fault) {
        if (!(fault instanceof Fault)) throw fault;
        stream.end(STATUS_OF_FAULT[fault.code], fault.message);
      }
    };
    return { ...receiver, message };
  };
}
