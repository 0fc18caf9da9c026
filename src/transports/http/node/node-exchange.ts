import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Answer, type AnswerHead, lastingBytes } from '../answer.ts';
import { type ChunkListener, Exchange, type ExchangeContext, type RequestShape } from '../exchange.ts';
import { LARGE_WORK, type Turns } from '../turns.ts';
import type { NodeConnection } from './node-connection.ts';

const NOTHING = new Uint8Array(0);

/** The status of answers that have no body by nature. */
const NO_CONTENT = 204;

/** Answers that are larger are counted until they have left. */
const HELD_BYTES = 64 * 1024;

/** Errors of a response follow the end of its connection, which is noticed there. */
const ignore = (): void => {};

/** An exchange over the HTTP server of Node.js. */
export class NodeExchange extends Exchange {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #connection: NodeConnection;
  readonly #turns: Turns;
  #continues: boolean;
  #watched = false;
  #missing = 0;

  constructor(
    parts: {
      readonly request: IncomingMessage;
      readonly response: ServerResponse;
      readonly connection: NodeConnection;
    },
    shape: RequestShape,
    context: ExchangeContext,
  ) {
    super(context, shape);
    this.#request = parts.request;
    this.#response = parts.response;
    this.#connection = parts.connection;
    this.#turns = context.turns;
    this.#continues = shape.expectsContinue;
    this.#connection.began(this);
    this.#response.on('error', ignore);
    this.#response.once('finish', () => {
      this.finished();
      this.#connection.ended(this);
    });
  }

  /** The request has arrived with all of its body. */
  get received(): boolean {
    return this.#request.complete;
  }

  /** Bytes of the body that are still to come, where their number is known and somebody takes them. */
  get missingBytes(): number {
    return this.waiting && this.#missing !== Number.POSITIVE_INFINITY ? this.#missing : 0;
  }

  /** What is parsed together has its turn together: the rest of it would wait one by one, ahead of other callers. */
  override hasTurn(work: number): boolean {
    if (!this.#connection.inTurn || work >= LARGE_WORK) return super.hasTurn(work);
    this.#turns.spend(work);
    return true;
  }

  /** No answer has been begun. */
  get canAnswer(): boolean {
    return this.waiting;
  }

  /** The connection has ended before the answer had left. */
  connectionClosed(): void {
    this.aborted();
  }

  onChunk(listener: ChunkListener): void {
    if (this.#continues) this.#response.writeContinue();
    this.#continues = false;
    this.#missing = this.bodyBytes ?? Number.POSITIVE_INFINITY;
    this.#request.on('data', (chunk: Uint8Array) => {
      this.#missing -= chunk.length;
      this.deliver(listener, chunk, this.#missing === 0);
    });
    this.#request.on('end', () => {
      if (this.#missing === Number.POSITIVE_INFINITY || this.bodyBytes === 0)
        this.deliver(listener, NOTHING, true);
    });
  }

  refuseBody(answer: Answer): void {
    this.answer(answer, 'close');
  }

  holdInput(): void {
    if (this.waiting && !this.#watched) this.#connection.hold();
  }

  resumeInput(): void {
    if (this.waiting) this.#connection.release();
  }

  watchInput(): void {
    if (this.#watched || !this.waiting) return;
    this.#watched = true;
    this.#connection.release();
    if (this.#request.socket.readableEnded) this.inputEnded();
  }

  /**
   * The caller has closed its side. Where somebody minds, it is taken for gone, as it cannot be told from one that has
   * closed both; else it gets its answer.
   */
  inputEnded(): void {
    if (this.minded) this.#request.socket.destroy();
  }

  protected send(answer: Answer, close: boolean): void {
    const { body } = answer;
    this.#writeHead(answer, close, Buffer.byteLength(body));
    if (this.headersOnly) this.#response.end();
    else {
      this.#response.end(typeof body === 'string' ? body : lastingBytes(answer));
      if (body.length > HELD_BYTES) this.hold(body.length, ignore);
    }
  }

  protected beginChunks(head: AnswerHead, close: boolean): void {
    this.#writeHead(head, close, null);
    if (this.headersOnly) this.#response.end();
    else {
      this.#response.flushHeaders();
      this.#response.on('drain', () => this.writable());
    }
  }

  protected sendChunk(chunk: string): boolean {
    return this.#response.write(chunk);
  }

  protected endChunks(chunk: string): void {
    this.#response.end(chunk);
  }

  protected cut(): void {
    this.#request.socket.destroy();
  }

  #writeHead({ status, contentType, headers }: AnswerHead, close: boolean, bytes: number | null): void {
    const response = this.#response;
    const code = Number.parseInt(status, 10);
    const fields: string[] = [];
    if (contentType !== '') fields.push('Content-Type', contentType);
    for (const name in headers) fields.push(name, headers[name]);
    if (bytes !== null && code !== NO_CONTENT) fields.push('Content-Length', String(bytes));
    // A caller that has closed its side sends nothing more.
    if (close || this.#request.socket.readableEnded) fields.push('Connection', 'close');
    // Connections of HTTP/1.1 go on without a word; a caller of HTTP/1.0 has to be told (RFC 9112, C.2.2).
    else if (response.shouldKeepAlive && this.#request.httpVersionMinor > 0)
      response.removeHeader('Connection');
    response.writeHead(code, status.slice(4), fields);
  }
}
