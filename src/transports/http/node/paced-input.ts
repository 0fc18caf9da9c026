import type { Socket } from 'node:net';
import type { ExchangeContext } from '../exchange.ts';
import type { Holder } from '../held-memory.ts';
import { LARGE_WORK, pieceWork, REQUEST_WORK, type Turns } from '../turns.ts';

/** Parsed at a time: one request of most callers, and some forty of one that sends the smallest ones. */
const SLICE_BYTES = 1_024;

/**
 * Hands what a connection sends to the parser of Node.js, which by itself would take all that a socket has, up to 2 MiB,
 * before any other connection is looked at. Here a read goes to the parser slice by slice: the first one in the order of
 * arrival, further ones after what is small of all others. Nothing more is read from the socket meanwhile, nor while the
 * caller does not read its answers.
 */
export class PacedInput implements Holder {
  readonly #socket: Socket;
  readonly #turns: Turns;
  readonly #context: ExchangeContext;
  readonly #bodyBytes: () => number;
  readonly #parse: (bytes: Buffer) => void;
  readonly #resume: () => void;
  /** What has arrived and is not parsed; a large one is counted with what else is held. */
  #rest: Buffer | null = null;
  #isHeld = false;
  #isDropped = false;
  #isWaiting = false;
  #isParsing = false;
  #isCounted = false;

  /**
   * Takes the place of the listener that the HTTP server has put on the socket.
   * @param bodyBytes how much of a body is still to come, which is copied and not parsed
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
    // Bodies of requests, and the server when its answers have left, start reading again by themselves.
    socket.resume = () => {
      this.#readOn();
      return socket;
    };
  }

  /** A slice is being parsed. Its requests have had their turn with it. */
  get isParsing(): boolean {
    return this.#isParsing;
  }

  /** Something that has arrived waits for its turn. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** Hands nothing over until {@link release}, but for the slice that is being parsed. */
  hold(): void {
    this.#isHeld = true;
    this.#socket.pause();
  }

  /** Ends {@link hold}. */
  release(): void {
    this.#isHeld = false;
    this.#readOn();
  }

  /** Reads on, for good, and hands nothing over any more. */
  drop(): void {
    this.#isDropped = true;
    this.#forget();
    this.#resume();
  }

  /** Others need the memory. */
  giveWay(): void {
    this.#context.gaveWay.add();
    this.#isCounted = false;
    this.#socket.destroy();
  }

  /** More may be read, or parsed. */
  get #isOpen(): boolean {
    return !this.#isHeld && !this.#socket.writableNeedDrain;
  }

  /** What has been read of a body goes to its request in any case, which counts what it keeps. */
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
      this.#turns.spend(REQUEST_WORK);
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
    this.#turns.wait(work, () => {
      this.#isWaiting = false;
      if (!this.#isStopped) this.#parseOn();
    });
  }

  /** Parses what there is while this turn has time for it, the next slice in any case. */
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
      this.#turns.spend(work);
    }
    if (this.#socket.isPaused()) this.#readOn();
  }

  #parseSlice(bytes: Buffer): void {
    const size = Math.min(Math.max(this.#bodyBytes(), SLICE_BYTES), bytes.length);
    if (size === bytes.length) this.#forget();
    else this.#rest = bytes.subarray(size);
    // The parser is gone with the connection.
    if (this.#socket.destroyed) {
      this.#forget();
      return;
    }
    this.#isParsing = true;
    this.#parse(size === bytes.length ? bytes : bytes.subarray(0, size));
    this.#isParsing = false;
  }
}
