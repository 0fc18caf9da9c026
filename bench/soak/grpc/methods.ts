import {
  GRPC_STATUS,
  type GrpcService,
  type ReplyStream,
  type RequestReceiver,
  type StreamMethod,
  type UnaryMethod,
  type UnaryReply,
} from '../../../src/grpc/service.ts';

/** Methods of the server under soak; clients know what each answers. */
export const METHOD = {
  /** Answers at once. */
  fast: '/soak.Soak/Fast',
  /** Answers a little later, also when its caller is gone by then. */
  slow: '/soak.Soak/Slow',
  /** Never answers: only a deadline or the caller ends the call. */
  never: '/soak.Soak/Never',
  /** Answers with more than the windows let through at once. */
  large: '/soak.Soak/Large',
  /** A stream of {@link STREAM_MESSAGES} answers. */
  count: '/soak.Soak/Count',
  /** A stream of one answer that does not end. */
  watch: '/soak.Soak/Watch',
  /** A stream of one answer for each message, which ends with the requests. */
  talk: '/soak.Soak/Talk',
} as const;

/** Answers of the streaming method that ends. */
export const STREAM_MESSAGES = 3;

export const SMALL_ANSWER = Buffer.from('an answer of some bytes');
export const LARGE_ANSWER = Buffer.alloc(100_000, 0x61);

/** Slow calls are answered together, this long after the first of them. */
const SLOW_MS = 20;

/** What the methods keep between calls; all are empty once clients are gone. */
export class SoakMethods {
  #slow: UnaryReply[] = [];
  readonly #open = new Set<ReplyStream>();

  /** Calls that are not answered yet and streams that are open. */
  get pending(): number {
    return this.#slow.length + this.#open.size;
  }

  readonly service: GrpcService = {
    unary: new Map<string, UnaryMethod>([
      [METHOD.fast, (_request, reply) => reply.send(SMALL_ANSWER)],
      [METHOD.slow, (_request, reply) => this.#answerLater(reply)],
      [METHOD.never, () => {}],
      [METHOD.large, (_request, reply) => reply.send(LARGE_ANSWER)],
    ]),
    serverStreaming: new Map<string, StreamMethod>([
      [METHOD.count, (_request, stream) => countUp(stream)],
      [METHOD.watch, (_request, stream) => this.#watch(stream)],
    ]),
    bidiStreaming: new Map([[METHOD.talk, stream => this.#talk(stream)]]),
  };

  #answerLater(reply: UnaryReply): void {
    this.#slow.push(reply);
    if (this.#slow.length > 1) return;
    setTimeout(() => {
      const replies = this.#slow;
      this.#slow = [];
      for (const late of replies) late.send(SMALL_ANSWER);
    }, SLOW_MS);
  }

  #watch(stream: ReplyStream): void {
    this.#keep(stream);
    stream.send(SMALL_ANSWER);
  }

  #talk(stream: ReplyStream): RequestReceiver {
    this.#keep(stream);
    return {
      message: () => stream.send(SMALL_ANSWER),
      end: () => stream.end(GRPC_STATUS.ok, ''),
    };
  }

  #keep(stream: ReplyStream): void {
    this.#open.add(stream);
    stream.onClose(() => this.#open.delete(stream));
  }
}

function countUp(stream: ReplyStream): void {
  for (let i = 0; i < STREAM_MESSAGES; i++) stream.send(SMALL_ANSWER);
  stream.end(GRPC_STATUS.ok, '');
}
