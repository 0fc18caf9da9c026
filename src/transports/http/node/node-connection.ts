import type { Socket } from 'node:net';
import type { Answer } from '../answer.ts';
import type { NodeExchange } from './node-exchange.ts';
import { parseFailureAnswer } from './parse-failure.ts';
import { rawAnswer } from './raw-answer.ts';

/** What a caller still sends is read and dropped for this long after a refusal, or the reset would take the refusal away. */
const LINGER_MS = 1_000;

/**
 * Requests of a connection that wait for their answer. Reading stops at the second one, and what one read brought is
 * some hundreds; more are a flood.
 */
const MAX_PIPELINED = 1_000;

/** One connection: its requests without an answer, in order, and how it ends. */
export class NodeConnection {
  readonly #socket: Socket;
  readonly #open = new Set<NodeExchange>();
  /** What to say about input that could not be read, once the requests before it have their answers. */
  #refusal: Answer | null = null;
  #failed = false;
  /** Nothing is read until a request has its answer. */
  #held = false;
  #closing = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    const destroySoon = socket.destroySoon.bind(socket);
    // Node.js calls it behind an answer that is the last one.
    socket.destroySoon = () => (this.#inputPending ? this.#linger() : destroySoon());
    // The bodies of requests start reading again by themselves.
    const resume = socket.resume.bind(socket);
    socket.resume = () => (this.#held ? socket : resume());
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

  /** A request has arrived. */
  began(exchange: NodeExchange): void {
    this.#open.add(exchange);
    if (this.#open.size > MAX_PIPELINED) this.#socket.destroy();
    else if (this.#open.size > 1) this.hold();
  }

  /** The answer to a request has left. */
  ended(exchange: NodeExchange): void {
    this.#open.delete(exchange);
    if (this.#open.size > 0 && this.#unfinished === undefined) return;
    if (this.#refusal !== null && this.#open.size === 0) this.#refuse(this.#refusal);
    else if (!this.#closing) this.#readOn();
  }

  /** Reads nothing more until all requests that have arrived in full have their answers. */
  hold(): void {
    this.#held = true;
    this.#socket.pause();
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
    if (unfinished !== undefined) unfinished.answer(answer, 'close');
    else if (this.#open.size > 0) this.#refusal = answer;
    else this.#refuse(answer);
  }

  /** Nothing was sent or received for a while. Ends the connection, unless it is us whom the caller waits for. */
  idle(again: () => void): void {
    const unfinished = this.#held ? undefined : this.#unfinished;
    if (unfinished?.canAnswer === true) {
      this.failed(Object.assign(new Error('timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }));
    } else if (this.#open.size > 0 && unfinished === undefined && this.#socket.writableLength === 0) again();
    else this.#socket.destroy();
  }

  /** The request whose body has not arrived in full: the newest one, if any. */
  get #unfinished(): NodeExchange | undefined {
    return [...this.#open].find(exchange => !exchange.received);
  }

  get #inputPending(): boolean {
    return this.#failed || this.#unfinished !== undefined;
  }

  #readOn(): void {
    this.#held = false;
    this.#socket.resume();
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
    this.#readOn();
    const bound = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(bound));
  }
}
