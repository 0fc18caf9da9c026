import type { Socket } from 'node:net';
import type { ExchangeContext } from '../exchange.ts';
import { Account, LARGE_WORK, pieceWork, REQUEST_WORK, type RequestTurns } from '../request-turns.ts';
import type { Holder } from '../traffic.ts';

/** Bytes parsed at a time: one typical request, or about forty of the smallest possible requests. */
const SLICE_BYTES = 1_024;

/**
 * Passes the input of a connection to the parser of Node.js in slices. Without slices, Node.js would parse everything
 * that a socket has, up to 2 MiB, before it handles any other connection. The first slice of a read waits in the order
 * of arrival; further slices wait until the small requests of all other connections have been handled. Meanwhile
 * nothing more is read from the socket. Reading also stops while the caller does not read its answers.
 */
export class PacedInput implements Holder {
  readonly #socket: Socket;
  readonly #turns: RequestTurns;
  readonly #context: ExchangeContext;
  readonly #bodyBytes: () => number;
  /** Work that was done for this connection. */
  readonly account = new Account();
  readonly #parse: (bytes: Buffer) => void;
  readonly #resume: () => void;
  /** Input that has not been parsed yet. If it is large, it is counted as held memory. */
  #rest: Buffer | null = null;
  #isHeld = false;
  #isDropped = false;
  #isWaiting = false;
  #isParsing = false;
  #isCounted = false;

  /**
   * Replaces the `data` listener that the HTTP server has added to the socket.
   * @param bodyBytes number of body bytes still to come, which are copied and not parsed
   */
  constructor(socket: Socket, context: ExchangeContext, bodyBytes: () => number) {
    this.#socket = socket;
    this.#turns = context.turns;
    this.#context = context;
    this.#bodyBytes = bodyBytes;
    const [listener] = socket.listeners('data');
    socket.off('data', listener as (bytes: Buffer) => void);
    this.#parse = bytes => Reflect.apply(listener, socket, [bytes]);
    this.#resume = socket.resume.bind(socket);
    socket.on('data', bytes => this.#arrived(bytes));
    socket.on('drain', () => this.#readOn());
    socket.once('close', () => this.#forget());
    // Node.js calls `resume` on its own for request bodies and after answers, so the method is replaced.
    socket.resume = () => {
      this.#readOn();
      return socket;
    };
  }

  /** True while a slice is parsed. The turn of its requests has already been counted. */
  get isParsing(): boolean {
    return this.#isParsing;
  }

  /** True while input waits for its turn. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** Stops parsing until {@link release}, except for the current slice. */
  hold(): void {
    this.#isHeld = true;
    this.#socket.pause();
  }

  /** Ends {@link hold}. */
  release(): void {
    this.#isHeld = false;
    this.#readOn();
  }

  /** Keeps reading, but discards all further input. */
  drop(): void {
    this.#isDropped = true;
    this.#forget();
    this.#resume();
  }

  /** Called when memory runs short: closes the connection. */
  discard(): void {
    this.#context.discarded.add();
    this.#isCounted = false;
    this.#socket.destroy();
  }

  /** Whether input may be read or parsed. */
  get #isOpen(): boolean {
    return !this.#isHeld && !this.#socket.writableNeedDrain;
  }

  /** Whether parsing is stopped. Body bytes are always passed on, because the request counts what it keeps. */
  get #isStopped(): boolean {
    return !this.#isOpen && this.#bodyBytes() === 0;
  }

  #count(bytes: Buffer): void {
    if (this.#isCounted || bytes.length <= SLICE_BYTES) return;
    this.#isCounted = true;
    this.#context.memory.hold(this, bytes.length);
  }

  #forget(): void {
    this.#rest = null;
    if (!this.#isCounted) return;
    this.#isCounted = false;
    this.#context.memory.release(this);
  }

  #readOn(): void {
    if (this.#isDropped) this.#resume();
    else if (this.#isOpen && !this.#isWaiting && !this.#isParsing) {
      if (this.#rest === null) this.#resume();
      else this.#wait(this.#rest);
    }
  }

  #arrived(bytes: Buffer): void {
    if (this.#isDropped) return;
    if (this.#rest !== null || this.#isStopped) {
      const rest = this.#rest === null ? bytes : Buffer.concat([this.#rest, bytes]);
      this.#forget();
      this.#rest = rest;
      this.#count(rest);
      this.#socket.pause();
      return;
    }
    this.#rest = bytes;
    if (!this.#turns.has(REQUEST_WORK)) this.#wait(bytes, REQUEST_WORK);
    else {
      this.#turns.spend(REQUEST_WORK, this.account);
      this.#parseOn();
    }
  }

  #workOf(rest: Buffer): number {
    const bytes = Math.min(this.#bodyBytes(), rest.length);
    return bytes > 0 ? pieceWork(bytes) : LARGE_WORK;
  }

  #wait(rest: Buffer, work = this.#workOf(rest)): void {
    this.#isWaiting = true;
    this.#socket.pause();
    this.#count(rest);
    const parse = (): void => {
      this.#isWaiting = false;
      if (!this.#isStopped) this.#parseOn();
    };
    this.#turns.wait(work, parse, this.account);
  }

  /** Parses the next slice, and further slices while this turn has time for them. */
  #parseOn(): void {
    while (this.#rest !== null) {
      this.#parseSlice(this.#rest);
      const rest = this.#rest as Buffer | null;
      if (rest === null) break;
      if (this.#isStopped) {
        this.#count(rest);
        return;
      }
      const work = this.#workOf(rest);
      if (!this.#turns.has(work)) {
        this.#wait(rest, work);
        return;
      }
      this.#turns.spend(work, this.account);
    }
    if (this.#socket.isPaused()) this.#readOn();
  }

  #parseSlice(bytes: Buffer): void {
    const size = Math.min(Math.max(this.#bodyBytes(), SLICE_BYTES), bytes.length);
    if (size === bytes.length) this.#forget();
    else this.#rest = bytes.subarray(size);
    // After the connection has closed, there is no parser any more.
    if (this.#socket.destroyed) {
      this.#forget();
      return;
    }
    this.#isParsing = true;
    this.#parse(size === bytes.length ? bytes : bytes.subarray(0, size));
    this.#isParsing = false;
  }
}
