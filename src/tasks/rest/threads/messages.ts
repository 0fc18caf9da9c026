import type { Transferable } from 'node:worker_threads';
import type { StopThread, ThreadIsReady } from '../../../base/threads/inside-thread.ts';
import type { ThreadAnswer } from '../../../base/threads/questions.ts';
import type { ThreadLog } from '../../../base/threads/thread-log.ts';
import type { ThreadStats } from '../../../stats/thread-stats.ts';
import type { WorkerTest, WorkerTestAnswer } from '../../scheduler/workers/worker-tests.ts';
import type { HeldBody, RestHead } from '../http/http.ts';
import type { ApiCall, ApiLimitVerdict } from '../http/parts.ts';
import type { LinkMessage, LinkRequest } from './thread-links.ts';

/**
 * State of the API limits when a call is sent:
 *
 * - `none`: no rules limit calls
 * - `unknown_caller`: the thread has to ask
 * - otherwise the call was counted for this user, and the verdict is in the same message or follows
 */
export type CallLimit = 'none' | 'unknown_caller' | { readonly user: string };

/** A verdict of the decision engine, or the reason why the engine could not decide. */
export type VerdictMessage = ThreadAnswer<ApiLimitVerdict>;

/** A new call. The thread that has the connections numbers the calls. */
export interface CallMessage {
  readonly number: number;
  readonly head: RestHead;
  /** The body in the pieces in which it arrived; null if the body is received after the caller has been identified. */
  readonly body: readonly Uint8Array[] | null;
  readonly limit: CallLimit;
}

export interface AnswerMessage {
  readonly number: number;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Small bodies are sent as text, which costs less than an `ArrayBuffer` for each of them. */
  readonly body: string | Uint8Array;
}

/** Everything that a REST thread is sent in one turn of the event loop. The fields are processed in this order. */
export interface TurnToRestThread {
  readonly kind: 'turn';
  /** The verdicts that the thread has asked for. */
  readonly verdicts: readonly (readonly [ask: number, verdict: VerdictMessage])[];
  readonly tested: readonly (readonly [ask: number, answer: ThreadAnswer<WorkerTestAnswer>])[];
  readonly calls: readonly CallMessage[];
  /** Verdicts about calls that were counted when they were sent. */
  readonly earlyVerdicts: readonly (readonly [call: number, verdict: VerdictMessage])[];
  readonly bodies: readonly (readonly [call: number, body: readonly Uint8Array[]])[];
  /** Calls whose callers have disconnected. */
  readonly gone: readonly number[];
}

/** Everything that a REST thread sends in one turn. The fields are processed in this order. */
export interface TurnFromRestThread {
  readonly kind: 'turn';
  readonly asks: readonly (readonly [ask: number, call: ApiCall, authorization: string])[];
  /** Requests to test workers, for the thread that delivers tasks. */
  readonly tests: readonly (readonly [ask: number, test: WorkerTest])[];
  /** Calls whose body may be received. */
  readonly admitted: readonly number[];
  /** Calls that wait for an event, and need to know when their caller disconnects. */
  readonly waiting: readonly number[];
  readonly answers: readonly AnswerMessage[];
}

export type ToRestThread =
  | TurnToRestThread
  | LinkMessage
  /** The port that callers connect to. */
  | { readonly kind: 'listening'; readonly port: number }
  /** The service shuts down: no more leases are handed out, and calls that wait for one are answered. */
  | { readonly kind: 'drain' }
  | StopThread;

export type FromRestThread = TurnFromRestThread | ThreadIsReady | ThreadLog | ThreadStats | LinkRequest;

/** A message that is being assembled. */
export type Filling<T> = {
  -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K];
};

/** Collects everything for another thread, so that one turn of the event loop sends one message. */
export class Outbox<Turn> {
  readonly #empty: () => Turn;
  readonly #send: (turn: Turn) => void;
  #turn: Turn | null = null;

  constructor(empty: () => Turn, send: (turn: Turn) => void) {
    this.#empty = empty;
    this.#send = send;
  }

  /** The message that is sent at the end of this turn. */
  get turn(): Turn {
    if (this.#turn === null) {
      this.#turn = this.#empty();
      setImmediate(() => this.flush());
    }
    return this.#turn;
  }

  flush(): void {
    const turn = this.#turn;
    if (turn === null) return;
    this.#turn = null;
    this.#send(turn);
  }
}

/** Smaller pieces are copied into the message, because transferring memory costs more than copying it. */
const TRANSFER_BYTES = 4_096;

/** What a message has of bodies: those of new calls, if they are there, and those that have been received since. */
interface SentBodies {
  readonly calls: readonly { readonly body: readonly Uint8Array[] | HeldBody | null }[];
  readonly bodies: readonly (readonly [call: number, body: readonly Uint8Array[]])[];
}

/** The buffers of bodies that are transferred with a message. */
export function bodyMemory({ calls, bodies }: SentBodies): Transferable[] {
  const memory: Transferable[] = [];
  for (const { body } of calls) if (body !== null && !('atMost' in body)) addMemory(body, memory);
  for (const [, body] of bodies) addMemory(body, memory);
  return memory;
}

function addMemory(pieces: readonly Uint8Array[], memory: Transferable[]): void {
  for (const { buffer } of pieces) {
    if (buffer.byteLength >= TRANSFER_BYTES) memory.push(buffer as ArrayBuffer);
  }
}

/** The buffers of answers that are transferred with a message. */
export function answerMemory(answers: readonly AnswerMessage[]): Transferable[] {
  const memory: Transferable[] = [];
  for (const { body } of answers) if (typeof body !== 'string') memory.push(body.buffer as ArrayBuffer);
  return memory;
}

/** Number of bytes in the pieces of a body. */
export function lengthOf(pieces: readonly Uint8Array[]): number {
  let length = 0;
  for (const piece of pieces) length += piece.length;
  return length;
}
