import { Deadlines } from '../../src/grpc/deadlines.ts';
import { GrpcConnection } from '../../src/grpc/grpc-connection.ts';
import { DEFAULT_CALL_LIMITS, HeldBytes } from '../../src/grpc/limits.ts';
import { Inflater } from '../../src/grpc/message-reader.ts';
import { GRPC_STATUS, type GrpcService, type ReplyStream, type UnaryReply } from '../../src/grpc/service.ts';
import { DEFAULT_LIMITS } from '../../src/http2/connection/limits.ts';
import { DEFAULT_SERVER_LIMITS } from '../../src/transports/grpc/own-server.ts';
import { Conversations } from './conversations.ts';
import { KeepingLogger } from './keeping-logger.ts';
import { ManualClock } from './manual-clock.ts';

/** A connection without a socket, and everything that it leaves behind. */
export class InMemory {
  readonly clock = new ManualClock(1_700_000_000_000);
  readonly logger = new KeepingLogger();
  readonly held = new HeldBytes(10_000_000);
  readonly deadlines = new Deadlines(this.clock);
  /** Calls of methods that were not answered at once. */
  readonly waiting: (UnaryReply | ReplyStream)[] = [];
  /** Calls of `/s/Talk`. */
  readonly conversations = new Conversations();
  /** Messages of calls of `/s/Swallow`, which answers nothing. */
  readonly swallowed = { messages: 0, bytes: 0 };
  readonly grpc: GrpcConnection;
  readonly #output: Buffer[] = [];

  constructor() {
    const options = {
      service: this.#service(),
      limits: DEFAULT_LIMITS,
      callLimits: DEFAULT_CALL_LIMITS,
      held: this.held,
      inflater: new Inflater(
        { maxMessageBytes: 4_194_304, terms: DEFAULT_SERVER_LIMITS.inflation },
        this.clock,
      ),
      deadlines: this.deadlines,
      logger: this.logger,
    };
    this.grpc = new GrpcConnection(options, { peer: '', wrote: () => {} }, this.clock.nowMs());
  }

  /** What the server has said, all of it. */
  get output(): Buffer {
    return Buffer.concat(this.#output);
  }

  receive(bytes: Uint8Array): void {
    // A copy, as a socket's read is one: nothing may be kept of it.
    const chunk = Buffer.from(bytes);
    this.grpc.receive(chunk, this.clock.nowMs());
    chunk.fill(0xaa);
    this.#take();
  }

  /** Answers what waits. */
  answer(): void {
    for (const reply of this.waiting.splice(0)) reply.send(Buffer.from('late'));
    this.#take();
  }

  /** Ends the connection as a socket does that is gone; what waits is answered to nobody. */
  end(): void {
    this.grpc.abort();
    this.answer();
  }

  pass(ms: number): void {
    this.clock.advance(ms);
    this.grpc.tick(this.clock.nowMs());
    this.#take();
  }

  #take(): void {
    const { output } = this.grpc.connection;
    this.#output.push(Buffer.from(output.view()));
    output.reset();
  }

  #swallow({ length }: Uint8Array): void {
    this.swallowed.messages++;
    this.swallowed.bytes += length;
  }

  #service(): GrpcService {
    return {
      unary: new Map([
        ['/s/Echo', (request, reply) => reply.send(request)],
        ['/s/Hold', (_request, reply) => this.waiting.push(reply)],
        ['/s/Refuse', (_request, reply) => reply.fail(GRPC_STATUS.notFound, 'nothing there')],
        ['/s/Large', (_request, reply) => reply.send(Buffer.alloc(200_000))],
      ]),
      serverStreaming: new Map([
        [
          '/s/Watch',
          (request, stream) => {
            stream.send(request);
            this.waiting.push(stream);
          },
        ],
      ]),
      bidiStreaming: new Map([
        ['/s/Talk', this.conversations.method],
        ['/s/Swallow', () => ({ message: request => this.#swallow(request), end: () => {} })],
        [
          '/s/Broken',
          () => {
            throw new Error('the secret cause');
          },
        ],
      ]),
    };
  }
}
