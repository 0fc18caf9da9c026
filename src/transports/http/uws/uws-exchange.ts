import type { HttpResponse } from 'uWebSockets.js';
import { ByteWriter } from '../../../base/bytes.ts';
import { endTurn } from '../../../base/event-loop.ts';
import { type Answer, type AnswerHead, lastingBytes, rawAnswer } from '../answer.ts';
import { CHUNKS_TOO_SMALL, hasTooManyChunks } from '../body.ts';
import { type ChunkListener, Exchange, type ExchangeContext, type RequestShape } from '../exchange.ts';
import { remoteAddressOf } from './uws-request.ts';

/**
 * Bodies up to this size are passed to the socket whole. Larger bodies are passed on as the caller reads them, so that
 * a slow reader costs one copy of the body, without a second one in the socket's buffer.
 */
const WHOLE_BODY_BYTES = 64 * 1024;

/** uWebSockets.js writes this status by default. */
const OK = '200 OK';

/** Statuses of answers without a body, whose length must not be stated (RFC 9110, 8.6). */
const WITHOUT_BODY = new Set(['204 No Content', '304 Not Modified']);

const NOTHING = new Uint8Array(0);

/** uWebSockets.js collects smaller writes, and sends them when the callback of the request has returned. */
const COLLECTED_BYTES = 16 * 1024;

/** `writeStatus` writes this text itself. */
const VERSION = 'HTTP/1.1 ';

/** A caller that has sent nothing for this long is considered to have stopped sending a discarded body. */
const SILENCE_MS = 1_000;

interface EarlyBody {
  readonly bytes: ByteWriter;
  chunks: number;
  last: boolean;
}

/** Shorter than the timeout of uWebSockets.js, which is 10 s. */
const RESUME_MS = 5_000;

/** Early input is small and short-lived, so it is counted but not freed when memory runs short. */
const NOT_FREED = (): void => {};

/**
 * An exchange over uWebSockets.js, which throws when a response is used after its end or its abort, and ends the
 * process when a handler returns with neither an answer nor an abort handler.
 */
export class UwsExchange extends Exchange {
  readonly #res: HttpResponse;
  /** uWebSockets.js closes the connection on its own and does not announce that to the caller. */
  readonly #endsItself: boolean;
  readonly #expectsContinue: boolean;
  /**
   * True while a callback of this request runs. uWebSockets.js then sends everything written together when the callback
   * returns.
   */
  #corked = true;
  /** True while a chunk is passed on whose body has more. */
  #isInChunk = false;
  #paused = false;
  #watched = false;
  /** Extends the timeout of a connection that waits for its answer; null if it has none. */
  #extension: NodeJS.Timeout | null = null;
  /** Body bytes that arrived before a listener was set; null if none are kept. */
  #early: EarlyBody | null = null;
  #listener: ChunkListener = () => {};

  constructor(res: HttpResponse, shape: RequestShape, endsItself: boolean, context: ExchangeContext) {
    super(context, shape);
    this.#res = res;
    this.#endsItself = endsItself;
    this.#expectsContinue = shape.expectsContinue;
    res.onAborted(() => this.aborted());
  }

