import type { FaultCode } from '../../base/fault.ts';
import { GRPC_STATUS, type GrpcStatus } from '../../grpc/service.ts';

/** The status that answers a call which was refused. UNAVAILABLE and RESOURCE_EXHAUSTED tell callers that trying again may help. */
export const STATUS_OF_FAULT: Readonly<Record<FaultCode, GrpcStatus>> = {
  bad_request: GRPC_STATUS.invalidArgument,
  // Not INVALID_ARGUMENT: gRPC libraries answer INTERNAL when a request does not parse, so callers know it as that.
  unparseable: GRPC_STATUS.internal,
  too_large: GRPC_STATUS.resourceExhausted,
  no_rules: GRPC_STATUS.unavailable,
  store_failed: GRPC_STATUS.unavailable,
  overloaded: GRPC_STATUS.resourceExhausted,
  // Nobody hears it; the call was ended before.
  cancelled: GRPC_STATUS.cancelled,
  internal: GRPC_STATUS.internal,
};
