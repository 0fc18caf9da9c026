import {
  GRPC_STATUS,
  type GrpcService,
  type GrpcStatus,
  type UnaryMethod,
  type UnaryReply,
} from '../../grpc/service.ts';
import type { CallSpan, CallTracing } from '../tracing.ts';

/** Statuses that are the server's fault (OpenTelemetry, "Semantic conventions for gRPC"). */
const FAILURES: ReadonlySet<GrpcStatus> = new Set<GrpcStatus>([
  GRPC_STATUS.unknown,
  GRPC_STATUS.deadlineExceeded,
  GRPC_STATUS.unimplemented,
  GRPC_STATUS.internal,
  GRPC_STATUS.unavailable,
]);

/**
 * The same service with a span of kind server for each unary call. Streams are left alone: a watch that stays open for
 * days would be one span of days.
 */
export function tracedService(service: GrpcService, tracing: CallTracing): GrpcService {
  const unary = new Map<string, UnaryMethod>();
  for (const [path, method] of service.unary) unary.set(path, tracedMethod(path, method, tracing));
  return { unary, serverStreaming: service.serverStreaming };
}

function tracedMethod(path: string, method: UnaryMethod, tracing: CallTracing): UnaryMethod {
  const name = path.slice(1);
  const slash = name.lastIndexOf('/');
  const attributes = {
    'rpc.system': 'grpc',
    'rpc.service': name.slice(0, slash),
    'rpc.method': name.slice(slash + 1),
  };
  return (request, reply) => {
    const span = tracing.begin(name, attributes, field => reply.header(field));
    const traced = new TracedReply(reply, span);
    try {
      tracing.current.during(span, () => method(request, traced));
    } catch (thrown) {
      // The server answers this call on its own reply, past this one.
      traced.finish(GRPC_STATUS.internal, 'the method failed');
      throw thrown;
    }
  };
}

class TracedReply implements UnaryReply {
  readonly #reply: UnaryReply;
  readonly #span: CallSpan;
  #finished = false;

  constructor(reply: UnaryReply, span: CallSpan) {
    this.#reply = reply;
    this.#span = span;
  }

  get done(): boolean {
    return this.#reply.done;
  }

  get caller(): object | undefined {
    return this.#reply.caller;
  }

  header(name: string): string {
    return this.#reply.header(name);
  }

  send(response: Uint8Array): void {
    this.finish(GRPC_STATUS.ok, '');
    this.#reply.send(response);
  }

  fail(status: GrpcStatus, message: string): void {
    this.finish(status, message);
    this.#reply.fail(status, message);
  }

  /** Ends the span once: a method that throws after it has answered is one call. */
  finish(status: GrpcStatus, message: string): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#span.end({ 'rpc.grpc.status_code': status }, FAILURES.has(status) ? message : '');
  }
}
