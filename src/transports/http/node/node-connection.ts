import type { Socket } from 'node:net';
import type { Answer } from '../answer.ts';
import type { ExchangeContext } from '../exchange.ts';
import type { NodeExchange } from './node-exchange.ts';
import { PacedInput } from './paced-input.ts';
import { parseFailureAnswer } from './parse-failure.ts';
import { rawAnswer } from './raw-answer.ts';

/** What a caller still sends is read and dropped for this long after a refusal, or the reset would take the refusal away. */
const LINGER_MS = 1_000;

/** As Node.js says it itself where a head comes slowly. */
const TIMED_OUT = Object.assign(new Error('nothing arrived'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });

/** One connection: its requests without an answer, in order, and how it ends. */
export class NodeConnection {
  readonly #socket: Socket;
  readonly #input: PacedInput;
  readonly #open = new Set<NodeExchange>();
  #newest: NodeExchange | null = null;
  /** What to say about input that could not be read, once the requests before it have their answers. */
  #refusal: Answer | null = null;
  #failed = false;
  /** Nothing is read until a request has its answer. */
  #held = false;
  #closing = false;
  /** Bytes of the requests that have their answers. */
  #answeredBytes = 0;

  constructor(socket: Socket, context: ExchangeContext) {
    this.#socket = socket;
    this.#input = new PacedInput(socket, context, () => this.#unfinished?.missingBytes ?? 0);
    const destroySoon = socket.destroySoon.bind(socket);
    // Node.js calls it behind an answer that is the last one.
    socket.destroySoon = () => (this.#inputPending ? this.#linger() : destroySoon());
    socket.once('end', () => {
      for (const exchange of this.#open) exchange.inputEnded();
    });
    socket.once('close', () => {
      for (const exchange of this.#open) exchange.connectionClosed();
      this.#open.clear();
    });
  }

  /** The last answer is being sent: nothing that arrives is handled any more. */
  get closing(): boolean {
    return this.#closing;
  }

  /** Requests are being parsed that have had their turn. */
  get inTurn(): boolean {
    return this.#input.isParsing;
  }

  /** A request has arrived. */
  began(exchange: NodeExchange): void {
    this.#open.add(exchange);
    this.#newest = exchange;
    if (this.#open.size > 1) this.hold();
  }

  /** The answer to a request has left. */
  ended(exchange: NodeExchange): void {
    this.#open.delete(exchange);
    if (this.#newest === exchange) this.#newest = null;
    this.#answeredBytes = this.#socket.bytesRead;
    if (this.#open.size > 0 && this.#unfinished === null) return;
    if (this.#refusal !== null && this.#open.size === 0) this.#refuse(this.#refusal);
    else if (!this.#closing) this.#readOn();
  }

  /** Reads nothing more until all requests that have arrived in full have their answers. */
  hold(): void {
    this.#held = true;
    this.#input.hold();
  }

  /** Reads on although a request waits, unless a further one does. */
  release(): void {
    if (this.#open.size <= 1) this.#readOn();
  }

  /** The input cannot be read as HTTP, or came too slowly. Answers come in the order of the requests, so this one waits. */
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

  /** What arrives has nothing to do with requests any more. */
  dropInput(): void {
    this.#input.drop();
  }

  /** Nothing was sent or received for a while. Ends the connection, unless the caller waits for us. */
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

  /** The request whose body has not arrived in full. */
  get #unfinished(): NodeExchange | null {
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
