import type { IncomingMessage, ServerResponse } from 'node:http';
import { peerAddress } from '../../tcp-address.ts';
import { type Answer, type AnswerHead, lastingBytes } from '../answer.ts';
import { type ChunkListener, Exchange, type ExchangeContext, type RequestShape } from '../exchange.ts';
import { LARGE_WORK, type RequestTurns } from '../request-turns.ts';
import type { NodeConnection } from './node-connection.ts';

const NOTHING = new Uint8Array(0);

/** Statuses of answers whose length must not be stated (RFC 9110, 8.6). */
const WITHOUT_LENGTH = new Set([204, 304]);

/** Answers above this size are counted as held memory until they have been sent. */
const HELD_BYTES = 64 * 1024;

/**
 * A response emits an error after its connection has closed. The connection handles that case, so the error is ignored.
 */
const ignore = (): void => {};

/** An exchange over the HTTP server of Node.js. */
export class NodeExchange extends Exchange {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #connection: NodeConnection;
  readonly #turns: RequestTurns;
  #continues: boolean;
  #watched = false;
  #missing = 0;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    connection: NodeConnection,
    shape: RequestShape,
    context: ExchangeContext,
  ) {
    super(context, shape);
    this.#request = request;
    this.#response = response;
    this.#connection = connection;
    this.#turns = context.turns;
    this.#continues = shape.expectsContinue;
    this.#connection.began(this);
    this.#response.on('error', ignore);
    this.#response.once('finish', () => {
      this.finished();
      this.#connection.ended(this);
    });
  }

  override get caller(): object {
    return this.#connection;
  }

  /** True when the whole request has arrived, including its body. */
  get received(): boolean {
    return this.#request.complete;
  }

  /** Number of body bytes still to come; 0 if the length is unknown or no listener reads the body. */
  get missingBytes(): number {
    return this.waiting && this.#missing !== Number.POSITIVE_INFINITY ? this.#missing : 0;
  }

  /**
   * Requests of one slice share one turn. Otherwise each of the remaining requests would wait separately, ahead of
   * other callers.
   */
  override hasTurn(work: number): boolean {
    if (!this.#connection.inTurn || work >= LARGE_WORK) return super.hasTurn(work);
    this.#turns.spend(work, this.#connection.account);
    return true;
  }

  /** True until an answer is started. */
  get canAnswer(): boolean {
    return this.waiting;
  }

  /** Called when the connection has closed before the answer was sent. */
  connectionClosed(): void {
    this.aborted();
  }

  get remoteAddress(): string {
    return peerAddress(this.#request.socket);
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
   * Called when the caller has closed its sending side. This looks the same as a full disconnect. If a listener waits
   * for a disconnect, the connection is closed; otherwise the caller still receives its answer.
   */
  inputEnded(): void {
    if (this.hasGoneListener) this.#request.socket.destroy();
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
    if (bytes !== null && !WITHOUT_LENGTH.has(code)) fields.push('Content-Length', String(bytes));
    // A caller that has closed its sending side cannot send another request.
    if (close || this.#request.socket.readableEnded) fields.push('Connection', 'close');
    // In HTTP/1.1 connections are persistent by default; an HTTP/1.0 caller needs the field (RFC 9112, C.2.2).
    else if (response.shouldKeepAlive && this.#request.httpVersionMinor > 0)
      response.removeHeader('Connection');
    response.writeHead(code, status.slice(4), fields);
  }
}
