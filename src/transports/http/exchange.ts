import { setImmediate as nextTurn } from 'node:timers/promises';
import { asError } from '../../base/fault.ts';
import type { CountedWarning, Logger } from '../../base/logger.ts';
import { type Answer, type AnswerHead, errorAnswer } from './answer.ts';
import { MAX_WAITING, type RequestTurns } from './request-turns.ts';
import { TextChunks } from './text-chunks.ts';
import type { HeldMemory, Holder, Traffic } from './traffic.ts';

/** Shared by the exchanges of one listener. */
export interface ExchangeContext {
  readonly traffic: Traffic;
  readonly memory: HeldMemory;
  readonly turns: RequestTurns;
  /** Counts requests that were dropped to free memory. */
  readonly discarded: CountedWarning;
  /** Counts connections that were refused because too many were open. */
  readonly refused: CountedWarning;
  readonly log: Logger;
}

/** Properties of a request that follow from its head. */
export interface RequestShape {
  /** The request asks for the head of the response only (HEAD). */
  readonly headersOnly: boolean;
  /** Length of the body; null if the request does not state it. */
  readonly bodyBytes: number | null;
  /** The caller asks for the connection to be closed after the answer. */
  readonly closes: boolean;
  /** The caller waits for `100 Continue` before it sends the body (RFC 9110, 10.1.1). */
  readonly expectsContinue: boolean;
}

const TOO_MANY_WAIT = errorAnswer({
  code: 'overloaded',
  message: `${MAX_WAITING} requests are already waiting; retry later`,
});

const DISCARDED = errorAnswer({
  code: 'overloaded',
  message:
    'too many request bodies are incomplete, and this one for the longest time; send the request again without pauses',
});

/** Receives the body of a request. A chunk is only valid during the call; the last one may be empty. */
export type ChunkListener = (chunk: Uint8Array, last: boolean) => void;

/** Is called for the answers of a route. */
export interface AnswerObserver {
  /**
   * Called just before an answer is written.
   *
   * @param status code and reason
   * @param completeMs `performance.now()` when the whole request had arrived; 0 if it was answered before
   */
  answered(status: string, completeMs: number): void;
}

/**
 * One request and its answer, as handlers see them. This class ensures that at most one answer is written, and none
 * after the caller has disconnected. A subclass for each engine writes the bytes to the socket.
 */
export abstract class Exchange implements Holder {
  /** Length of the body; null if the request does not state it. */
  readonly bodyBytes: number | null;
  protected readonly headersOnly: boolean;
  readonly #closes: boolean;
  readonly #context: ExchangeContext;
  #state: 'waiting' | 'sending' | 'over' = 'waiting';
  #gone: (() => void) | null = null;
  #free: (() => void) | null = null;
  #wake: () => void = () => {};
  /** The socket has not taken the last part of {@link push} yet. */
  #isBehind = false;
  #observer: AnswerObserver | null = null;
  #completeMs = 0;

  constructor(context: ExchangeContext, { headersOnly, bodyBytes, closes }: RequestShape) {
    this.headersOnly = headersOnly;
    this.bodyBytes = bodyBytes;
    this.#closes = closes;
    this.#context = context;
    context.traffic.arrived();
  }

  /**
   * Identifies the connection of the request while it waits. An engine that does not know the connection has at most
   * one waiting request per connection, and the request stands for it.
   */
  get caller(): object {
    return this;
  }

  /** The address of the caller as text; valid until an answer is written. IPv6 addresses have no brackets. */
  abstract get remoteAddress(): string;

  /** True once the answer has been sent, or the caller has disconnected before. */
  get over(): boolean {
    return this.#state === 'over';
  }

  /** True once an answer has been started, or the caller has disconnected. */
  get answering(): boolean {
    return this.#state !== 'waiting';
  }

  /** Sets the function that is called if the caller disconnects before an answer is started; null for none. */
  onGone(listener: (() => void) | null): void {
    this.#gone = listener;
  }

