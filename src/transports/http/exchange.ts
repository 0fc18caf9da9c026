import type { HttpResponse } from 'uWebSockets.js';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { asError } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import { type Answer, type AnswerHead, writeHead } from './answer.ts';
import { errorAnswer } from './status.ts';
import { TextChunks } from './text-chunks.ts';
import type { Traffic } from './traffic.ts';

/**
 * Bodies up to this many bytes are handed to the socket whole. Larger ones are fed to it as the caller reads them,
 * so that a slow reader costs one copy of the body and not a second one in the socket's buffer.
 */
const WHOLE_BODY_BYTES = 64 * 1024;

/** The status of answers that have no body by nature. */
const NO_CONTENT = '204 No Content';

/** What the exchanges of one listener share. */
export interface ExchangeContext {
  readonly traffic: Traffic;
  readonly log: Logger;
}

/**
 * One request and its answer. At most one answer is written, and none after the caller has gone away: uWebSockets.js
 * throws when a response is used after its end or its abort, and ends the process when a handler returns with
 * neither an answer nor an abort handler. This class is where both rules are kept.
 */
export class Exchange {
  readonly #res: HttpResponse;
  readonly #context: ExchangeContext;
  readonly #headersOnly: boolean;
  #state: 'waiting' | 'sending' | 'over' = 'waiting';
  #paused = false;
  #watched = false;
  #gone: (() => void) | null = null;
  #wake: () => void = () => {};

  /** `method` as uWebSockets.js gives it: in lower case. */
  constructor(res: HttpResponse, method: string, context: ExchangeContext) {
    this.#res = res;
    this.#context = context;
    this.#headersOnly = method === 'head';
    context.traffic.arrived();
    res.onAborted(() => this.#aborted());
  }

  /** An answer has left, or the caller has gone away before there was one. */
  get over(): boolean {
    return this.#state === 'over';
  }

  /** The address of the caller, as text. Only while the handler of the request runs. */
  get remoteAddress(): string {
    return Buffer.from(this.#res.getRemoteAddressAsText()).toString('latin1');
  }

  /** Calls `listener` when the caller goes away before it has been answered. */
  onGone(listener: () => void): void {
    this.#gone = listener;
  }

  /** Hands over the body as it arrives. A chunk is only valid during its call; the last one may be empty. */
  onChunk(listener: (chunk: Uint8Array, last: boolean) => void): void {
    this.#res.onData((chunk, last) => {
      if (this.#state !== 'waiting') return;
      try {
        listener(new Uint8Array(chunk), last);
      } catch (thrown) {
        this.fail(thrown);
      }
    });
  }

  /**
   * Reads nothing more from the connection until there is an answer, if there is none yet. uWebSockets.js would cut
   * the connection off at the next request, or when the caller closes its side, and throw the answer away. That the
   * caller has gone is not noticed meanwhile.
   */
  holdInput(): void {
    if (this.#state !== 'waiting' || this.#paused || this.#watched) return;
    this.#paused = true;
    this.#res.pause();
  }

  /** Ends {@link holdInput} for good: that the caller goes away is to be noticed while it waits. */
  watchInput(): void {
    this.#watched = true;
    if (this.#state !== 'waiting' || !this.#paused) return;
    this.#paused = false;
    this.#res.resume();
  }

  /** Writes the answer, unless there has been one or the caller has gone. `close` ends the connection after it. */
  answer(answer: Answer, connection: 'keep' | 'close' = 'keep'): void {
    if (this.#state !== 'waiting') return;
    const close = connection === 'close' || this.#context.traffic.draining;
    this.#begin();
    // Uncorked, each of the writes would be a packet of its own.
    this.#res.cork(() => {
      writeHead(this.#res, answer);
      if (answer.status === NO_CONTENT) this.#endWithoutLength(close);
      else if (this.#headersOnly) this.#endWithoutBody(answer.body, close);
      else if (answer.body.length <= WHOLE_BODY_BYTES) this.#end(answer.body, close);
      else this.#feed(Buffer.from(answer.body), close);
    });
  }

  /**
   * Writes an answer whose body is made while the caller reads it: a slow reader costs a chunk or two of memory, and
   * others run between two chunks. Empty pieces are places where they may run as well.
   *
   * @returns when the answer has left or the caller has gone; rejects when making the body failed, and then the caller
   *   gets whatever {@link fail} answers or, where the body had begun, an end that shows that there should be more
   */
  async stream(head: AnswerHead, pieces: Iterable<string>): Promise<void> {
    if (this.#state !== 'waiting') return;
    const chunks = new TextChunks(pieces);
    const first = chunks.next();
    if (chunks.ended) return this.answer({ ...head, body: first ?? '' });
    this.#begin();
    this.#res.cork(() => {
      writeHead(this.#res, head);
      // To ask `end` for it would write the field into the body.
      if (this.#context.traffic.draining) this.#res.writeHeader('Connection', 'close');
      if (this.#headersOnly) this.#res.endWithoutBody();
    });
    if (!this.#headersOnly) return this.#sendChunks(chunks, first);
    chunks.close();
    this.#over();
  }

  /** Answers a request whose handling threw, which is a defect of ours: the cause goes to the log, not to the caller. */
  fail(thrown: unknown): void {
    const error = asError(thrown);
    this.#context.log.error('Request failed (this is a bug; please report it)', {
      error: error.stack ?? error.message,
    });
    this.answer(
      errorAnswer({ code: 'internal', message: 'internal error: the log of the service has its cause' }),
    );
  }

  /** Writes chunk after chunk, each when the last has left and whoever else is ready has run. */
  async #sendChunks(chunks: TextChunks, first: string | null): Promise<void> {
    this.#res.onWritable(() => {
      this.#wake();
      return true;
    });
    let chunk = first;
    while (!chunks.ended) {
      if (chunk === null || this.#write(chunk)) await nextTurn();
      else await this.#woken();
      if (this.#state !== 'sending') return chunks.close();
      chunk = this.#nextOf(chunks);
    }
    this.#res.cork(() => this.#end(chunk ?? '', false));
  }

  /** True when the socket has taken all of it. */
  #write(chunk: string): boolean {
    let taken = false;
    this.#res.cork(() => {
      taken = this.#res.write(chunk);
    });
    return taken;
  }

  /** A body that cannot be made to its end is cut off, which tells its reader. */
  #nextOf(chunks: TextChunks): string | null {
    try {
      return chunks.next();
    } catch (thrown) {
      this.#res.close();
      throw thrown;
    }
  }

