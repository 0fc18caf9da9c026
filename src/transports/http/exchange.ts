import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CountedWarning } from '../../base/counted-warning.ts';
import { asError } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import type { Answer, AnswerHead } from './answer.ts';
import type { HeldMemory, Holder } from './held-memory.ts';
import { errorAnswer } from './status.ts';
import { TextChunks } from './text-chunks.ts';
import type { Traffic } from './traffic.ts';
import { MAX_WAITING, type Turns } from './turns.ts';

/** What the exchanges of one listener share. */
export interface ExchangeContext {
  readonly traffic: Traffic;
  readonly memory: HeldMemory;
  readonly turns: Turns;
  /** Counts requests that were given up because memory was short. */
  readonly gaveWay: CountedWarning;
  /** Counts connections that were refused because there were too many. */
  readonly refused: CountedWarning;
  readonly log: Logger;
}

/** What the head of a request says about the request as a whole. */
export interface RequestShape {
  /** The request asks for the head of the answer alone (HEAD). */
  readonly headersOnly: boolean;
  /** The bytes that the body has; null when they are not told in advance. */
  readonly bodyBytes: number | null;
  /** The caller wants the connection to end with the answer. */
  readonly closes: boolean;
  /** The caller sends the body when it is told to (RFC 9110, 10.1.1). */
  readonly expectsContinue: boolean;
}

const TOO_MANY_WAIT = errorAnswer({
  code: 'overloaded',
  message: `${MAX_WAITING} requests wait already; try again later`,
});

const GAVE_WAY = errorAnswer({
  code: 'overloaded',
  message:
    'too many bodies arrive at the same time, and this one has been waited for longest: send it again, without pauses',
});

/** Receives the body of a request. A chunk is only valid during the call; the last one may be empty. */
export type ChunkListener = (chunk: Uint8Array, last: boolean) => void;

/**
 * One request and its answer, as handlers see them. At most one answer is written, and none after the caller has gone
 * away: this class is where both rules are kept. How bytes reach the caller is for the engine to say, in a class that
 * extends this one.
 */
export abstract class Exchange implements Holder {
  /** The bytes that the body has; null when they are not told in advance. */
  readonly bodyBytes: number | null;
  protected readonly headersOnly: boolean;
  readonly #closes: boolean;
  readonly #context: ExchangeContext;
  #state: 'waiting' | 'sending' | 'over' = 'waiting';
  #gone: (() => void) | null = null;
  #free: (() => void) | null = null;
  #wake: () => void = () => {};

  constructor(context: ExchangeContext, { headersOnly, bodyBytes, closes }: RequestShape) {
    this.headersOnly = headersOnly;
    this.bodyBytes = bodyBytes;
    this.#closes = closes;
    this.#context = context;
    context.traffic.arrived();
  }

  /** An answer has left, or the caller has gone away before there was one. */
  get over(): boolean {
    return this.#state === 'over';
  }

  /** An answer has been begun, or the caller has gone away. */
  get answering(): boolean {
    return this.#state !== 'waiting';
  }

  /** Calls `listener` when the caller goes away before it has been answered. */
  onGone(listener: () => void): void {
    this.#gone = listener;
  }

  /** Hands over the body as it arrives, until there is an answer. */
  abstract onChunk(listener: ChunkListener): void;

  /**
   * Reads nothing more from the connection until there is an answer, if there is none yet. That the caller has gone is
   * not noticed meanwhile.
   */
  abstract holdInput(): void;

  /** Ends {@link holdInput} for now: the rest of the body may come. */
  abstract resumeInput(): void;

  /** Ends {@link holdInput} for good: that the caller goes away is to be noticed while it waits. */
  abstract watchInput(): void;

  /**
   * Runs `run`, which costs `work`: now, while this turn of the event loop has time left, else in a later one. Nothing
   * more is read from the connection until then.
   */
  inTurn(work: number, run: () => void): void {
    if (this.hasTurn(work)) run();
    else this.waitForTurn(work, run);
  }

  /** True when there is time for `work` now, which is then counted. */
  hasTurn(work: number): boolean {
    const { turns } = this.#context;
    if (!turns.has(work)) return false;
    turns.spend(work);
    return true;
  }

