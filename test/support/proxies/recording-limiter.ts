import { createLogger } from '../../../src/app/logging/logging.ts';
import { ByteWriter } from '../../../src/base/bytes.ts';
import type { UnaryReply } from '../../../src/grpc/service.ts';
import { SHOULD_RATE_LIMIT_PATH } from '../../../src/messages/client-codec.ts';
import { RequestTable } from '../../../src/messages/request-table.ts';
import { writeUint } from '../../../src/messages/wire.ts';
import { DEFAULT_SERVER_LIMITS, OwnGrpcServer } from '../../../src/transports/grpc/own-server.ts';
import { PLAIN_OPTIONS, serviceOf } from '../../exam/grpc-examinee.ts';
import type { Teardown } from '../stores.ts';

/** A descriptor of a call. */
export interface SentDescriptor {
  readonly entries: Readonly<Record<string, string>>;
  /** Null if the descriptor does not say it. */
  readonly hits: number | null;
  readonly isRefund: boolean;
}

/** `RateLimitResponse.Code`. */
export type Code = 1 | 2;

/** What to answer to a call; nothing leaves it without an answer. */
export type Answerer = (descriptors: readonly SentDescriptor[]) => Code | undefined;

const HEALTH_PATH = '/grpc.health.v1.Health/Check';
/** A `HealthCheckResponse` with the status SERVING. */
const SERVING = Uint8Array.of(8, 1);

/** A rate limit service that keeps what a proxy asks, in place of Sluice. */
export class RecordingLimiter {
  /** The descriptors of each call, in the order in which the calls came. */
  readonly calls: (readonly SentDescriptor[])[] = [];
  readonly #server: OwnGrpcServer;

  private constructor(answerer: Answerer) {
    const method = (request: Uint8Array, reply: UnaryReply): void => {
      const sent = readDescriptors(request);
      this.calls.push(sent);
      const code = answerer(sent);
      if (code !== undefined) reply.send(responseOf(code));
    };
    this.#server = new OwnGrpcServer(
      {
        ...PLAIN_OPTIONS,
        drainTimeoutMs: 0,
        service: serviceOf({
          unary: { [SHOULD_RATE_LIMIT_PATH]: method, [HEALTH_PATH]: (_, reply) => reply.send(SERVING) },
        }),
        logger: createLogger({ level: 'trace', format: 'json', write: () => {} }),
      },
      { random: Math.random, limits: DEFAULT_SERVER_LIMITS },
    );
  }

  static async start(t: Teardown, answerer: Answerer): Promise<RecordingLimiter> {
    const limiter = new RecordingLimiter(answerer);
    await limiter.#server.start();
    t.teardown(() => limiter.#server.stop());
    return limiter;
  }

  /** `host:port`. */
  get grpc(): string {
    const address = this.#server.address;
    return 'port' in address ? `127.0.0.1:${address.port}` : address.path;
  }
}

function readDescriptors(request: Uint8Array): SentDescriptor[] {
  const table = new RequestTable();
  table.add(request);
  return Array.from({ length: table.descriptorCount[0] }, (_, row) => {
    const first = table.firstEntry[row];
    const pairs = Array.from({ length: table.entryCount[row] }, (_, at) => [
      table.text(table.keyStart[first + at], table.keyEnd[first + at]),
      table.text(table.valueStart[first + at], table.valueEnd[first + at]),
    ]);
    const hits = table.descriptorHits[row];
    return {
      entries: Object.fromEntries(pairs),
      hits: hits < 0 ? null : hits,
      isRefund: table.isRefund[row] === 1,
    };
  });
}

/** A `RateLimitResponse` with only its code. */
function responseOf(code: Code): Uint8Array {
  const writer = new ByteWriter();
  writeUint(writer, 1, code);
  return writer.take();
}