  /** Resolves when the connection takes more, or the caller has gone. */
  #woken(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = resolve;
    });
  }

  #begin(): void {
    this.#state = 'sending';
    if (this.#paused) this.#res.resume();
  }

  #end(body: string | Uint8Array, close: boolean): void {
    this.#res.end(body, close);
    this.#over();
  }

  /**
   * RFC 9110, 9.3.2: the fields of the answer to GET, nothing behind them. The length goes in as a field because
   * `endWithoutBody` with a length of its own never completes the response in this release of uWebSockets.js.
   */
  #endWithoutBody(body: string | Uint8Array, close: boolean): void {
    if (close) this.#res.writeHeader('Connection', 'close');
    this.#res.writeHeader('Content-Length', String(Buffer.byteLength(body)));
    this.#res.endWithoutBody();
    this.#over();
  }

  /** RFC 9110, 8.6: an answer with status 204 has no `Content-Length`, which `end` would write. */
  #endWithoutLength(close: boolean): void {
    if (close) this.#res.writeHeader('Connection', 'close');
    this.#res.endWithoutBody();
    this.#over();
  }

  /** uWebSockets.js cannot close a connection after `tryEnd`: the field asks the caller to, and `stop` sees to the rest. */
  #feed(body: Uint8Array, close: boolean): void {
    if (close) this.#res.writeHeader('Connection', 'close');
    this.#res.onWritable(offset => this.#feedFrom(offset, body));
    this.#feedFrom(0, body);
  }

  #feedFrom(offset: number, body: Uint8Array): boolean {
    const [accepted, complete] = this.#res.tryEnd(body.subarray(offset), body.length);
    if (complete) this.#over();
    return accepted;
  }

  #over(): void {
    this.#state = 'over';
    this.#gone = null;
    this.#wake();
    this.#context.traffic.finished();
  }

  #aborted(): void {
    const gone = this.#state === 'waiting' ? this.#gone : null;
    this.#over();
    gone?.();
  }
}
