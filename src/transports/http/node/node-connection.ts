import type { Socket } from 'node:net';
import { type Answer, rawAnswer } from '../answer.ts';
import type { ExchangeContext } from '../exchange.ts';
import type { Account } from '../request-turns.ts';
import { PacedInput } from './paced-input.ts';
import { parseFailureAnswer } from './parse-failure.ts';

/** How long input is discarded after a refusal. Closing at once would send a reset, which can overtake the refusal. */
const LINGER_MS = 1_000;

/** Same code as the error that Node.js raises for a head that arrives too slowly. */
const TIMED_OUT = Object.assign(new Error('nothing arrived'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });

/** An unanswered request of a connection. */
interface OpenRequest {
  /** True when the whole request has arrived, including its body. */
  readonly received: boolean;
  /** Number of body bytes still to come; 0 if the length is unknown or no listener reads the body. */
  readonly missingBytes: number;
  /** True until an answer is started. */
  readonly canAnswer: boolean;
  abandon(answer: Answer): void;
  inputEnded(): void;
  connectionClosed(): void;
}

/** One connection: its unanswered requests in order, and how the connection is closed. */
export class NodeConnection {
  readonly #socket: Socket;
  readonly #input: PacedInput;
  readonly #open = new Set<OpenRequest>();
  #newest: OpenRequest | null = null;
  /** The answer to input that could not be parsed. It is sent after the answers to all earlier requests. */
  #refusal: Answer | null = null;
  #failed = false;
  /** Reading is stopped until a request has been answered. */
  #held = false;
  #closing = false;
  /** Number of bytes read when the last answer was sent. */
  #answeredBytes = 0;

  constructor(socket: Socket, context: ExchangeContext) {
    this.#socket = socket;
    this.#input = new PacedInput(socket, context, () => this.#unfinished?.missingBytes ?? 0);
    const destroySoon = socket.destroySoon.bind(socket);
    // Node.js calls `destroySoon` after the last answer of a connection.
    socket.destroySoon = () => (this.#inputPending ? this.#linger() : destroySoon());
    socket.once('end', () => {
      for (const exchange of this.#open) exchange.inputEnded();
    });
    socket.once('close', () => {
      for (const exchange of this.#open) exchange.connectionClosed();
      this.#open.clear();
    });
  }

  /** True while the last answer of the connection is being sent. Further input is ignored. */
  get closing(): boolean {
    return this.#closing;
  }

  /** True while requests are parsed whose turn has already been counted. */
  get inTurn(): boolean {
    return this.#input.isParsing;
  }

  /** Work that was done for the connection. */
  get account(): Account {
    return this.#input.account;
  }

  /** Called when a request has arrived. */
  began(exchange: OpenRequest): void {
    this.#open.add(exchange);
    this.#newest = exchange;
    if (this.#open.size > 1) this.hold();
  }

  /** Called when the answer to a request has been sent. */
  ended(exchange: OpenRequest): void {
    this.#open.delete(exchange);
    if (this.#newest === exchange) this.#newest = null;
    this.#answeredBytes = this.#socket.bytesRead;
    if (this.#open.size > 0 && this.#unfinished === null) return;
    if (this.#refusal !== null && this.#open.size === 0) this.#refuse(this.#refusal);
    else if (!this.#closing) this.#readOn();
  }

  /** Stops reading until all complete requests have been answered. */
  hold(): void {
    this.#held = true;
    this.#input.hold();
  }

  /** Resumes reading although a request waits, unless there is a second unanswered request. */
  release(): void {
    if (this.#open.size <= 1) this.#readOn();
  }

  /**
   * Called if the input is not valid HTTP or arrived too slowly. Answers are sent in the order of the requests, so the
   * answer to this failure waits for earlier ones.
   */
  failed(failure: Error): void {
    if (this.#failed || this.#closing) return;
    this.#failed = true;
    if (!this.#socket.writable || ('code' in failure && failure.code === 'ECONNRESET')) {
      this.#socket.destroy();
      return;
    }
    const answer = parseFailureAnswer(failure);
    const unfinished = this.#unfinished;
    if (unfinished?.canAnswer === true) unfinished.abandon(answer);
    else if (this.#open.size > 0) this.#refusal = answer;
    else this.#refuse(answer);
  }

  /** Discards all further input, which no longer consists of requests. */
  dropInput(): void {
    this.#input.drop();
  }

  /**
   * Called when the connection has been idle for the timeout. Closes it, unless the caller is waiting for the server.
   */
  idle(again: () => void): void {
    const unfinished = this.#held ? null : this.#unfinished;
    const isReading = this.#socket.writableLength === 0;
    const waitsForUs = this.#input.isWaiting || (this.#open.size > 0 && unfinished === null);
    if (waitsForUs && isReading) again();
    else if (!this.#failed && (unfinished?.canAnswer === true || this.#hasPartOfHead)) this.failed(TIMED_OUT);
    else this.#socket.destroy();
  }

  get #hasPartOfHead(): boolean {
    return this.#open.size === 0 && this.#socket.bytesRead > this.#answeredBytes;
  }

  /** The request whose body has not arrived completely. */
  get #unfinished(): OpenRequest | null {
    return this.#newest?.received === false ? this.#newest : null;
  }

  get #inputPending(): boolean {
    return this.#failed || this.#unfinished !== null;
  }

  #readOn(): void {
    this.#held = false;
    this.#input.release();
  }

  #refuse(answer: Answer): void {
    this.#refusal = null;
    this.#closing = true;
    this.#socket.write(rawAnswer(answer));
    this.#linger();
  }

  #linger(): void {
    const socket = this.#socket;
    this.#closing = true;
    socket.end();
    this.#input.drop();
    const bound = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(bound));
  }
}
