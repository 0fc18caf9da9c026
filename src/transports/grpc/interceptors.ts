import {
  GRPC_STATUS,
  type GrpcService,
  type GrpcStatus,
  type UnaryMethod,
  type UnaryReply,
} from '../../grpc/service.ts';
import type { Histogram } from '../../stats/histogram.ts';
import type { StatsRegistry } from '../../stats/registry.ts';
import { endpointAttributes } from '../span-endpoints.ts';
import type { CallSpan, CallTracing } from '../tracing.ts';

/** Statuses that are the server's fault (OpenTelemetry, "Semantic conventions for gRPC"). */
const SERVER_FAULTS: ReadonlySet<GrpcStatus> = new Set<GrpcStatus>([
  GRPC_STATUS.unknown,
  GRPC_STATUS.deadlineExceeded,
  GRPC_STATUS.unimplemented,
  GRPC_STATUS.internal,
  GRPC_STATUS.unavailable,
]);

/** `DEADLINE_EXCEEDED` for `deadlineExceeded`, and so on. */
const STATUS_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(GRPC_STATUS).map(([name, status]) => [
    status,
    name.replace(/[A-Z]/g, letter => `_${letter}`).toUpperCase(),
  ]),
);

interface Measuring {
  readonly stats: StatsRegistry;
  /** A monotonic clock, in milliseconds with fractions: `performance.now`. */
  readonly nowMs: () => number;
}

/**
 * Returns a service that counts `ratelimit_server.<Method>.total_requests` when a unary call starts and records
 * `ratelimit_server.<Method>.response_time` when the call ends, also when it fails (spec 6). Streams are not measured,
 * because a watch may stay open for days.
 */
export function measuredService(service: GrpcService, measuring: Measuring): GrpcService {
  return interceptedService(service, (path, method) => measuredMethod(path, method, measuring));
}

/** Returns a service with a span of kind server for each unary call. Streams are not traced. */
export function tracedService(service: GrpcService, tracing: CallTracing): GrpcService {
  return interceptedService(service, (path, method) => tracedMethod(path, method, tracing));
}

function interceptedService(
  service: GrpcService,
  intercept: (path: string, method: UnaryMethod) => UnaryMethod,
): GrpcService {
  const unary = new Map<string, UnaryMethod>();
  for (const [path, method] of service.unary) unary.set(path, intercept(path, method));
  return { ...service, unary };
}

function measuredMethod(path: string, method: UnaryMethod, { stats, nowMs }: Measuring): UnaryMethod {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const requests = stats.counter(`ratelimit_server.${name}.total_requests`);
  const responseTime = stats.timer(`ratelimit_server.${name}.response_time`);
  return (request, reply) => {
    requests.add(1);
    const measured = new MeasuredReply(reply, responseTime, nowMs);
    try {
      method(request, measured);
    } catch (thrown) {
      measured.threw();
      throw thrown;
    }
  };
}

function tracedMethod(path: string, method: UnaryMethod, tracing: CallTracing): UnaryMethod {
  const name = path.slice(1);
  const slash = name.lastIndexOf('/');
  const attributes = {
    'rpc.system': 'grpc',
    'rpc.system.name': 'grpc',
    'rpc.service': name.slice(0, slash),
    'rpc.method': name.slice(slash + 1),
  };
  return (request, reply) => {
    const span = tracing.begin(name, attributes, field => reply.header(field));
    if (span.recording) span.add(endpointAttributes(reply.header(':authority'), reply.peer));
    const traced = new TracedReply(reply, span);
    try {
      tracing.current.during(span, () => method(request, traced));
    } catch (thrown) {
      traced.threw();
      throw thrown;
    }
  };
}

/** A reply that notices the end of its call. */
abstract class InterceptedReply implements UnaryReply {
  readonly #reply: UnaryReply;
  #ended = false;

  constructor(reply: UnaryReply) {
    this.#reply = reply;
  }

  get caller(): object | undefined {
    return this.#reply.caller;
  }

  get peer(): string {
    return this.#reply.peer;
  }

  get done(): boolean {
    return this.#reply.done;
  }

  header(name: string): string {
    return this.#reply.header(name);
  }

  send(response: Uint8Array): void {
    this.#end(GRPC_STATUS.ok, '');
    this.#reply.send(response);
  }

  fail(status: GrpcStatus, message: string): void {
    this.#end(status, message);
    this.#reply.fail(status, message);
  }

  /** The method threw. The server answers the call with its own reply, not with this one. */
  threw(): void {
    this.#end(GRPC_STATUS.internal, 'the method failed');
  }

  /** Called once, just before the answer is sent. */
  protected abstract ended(status: GrpcStatus, message: string): void;

  /** A method may throw after it has answered. The call has ended only once. */
  #end(status: GrpcStatus, message: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.ended(status, message);
  }
}

class MeasuredReply extends InterceptedReply {
  readonly #responseTime: Histogram;
  readonly #nowMs: () => number;
  readonly #startedMs: number;

  constructor(reply: UnaryReply, responseTime: Histogram, nowMs: () => number) {
    super(reply);
    this.#responseTime = responseTime;
    this.#nowMs = nowMs;
    this.#startedMs = nowMs();
  }

  protected ended(): void {
    this.#responseTime.record(this.#nowMs() - this.#startedMs);
  }
}

class TracedReply extends InterceptedReply {
  readonly #span: CallSpan;

  constructor(reply: UnaryReply, span: CallSpan) {
    super(reply);
    this.#span = span;
  }

  protected ended(status: GrpcStatus, message: string): void {
    const name = STATUS_NAMES.get(status) ?? String(status);
    const isFailure = SERVER_FAULTS.has(status);
    this.#span.end(
      {
        'rpc.grpc.status_code': status,
        'rpc.response.status_code': name,
        ...(isFailure && { 'error.type': name }),
      },
      isFailure ? message : '',
    );
  }
}
