import type { HttpResponse } from 'uWebSockets.js';
import type { Answer, AnswerHead } from '../answer.ts';
import { type ChunkListener, Exchange, type ExchangeContext } from '../exchange.ts';

/**
 * Bodies up to this many bytes are handed to the socket whole. Larger ones are fed to it as the caller reads them,
 * so that a slow reader costs one copy of the body and not a second one in the socket's buffer.
 */
const WHOLE_BODY_BYTES = 64 * 1024;

/** The status of answers that have no body by nature. */
const NO_CONTENT = '204 No Content';

/**
 * An exchange over uWebSockets.js, which throws when a response is used after its end or its abort, and ends the
 * process when a handler returns with neither an answer nor an abort handler.
 */
export class UwsExchange extends Exchange {
  readonly #res: HttpResponse;
  #paused = false;
  #watched = false;

  constructor(res: HttpResponse, headersOnly: boolean, context: ExchangeContext) {
    super(context, headersOnly);
    this.#res = res;
    res.onAborted(() => this.aborted());
  }

  onChunk(listener: ChunkListener): void {
    this.#res.onData((chunk, last) => this.deliver(listener, new Uint8Array(chunk), last));
  }

  /** uWebSockets.js would cut the connection off at the next request, or when the caller closes its side, and throw the answer away. */
  holdInput(): void {
    if (!this.waiting || this.#paused || this.#watched) return;
    this.#paused = true;
    this.#res.pause();
  }

  resumeInput(): void {
    if (this.waiting) this.#resume();
  }

  watchInput(): void {
    this.#watched = true;
    if (this.waiting) this.#resume();
  }

  protected send(answer: Answer, close: boolean): void {
    this.#resume();
    // Uncorked, each of the writes would be a packet of its own.
    this.#res.cork(() => {
      this.#writeHead(answer);
      if (answer.status === NO_CONTENT) this.#endWithoutLength(close);
      else if (this.headersOnly) this.#endWithoutBody(answer.body, close);
      else if (answer.body.length <= WHOLE_BODY_BYTES) this.#end(answer.body, close);
      else this.#feed(lastingBytes(answer), close);
    });
  }

  protected beginChunks(head: AnswerHead, close: boolean): void {
    this.#resume();
    this.#res.cork(() => {
      this.#writeHead(head);
      // To ask `end` for it would write the field into the body.
      if (close) this.#res.writeHeader('Connection', 'close');
      if (this.headersOnly) this.#res.endWithoutBody();
    });
    if (this.headersOnly) return;
    this.#res.onWritable(() => {
      this.writable();
      return true;
    });
  }

  protected sendChunk(chunk: string): boolean {
    let taken = false;
    this.#res.cork(() => {
      taken = this.#res.write(chunk);
    });
    return taken;
  }

  protected endChunks(chunk: string): void {
    this.#res.cork(() => this.#end(chunk, false));
  }

  protected cut(): void {
    this.#res.close();
  }

  #resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#res.resume();
  }

  /** Writes the status and all fields but those of the framing and `Connection`. */
  #writeHead(answer: AnswerHead): void {
    const res = this.#res;
    res.writeStatus(answer.status);
    if (answer.contentType !== '') res.writeHeader('Content-Type', answer.contentType);
    if (answer.headers === undefined) return;
    for (const name in answer.headers) res.writeHeader(name, answer.headers[name]);
  }

  #end(body: string | Uint8Array, close: boolean): void {
    this.#res.end(body, close);
    this.finished();
  }

  /**
   * RFC 9110, 9.3.2: the fields of the answer to GET, nothing behind them. The length goes in as a field because
   * `endWithoutBody` with a length of its own never completes the response in this release of uWebSockets.js.
   */
  #endWithoutBody(body: string | Uint8Array, close: boolean): void {
    if (close) this.#res.writeHeader('Connection', 'close');
    this.#res.writeHeader('Content-Length', String(Buffer.byteLength(body)));
    this.#res.endWithoutBody();
    this.finished();
  }

  /** RFC 9110, 8.6: an answer with status 204 has no `Content-Length`, which `end` would write. */
  #endWithoutLength(close: boolean): void {
    if (close) this.#res.writeHeader('Connection', 'close');
    this.#res.endWithoutBody();
    this.finished();
  }

  /** uWebSockets.js cannot close a connection after `tryEnd`: the field asks the caller to, and `stop` sees to the rest. */
  #feed(body: Uint8Array, close: boolean): void {
    if (close) this.#res.writeHeader('Connection', 'close');
    this.#res.onWritable(offset => this.#feedFrom(offset, body));
    this.#feedFrom(0, body);
  }

  #feedFrom(offset: number, body: Uint8Array): boolean {
    const [accepted, complete] = this.#res.tryEnd(body.subarray(offset), body.length);
    if (complete) this.finished();
    return accepted;
  }
}

/** The body as bytes that stay what they are while they leave. */
function lastingBytes({ body, lasting }: Answer): Uint8Array {
  return lasting === true && typeof body !== 'string' ? body : Buffer.from(body);
}
