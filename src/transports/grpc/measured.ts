import type { GrpcService, GrpcStatus, UnaryMethod, UnaryReply } from '../../grpc/service.ts';
import type { Histogram } from '../../stats/histogram.ts';
import type { StatsRegistry } from '../../stats/registry.ts';

interface Measuring {
  readonly stats: StatsRegistry;
  /** A clock that never steps back, in milliseconds with fractions: `performance.now`. */
  readonly nowMs: () => number;
}

/**
 * The same service with `ratelimit_server.<Method>.total_requests` counted when a unary call starts and
 * `ratelimit_server.<Method>.response_time` recorded when it ends, also when it fails (spec 6).
 * Streams are left alone: how long a watch stays open says nothing about the service.
 */
export function measuredService(service: GrpcService, measuring: Measuring): GrpcService {
  const unary = new Map<string, UnaryMethod>();
  for (const [path, method] of service.unary) unary.set(path, measuredMethod(path, method, measuring));
  return { unary, serverStreaming: service.serverStreaming };
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
      // The server answers this call on its own reply, past this one.
      measured.finish();
      throw thrown;
    }
  };
}

class MeasuredReply implements UnaryReply {
  readonly #reply: UnaryReply;
  readonly #responseTime: Histogram;
  readonly #nowMs: () => number;
  readonly #startedMs: number;
  #finished = false;

  constructor(reply: UnaryReply, responseTime: Histogram, nowMs: () => number) {
    this.#reply = reply;
    this.#responseTime = responseTime;
    this.#nowMs = nowMs;
    this.#startedMs = nowMs();
  }

  get caller(): object | undefined {
    return this.#reply.caller;
  }

  header(name: string): string {
    return this.#reply.header(name);
  }

  get done(): boolean {
    return this.#reply.done;
  }

  send(response: Uint8Array): void {
    this.finish();
    this.#reply.send(response);
  }

  fail(status: GrpcStatus, message: string): void {
    this.finish();
    this.#reply.fail(status, message);
  }

  /** Records once: a method that throws after it has answered is one call. */
  finish(): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#responseTime.record(this.#nowMs() - this.#startedMs);
  }
}