  /** Runs `run` in a later turn, unless the caller has gone by then. Too many that wait are answered 503. */
  waitForTurn(work: number, run: () => void): void {
    const { turns } = this.#context;
    if (turns.waiting >= MAX_WAITING) {
      this.answer(TOO_MANY_WAIT);
      return;
    }
    this.holdInput();
    turns.wait(work, () => {
      if (this.#state !== 'waiting') return;
      this.resumeInput();
      try {
        run();
      } catch (thrown) {
        this.fail(thrown);
      }
    });
  }

  /**
   * Counts bytes that are kept while this caller is waited for. `free` gives them back: when {@link release} is called,
   * when the answer has left or the caller has gone, or now, when there is no room for them.
   */
  hold(bytes: number, free: () => void): void {
    this.#free = free;
    if (this.#state === 'over') this.release();
    else this.#context.memory.hold(this, bytes);
  }

  /** What {@link hold} has counted is not needed any more. */
  release(): void {
    const free = this.#free;
    if (free === null) return;
    this.#free = null;
    this.#context.memory.release(this);
    free();
  }

  /** Others need the memory: a body that is waited for is answered 503, an answer that is not read is cut off. */
  giveWay(): void {
    this.#context.gaveWay.add();
    this.release();
    if (this.#state === 'waiting') this.abandon(GAVE_WAY);
    else this.cut();
  }

  /** Writes the answer, unless there has been one or the caller has gone. `close` ends the connection after it. */
  answer(answer: Answer, connection: 'keep' | 'close' = 'keep'): void {
    if (this.#state !== 'waiting') return;
    this.#state = 'sending';
    this.send(answer, connection === 'close' || this.#closing);
  }

  /** Answers a request of which nothing more is read, in the place of who handles it: for them, the caller has gone. */
  abandon(answer: Answer): void {
    const gone = this.#state === 'waiting' ? this.#gone : null;
    this.answer(answer, 'close');
    gone?.();
  }

  /**
   * Answers a request whose body is not read. What the caller has not sent by then is dropped for a while: closing the
   * connection at once would be a reset, which can overtake the answer.
   * @param dropped a body of more bytes than this is not waited for
   */
  abstract refuseBody(answer: Answer, dropped: number): void;

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
    this.#state = 'sending';
    this.beginChunks(head, this.#closing);
    if (!this.headersOnly) return this.#sendChunks(chunks, first);
    chunks.close();
    this.finished();
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

  /** Hands a chunk to who reads the body, as long as somebody waits for an answer. */
  protected deliver(listener: ChunkListener, chunk: Uint8Array, last: boolean): void {
    if (this.#state !== 'waiting') return;
    try {
      listener(chunk, last);
    } catch (thrown) {
      this.fail(thrown);
    }
  }

  /** No answer has been begun, and the caller is there as far as is known. */
  protected get waiting(): boolean {
    return this.#state === 'waiting';
  }

  /** Somebody wants to know when the caller goes away. */
  protected get minded(): boolean {
    return this.#state === 'waiting' && this.#gone !== null;
  }

  /** Writes a whole answer and calls {@link finished} when it has left. Called once at most. */
  protected abstract send(answer: Answer, close: boolean): void;

  /** Writes the head of an answer that {@link sendChunk} and {@link endChunks} go on with, unless it is for HEAD. */
  protected abstract beginChunks(head: AnswerHead, close: boolean): void;

  /** Writes a part of the body. True when the socket has taken all of it; else {@link writable} is called when it has. */
  protected abstract sendChunk(chunk: string): boolean;

  /** Writes the last part of the body, which may be empty, and calls {@link finished} when it has left. */
  protected abstract endChunks(chunk: string): void;

  /** Ends the connection at once, which tells the reader of a body that it is not whole. */
  protected abstract cut(): void;

  /** The connection takes more. */
  protected writable(): void {
    this.#wake();
  }

  /** The answer has left. */
  protected finished(): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.#gone = null;
    this.release();
    this.#wake();
    this.#context.traffic.finished();
  }

  /** The caller has gone away before the whole answer had left. */
  protected aborted(): void {
    const gone = this.#state === 'waiting' ? this.#gone : null;
    this.finished();
    gone?.();
  }

  get #closing(): boolean {
    return this.#closes || this.#context.traffic.draining;
  }

  /** Writes chunk after chunk, each when the last has left and whoever else is ready has run. */
  async #sendChunks(chunks: TextChunks, first: string | null): Promise<void> {
    let chunk = first;
    while (!chunks.ended) {
      if (chunk === null || this.sendChunk(chunk)) await nextTurn();
      else await this.#woken();
      if (this.over) return chunks.close();
      chunk = this.#nextOf(chunks);
    }
    this.endChunks(chunk ?? '');
  }

  /** A body that cannot be made to its end is cut off, which tells its reader. */
  #nextOf(chunks: TextChunks): string | null {
    try {
      return chunks.next();
    } catch (thrown) {
      this.cut();
      throw thrown;
    }
  }

  /** Resolves when the connection takes more, or the caller has gone. */
  #woken(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = resolve;
    });
  }
}
