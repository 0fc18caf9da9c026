import type { Health } from '../../base/health.ts';
import {
  GRPC_STATUS,
  type GrpcService,
  type GrpcStatus,
  type StreamMethod,
  type UnaryMethod,
} from '../../grpc/service.ts';
import {
  checkHealthListRequest,
  decodeHealthCheckRequest,
  encodeHealthCheckResponse,
  encodeHealthListResponse,
  SERVING_STATUS,
  type ServingStatus,
} from '../../messages/health-codec.ts';
import { WireFault } from '../../messages/wire.ts';
import { RATE_LIMIT_SERVICE } from './rate-limit-service.ts';

const HEALTH_SERVICE = 'grpc.health.v1.Health';

/** Services that report the real state: the name of the reference implementation, and the full name of the service. */
const STATEFUL_NAMES: readonly string[] = ['ratelimit', RATE_LIMIT_SERVICE];

/** Maximum number of open watches. Each of them holds a call and gets a message for each change. */
const MAX_WATCHES = 10_000;

/** Maximum length of an unknown service name in the error message. */
const MAX_QUOTED_NAME_LENGTH = 100;

/**
 * `grpc.health.v1.Health`: `Check`, `List` and `Watch`. The empty name is SERVING as long as the process answers, even
 * during shutdown, as in the reference implementation.
 */
export function healthService(health: Health): GrpcService {
  return {
    unary: new Map([
      [`/${HEALTH_SERVICE}/Check`, check(health)],
      [`/${HEALTH_SERVICE}/List`, list(health)],
    ]),
    serverStreaming: new Map([[`/${HEALTH_SERVICE}/Watch`, watch(health)]]),
    bidiStreaming: new Map(),
  };
}

function statusOf(service: string, health: Health): ServingStatus {
  if (service === '') return SERVING_STATUS.serving;
  if (STATEFUL_NAMES.includes(service)) return stateOf(health.healthy);
  return SERVING_STATUS.serviceUnknown;
}

function stateOf(healthy: boolean): ServingStatus {
  return healthy ? SERVING_STATUS.serving : SERVING_STATUS.notServing;
}

function check(health: Health): UnaryMethod {
  return (request, reply) => {
    readOrRefuse(reply.fail.bind(reply), () => {
      const service = decodeHealthCheckRequest(request);
      const status = statusOf(service, health);
      if (status === SERVING_STATUS.serviceUnknown) reply.fail(GRPC_STATUS.notFound, unknownService(service));
      else reply.send(encodeHealthCheckResponse(status));
    });
  };
}

function list(health: Health): UnaryMethod {
  return (request, reply) => {
    readOrRefuse(reply.fail.bind(reply), () => {
      checkHealthListRequest(request);
      const names = ['', ...STATEFUL_NAMES];
      reply.send(encodeHealthListResponse(new Map(names.map(name => [name, statusOf(name, health)]))));
    });
  };
}

function watch(health: Health): StreamMethod {
  let watches = 0;
  return (request, stream) => {
    readOrRefuse(stream.end.bind(stream), () => {
      const service = decodeHealthCheckRequest(request);
      if (watches >= MAX_WATCHES) {
        stream.end(
          GRPC_STATUS.resourceExhausted,
          `${MAX_WATCHES} health watches are open; use Check instead`,
        );
        return;
      }
      watches++;
      stream.onClose(() => watches--);
      stream.send(encodeHealthCheckResponse(statusOf(service, health)));
      if (!STATEFUL_NAMES.includes(service)) return;
      stream.onClose(health.onChange(healthy => stream.send(encodeHealthCheckResponse(stateOf(healthy)))));
    });
  };
}

/** Runs `handle`. A request that cannot be decoded is rejected with INTERNAL, as gRPC libraries do. */
function readOrRefuse(refuse: (status: GrpcStatus, message: string) => void, handle: () => void): void {
  try {
    handle();
  } catch (thrown) {
    if (!(thrown instanceof WireFault)) throw thrown;
    refuse(GRPC_STATUS.internal, `the request is not a ${HEALTH_SERVICE} message: ${thrown.message}`);
  }
}

function unknownService(service: string): string {
  const known = STATEFUL_NAMES.map(name => JSON.stringify(name)).join(', ');
  const asked = JSON.stringify(service.slice(0, MAX_QUOTED_NAME_LENGTH));
  return `unknown service ${asked}; known services: ${known}, and the empty name for the process itself`;
}
