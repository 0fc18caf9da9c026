import { type BidiMethod, GRPC_STATUS, type ReplyStream } from '../../src/grpc/service.ts';

/** What a caller can say to have it done instead of answered. */
export const DEED = { end: 'end now', throw: 'throw now' } as const;

/**
 * A bidirectional method that answers each message with the same message, and the end of the requests with `bye` and its
 * own end. It keeps what it hears of all its calls, in order.
 */
export class Conversations {
  readonly heard: string[] = [];
  readonly streams: ReplyStream[] = [];
  #awaited = { count: 0, resolve: () => {} };

  readonly method: BidiMethod = stream => {
    this.streams.push(stream);
    stream.onClose(() => this.#hear('closed'));
    this.#hear('begun');
    return {
      message: request => this.#answer(Buffer.from(request).toString(), stream),
      end: () => {
        this.#hear('ended');
        stream.send(Buffer.from('bye'));
        stream.end(GRPC_STATUS.ok, '');
      },
    };
  };

  /** Resolves once this many things were heard. */
  async arrived(count: number): Promise<void> {
    if (this.heard.length >= count) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#awaited = { count, resolve };
    await promise;
  }

  #answer(text: string, stream: ReplyStream): void {
    this.#hear(text);
    if (text === DEED.throw) throw new Error('the secret cause');
    if (text === DEED.end) stream.end(GRPC_STATUS.notFound, 'as you wish');
    else stream.send(Buffer.from(text));
  }

  #hear(text: string): void {
    this.heard.push(text);
    if (this.heard.length === this.#awaited.count) this.#awaited.resolve();
  }
}