  get remoteAddress(): string {
    return remoteAddressOf(this.#res);
  }

  onChunk(listener: ChunkListener): void {
    const early = this.#early;
    if (early === null) {
      this.#res.onData((chunk, last) => this.#passOn(listener, new Uint8Array(chunk), last));
      return;
    }
    this.#early = null;
    this.#listener = listener;
    this.release();
    const { bytes, last } = early;
    if (this.bodyBytes !== null) {
      if (last || bytes.length > 0) this.deliver(listener, bytes.view(), last);
      return;
    }
    if (bytes.length > 0) this.deliver(listener, bytes.view(), false);
    if (last) this.#passOn(listener, NOTHING, true);
  }

  /**
   * uWebSockets.js resets a connection that it closes while the caller is sending, so the answer waits until the caller
   * has stopped.
   */
  refuseBody(answer: Answer, dropped: number): void {
    if (!this.waiting) return;
    if (this.bodyBytes === null && this.#isInChunk) {
      this.#refuseChunks(answer);
      return;
    }
    if (this.#expectsContinue || this.bodyBytes === null || this.bodyBytes > dropped) {
      this.answer(answer, 'close');
      return;
    }
    const silence = setTimeout(() => this.answer(answer, 'close'), SILENCE_MS);
    this.#res.onData((_, last) => {
      if (!last) silence.refresh();
      else {
        clearTimeout(silence);
        this.answer(answer);
      }
    });
    this.onGone(() => clearTimeout(silence));
  }

  /** Called when the handler of the request has returned. */
  handled(): void {
    this.#corked = false;
    // uWebSockets.js sets a timeout when a handler has returned whose request has a body. `pause` removes it. Requests
    // that wait for a turn do not wait for that long.
    if (this.#paused && this.#early === null) setImmediate(() => this.#paused && this.#res.pause());
  }

  /**
   * Answers after the parser has returned. Otherwise the parser would continue with the same read and treat the bytes
   * that follow as another request.
   */
  refuse(answer: Answer): void {
    setImmediate(() => this.answer(answer, 'close'));
  }

  /**
   * Without this, uWebSockets.js would close the connection and discard the answer when the next request arrives, or
   * when the caller closes its sending side.
   */
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
    if (!this.waiting || !this.#paused) return;
    this.#resume();
    // `resume` also sets the timeout, after which uWebSockets.js would close a connection that waits for its answer.
    this.#extension = setInterval(() => this.#res.resume(), RESUME_MS);
  }

  /**
   * Keeps body bytes until {@link onChunk} is called, for a request that waits before it is handled. uWebSockets.js
   * discards body bytes without a listener. At most the rest of one read is kept, because nothing more is read
   * meanwhile.
   */
  keepBody(): void {
    const early: EarlyBody = { bytes: new ByteWriter(), chunks: 0, last: false };
    this.#early = early;
    this.#res.onData((chunk, last) => {
      if (this.#early === null) this.#passOn(this.#listener, new Uint8Array(chunk), last);
      else if (this.waiting) this.#keep(early, new Uint8Array(chunk), last);
    });
  }

  #keep(early: EarlyBody, chunk: Uint8Array, last: boolean): void {
    const { bytes } = early;
    const before = bytes.bytes.length;
    bytes.copy(chunk, 0, chunk.length);
    early.last = last;
    if (this.bodyBytes === null && !last && hasTooManyChunks(++early.chunks, bytes.length))
      this.#refuseChunks(CHUNKS_TOO_SMALL);
    else this.hold(bytes.bytes.length - before, NOT_FREED);
  }

  protected send(answer: Answer, close: boolean): void {
    this.#resume();
    // Without `cork`, each write would be sent as a separate packet.
    if (this.#corked) this.#write(answer, close);
    else this.#res.cork(() => this.#write(answer, close));
  }

  protected beginChunks(head: AnswerHead, close: boolean): void {
    this.#resume();
    this.#res.cork(() => {
      this.#writeHead(head);
      // `end` with `closeConnection` would write the field into the body.
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

  protected override finished(): void {
    this.#endExtension();
    // A later `pause` of this request must not reach a response that has ended.
    this.#paused = false;
    super.finished();
  }

  #endExtension(): void {
    if (this.#extension !== null) clearInterval(this.#extension);
    this.#extension = null;
  }

  #write(answer: Answer, close: boolean): void {
    this.#writeHead(answer);
    const { body } = answer;
    const isEmpty = WITHOUT_BODY.has(answer.status);
    const whole = !this.headersOnly && !isEmpty && body.length <= WHOLE_BODY_BYTES;
    // `end` writes the field, except if the library closes the connection on its own. The other methods never write it.
    if (close && (this.#endsItself || !whole)) this.#res.writeHeader('Connection', 'close');
    if (whole) this.#end(body, close);
    else if (isEmpty) this.#endWithoutLength();
    else if (this.headersOnly) this.#endWithoutBody(body);
    else this.#feed(answer);
  }

  #passOn(listener: ChunkListener, chunk: Uint8Array, last: boolean): void {
    if (!last || this.bodyBytes !== null) {
      this.#corked = true;
      this.#isInChunk = !last;
      this.deliver(listener, chunk, last);
      this.#isInChunk = false;
      this.#corked = false;
    }
    // uWebSockets.js reports the end of a chunked body before it parses the bytes that follow. If those are trailer
    // fields, the parser reads them as another request and closes the connection before the next turn, so this request
    // has no effect.
    else {
      setImmediate(() => {
        this.deliver(listener, NOTHING, true);
        endTurn();
      });
    }
  }

  /**
   * Answers and closes the connection while a chunk is passed on. The parser would pass on all other chunks of the same
   * read, up to 512 KiB, until the connection is closed. A closed connection loses what has not been sent, so the
   * answer is made large enough to be sent at once.
   */
  #refuseChunks(answer: Answer): void {
    const body = String(answer.body).padEnd(COLLECTED_BYTES);
    this.#res.writeStatus(rawAnswer({ ...answer, body }).slice(VERSION.length));
    this.#res.close();
  }

  #resume(): void {
    this.#endExtension();
    if (!this.#paused) return;
    this.#paused = false;
    this.#res.resume();
  }

  /** Writes the status and all fields except those for framing and `Connection`. */
  #writeHead(answer: AnswerHead): void {
    const res = this.#res;
    if (answer.status !== OK) res.writeStatus(answer.status);
    if (answer.contentType !== '') res.writeHeader('Content-Type', answer.contentType);
    if (answer.headers === undefined) return;
    for (const name in answer.headers) res.writeHeader(name, answer.headers[name]);
  }

  #end(body: string | Uint8Array, close: boolean): void {
    this.#res.end(body, close);
    this.finished();
  }

  /**
   * RFC 9110, 9.3.2: sends the fields of the answer to GET without the body. The length is written as a field, because
   * `endWithoutBody` with a length never completes the response in this release of uWebSockets.js.
   */
  #endWithoutBody(body: string | Uint8Array): void {
    this.#res.writeHeader('Content-Length', String(Buffer.byteLength(body)));
    this.#res.endWithoutBody();
    this.finished();
  }

  /** For {@link WITHOUT_BODY}: `end` would write `Content-Length`. */
  #endWithoutLength(): void {
    this.#res.endWithoutBody();
    this.finished();
  }

  /**
   * uWebSockets.js cannot close a connection after `tryEnd`. The `Connection` field asks the caller to close it, and
   * `stop` closes it otherwise.
   */
  #feed(answer: Answer): void {
    const body = lastingBytes(answer);
    this.#res.onWritable(offset => this.#feedFrom(offset, body));
    this.#feedFrom(0, body);
    const copied = answer.lasting === true ? null : (body.buffer as ArrayBuffer);
    this.hold(body.length, () => copied?.transfer(0));
  }

  #feedFrom(offset: number, body: Uint8Array): boolean {
    const [accepted, complete] = this.#res.tryEnd(body.subarray(offset), body.length);
    if (complete) this.finished();
    return accepted;
  }
}