  /** Sets who is called for the answer. Answers that are streamed are not reported. */
  observe(observer: AnswerObserver): void {
    this.#observer = observer;
  }

  /** Tells the observer that the whole request has arrived. */
  complete(): void {
    if (this.#observer !== null) this.#completeMs = performance.now();
  }

  /** Passes the body to `listener` as it arrives, until an answer is started. */
  abstract onChunk(listener: ChunkListener): void;

  /**
   * Stops reading from the connection until an answer is written. Does nothing if the request already has an answer.
   * While reading is stopped, a disconnect of the caller is not noticed.
   */
  abstract holdInput(): void;

  /** Ends {@link holdInput} for now, so that the rest of the body can arrive. */
  abstract resumeInput(): void;

  /** Ends {@link holdInput} permanently, so that a disconnect is noticed while the request waits. */
  abstract watchInput(): void;

  /**
   * Runs `run`, which costs `work`: immediately if this turn of the event loop has time left, otherwise in a later
   * turn. Until then nothing more is read from the connection.
   */
  inTurn(work: number, run: () => void): void {
    if (this.hasTurn(work)) run();
    else this.waitForTurn(work, run);
  }

  /** Whether there is time for `work` in this turn. If so, the work is counted. */
  hasTurn(work: number): boolean {
    const { turns } = this.#context;
    if (!turns.has(work)) return false;
    turns.spend(work);
    return true;
  }

  /** Counts work that was not known when the request got its turn. */
  spend(work: number): void {
    this.#context.turns.spend(work);
  }

  /**
   * Runs `run` in a later turn, unless the caller has disconnected by then. If too many requests are waiting already,
   * the request is answered with 503.
   */
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
   * Counts bytes that are kept while the server waits for this caller. `free` releases them: when {@link release} is
   * called, when the answer has been sent, when the caller disconnects, or immediately if memory runs short.
   */
  hold(bytes: number, free: () => void): void {
    this.#free = free;
    if (this.#state === 'over') this.release();
    else this.#context.memory.hold(this, bytes);
  }

  /** Releases the bytes counted by {@link hold}. */
  release(): void {
    const free = this.#free;
    if (free === null) return;
    this.#free = null;
    this.#context.memory.release(this);
    free();
  }

  /**
   * Called when memory runs short. If the body is still incomplete, the request is answered with 503; if the answer is
   * being sent, it is cut off.
   */
  discard(): void {
    this.#context.discarded.add();
    this.release();
    if (this.#state === 'waiting') this.abandon(DISCARDED);
    else this.cut();
  }

  /**
   * Writes the answer, unless an answer has been started or the caller has disconnected. `close` closes the connection.
   */
  answer(answer: Answer, connection: 'keep' | 'close' = 'keep'): void {
    if (this.#state !== 'waiting') return;
    this.#state = 'sending';
    this.#observer?.answered(answer.status, this.#completeMs);
    this.send(answer, connection === 'close' || this.#closing);
  }

  /**
   * Answers a request before its handler does, and reads nothing more of the request. The handler is notified as if the
   * caller had disconnected.
   */
  abandon(answer: Answer): void {
    const gone = this.#state === 'waiting' ? this.#gone : null;
    this.answer(answer, 'close');
    gone?.();
  }

  /**
   * Answers a request without reading its body. What the caller still sends is discarded for a while: closing the
   * connection at once would send a reset, which can overtake the answer.
   * @param dropped a body with more bytes than this is not discarded; the connection is closed instead
   */
  abstract refuseBody(answer: Answer, dropped: number): void;

  /**
   * Writes an answer whose body is produced while the caller reads it. A slow reader costs at most two chunks of
   * memory, and other callbacks run between two chunks. An empty piece also lets other callbacks run.
   *
   * Resolves when the answer has been sent or the caller has disconnected. Rejects if producing the body fails. The
   * caller then gets the answer of {@link fail} or, if the body has been started, sees that the body is incomplete.
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

  /**
   * Begins an answer without a known end, such as server-sent events; {@link push} writes its body. Returns false if
   * nobody receives a body: an answer was started, the caller has disconnected, or it asked for the head only.
   */
  open(head: AnswerHead): boolean {
    if (this.#state !== 'waiting') return false;
    this.#state = 'sending';
    this.beginChunks(head, this.#closing);
    if (this.headersOnly) this.finished();
    return !this.headersOnly;
  }

  /**
   * Writes a part of the body of an answer that was begun by {@link open}. Returns false, and writes nothing, if the
   * caller has disconnected or has not taken the part before.
   */
  push(part: string): boolean {
    if (this.over || this.#isBehind) return false;
    this.#isBehind = !this.sendChunk(part);
    return true;
  }

  /** Closes the connection of an answer that was begun by {@link open}. */
  close(): void {
    if (!this.over) this.cut();
  }

  /** Answers a request whose handler threw, which is a bug. The cause is logged and not sent to the caller. */
  fail(thrown: unknown): void {
    const error = asError(thrown);
    this.#context.log.error('Request failed (this is a bug; please report it)', {
      error: error.stack ?? error.message,
    });
    this.answer(
      errorAnswer({ code: 'internal', message: 'internal error; see the log of the service for the cause' }),
    );
  }

  /** Passes a chunk to the reader of the body, unless an answer has been started. */
  protected deliver(listener: ChunkListener, chunk: Uint8Array, last: boolean): void {
    if (this.#state !== 'waiting') return;
    try {
      listener(chunk, last);
    } catch (thrown) {
      this.fail(thrown);
    }
  }

  /** True until an answer is started or the caller disconnects. */
  protected get waiting(): boolean {
    return this.#state === 'waiting';
  }

  /** True if a disconnect of the caller would call a listener. */
  protected get hasGoneListener(): boolean {
    return this.#state === 'waiting' && this.#gone !== null;
  }

  /** Writes a whole answer and calls {@link finished} when it has been sent. Called at most once. */
  protected abstract send(answer: Answer, close: boolean): void;

  /** Writes the head of an answer. Except for HEAD, {@link sendChunk} and {@link endChunks} write the body. */
  protected abstract beginChunks(head: AnswerHead, close: boolean): void;

  /**
   * Writes a part of the body. Returns false if the socket has not taken all of it; {@link writable} is called once it
   * has.
   */
  protected abstract sendChunk(chunk: string): boolean;

  /** Writes the last part of the body, which may be empty, and calls {@link finished} when it has been sent. */
  protected abstract endChunks(chunk: string): void;

  /** Closes the connection immediately, so that the caller sees that the body is incomplete. */
  protected abstract cut(): void;

  /** Called when the connection accepts more data. */
  protected writable(): void {
    this.#isBehind = false;
    this.#wake();
  }

  /** Called when the answer has been sent. */
  protected finished(): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.#gone = null;
    this.release();
    this.#wake();
    this.#context.traffic.finished();
  }

  /** Called when the caller disconnects before the whole answer has been sent. */
  protected aborted(): void {
    const gone = this.#state === 'waiting' ? this.#gone : null;
    this.finished();
    gone?.();
  }

  get #closing(): boolean {
    return this.#closes || this.#context.traffic.draining;
  }

  /** Writes the chunks one at a time. Between two chunks, other callbacks of the event loop can run. */
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

  /** If creating the body fails, the connection is closed, so that the caller sees that the body is incomplete. */
  #nextOf(chunks: TextChunks): string | null {
    try {
      return chunks.next();
    } catch (thrown) {
      this.cut();
      throw thrown;
    }
  }

  /** Resolves when the connection accepts more data, or when the caller has disconnected. */
  #woken(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = resolve;
    });
  }
}
