import type { LastingThread } from '../../../base/threads/lasting-thread.ts';
import type { Problem } from '../checks/problem.ts';
import { type Places, Turns } from '../http/bounded.ts';
import type { HeldBody, RestCall, RestHead, RestReply } from '../http/http.ts';
import type { EarlyLimits } from './early-limits.ts';
import {
  type AnswerMessage,
  bodyMemory,
  type Filling,
  lengthOf,
  Outbox,
  type ToRestThread,
  type TurnFromRestThread,
  type TurnToRestThread,
} from './messages.ts';
import { full, interrupted, NO_CALL, noThread } from './refusals.ts';

/** Maximum number of calls that a thread handles at once, without calls that wait for an event. */
const MAX_RUNNING = 512;
/** Maximum number of large bodies that a thread reads at once. Small calls are handled at the same time. */
const MAX_LARGE = 2;

type RunningThread = LastingThread<ToRestThread>;

/**
 * - `queued`: not sent to the thread yet
 * - `running`: the thread handles the call
 * - `receiving`: the caller is identified, and its body is being received
 * - `body_queued`: the body is complete and waits for its turn
 * - `waiting`: the call waits for an event, such as a task for a long poll
 */
type CallState = 'queued' | 'running' | 'receiving' | 'body_queued' | 'waiting' | 'over';

interface OpenCall {
  readonly number: number;
  readonly tenant: string;
  readonly head: RestHead;
  readonly reply: RestReply;
  readonly heldBytes: number | null;
  state: CallState;
  body: readonly Uint8Array[] | null;
  /** The places that the call uses. */
  calls: number;
  bytes: number;
  isLarge: boolean;
  /** The caller disconnected while the thread was handling the call. */
  isGone: boolean;
}

/** Answers a call that no thread can answer. */
type Refuse = (reply: RestReply, head: RestHead, problem: Problem) => void;

/** The calls of one REST thread and of its replacements: those that wait, and those that were sent to the thread. */
export class ThreadCalls {
  readonly #places: Places;
  readonly #limits: EarlyLimits;
  readonly #refused: Refuse;
  readonly #queue = new Turns<OpenCall>();
  readonly #bodies = new Turns<OpenCall>();
  /** Calls that were sent to the thread, by number. */
  readonly #sent = new Map<number, OpenCall>();
  #lastNumber = 0;
  #running = 0;
  #large = 0;
  #outbox: Outbox<Filling<TurnToRestThread>> | null = null;
  /** True if the last thread failed to start. Calls are then rejected instead of queued for the next one. */
  #isDown = false;

  /** @param places shared by all threads */
  constructor(places: Places, limits: EarlyLimits, refuse: Refuse) {
    this.#places = places;
    this.#limits = limits;
    this.#refused = refuse;
  }

  /** The message that is sent to the thread at the end of this turn; null if no thread is attached. */
  get turn(): Filling<TurnToRestThread> | null {
    return this.#outbox?.turn ?? null;
  }

  /** Whether calls were sent to the thread and have not been answered. */
  get isAwaited(): boolean {
    return this.#sent.size > 0;
  }

  begin(tenant: string, head: RestHead, body: readonly Uint8Array[] | HeldBody, reply: RestReply): RestCall {
    const isHeld = 'atMost' in body;
    const bytes = isHeld ? 0 : lengthOf(body);
    const refusal = this.#isDown ? noThread() : this.#places.take(tenant, 1, bytes) ? null : full();
    if (refusal !== null) {
      this.#refused(reply, head, refusal);
      return NO_CALL;
    }
    const call: OpenCall = {
      number: ++this.#lastNumber,
      tenant,
      head,
      reply,
      heldBytes: isHeld ? body.atMost : null,
      state: 'queued',
      body: isHeld ? null : body,
      calls: 1,
      bytes,
      isLarge: false,
      isGone: false,
    };
    this.#queue.add(tenant, call);
    this.#pump();
    return { body: pieces => this.#received(call, pieces), gone: () => this.#gone(call) };
  }

  /** Attaches a thread that accepts calls. */
  attach(thread: RunningThread): void {
    this.#isDown = false;
    this.#outbox = new Outbox(emptyTurn, turn => thread.post(turn, bodyMemory(turn)));
    this.#pump();
  }

  /**
   * Handles the end of the thread. Calls that were sent to it are answered with an error. Queued calls wait for the
   * next thread if it is expected soon. Returns the number of calls that were sent to the thread.
   */
  detach(isNextSoon: boolean): number {
    this.#outbox = null;
    this.#isDown = !isNextSoon;
    const left = [...this.#sent.values()];
    for (const call of left) this.#refuse(call, interrupted(call.head, isHandled(call)));
    if (this.#isDown) {
      for (let call = this.#queue.next(); call !== null; call = this.#queue.next()) {
        this.#refuse(call, noThread());
      }
    }
    return left.length;
  }

  heard({ admitted, waiting, answers }: TurnFromRestThread): void {
    for (const number of admitted) this.#admitted(number);
    for (const number of waiting) this.#waits(number);
    for (const answer of answers) this.#answered(answer);
    this.#pump();
  }

  #pump(): void {
    if (this.#outbox === null) return;
    while (this.#large < MAX_LARGE) {
      const call = this.#bodies.next();
      if (call === null) break;
      this.#large++;
      call.isLarge = true;
      this.#runs(call);
      this.#outbox.turn.bodies.push([call.number, call.body ?? []]);
      call.body = null;
    }
    while (this.#running < MAX_RUNNING) {
      const call = this.#queue.next();
      if (call === null) break;
      this.#runs(call);
      const { number, tenant, head, body } = call;
      this.#sent.set(number, call);
      const limit = this.#limits.count(tenant, head, verdict =>
        this.turn?.earlyVerdicts.push([number, verdict]),
      );
      this.#outbox.turn.calls.push({ number, head, body, limit });
      call.body = null;
    }
  }

  #runs(call: OpenCall): void {
    call.state = 'running';
    this.#running++;
  }

  #stopsRunning(call: OpenCall): void {
    if (call.state === 'running') this.#running--;
    if (call.isLarge) this.#large--;
    call.isLarge = false;
  }

  #admitted(number: number): void {
    const call = this.#sent.get(number);
    if (call === undefined || call.heldBytes === null) return;
    this.#stopsRunning(call);
    call.state = 'receiving';
    if (call.isGone) {
      this.#gone(call);
      return;
    }
    if (!this.#places.take(call.tenant, 0, call.heldBytes)) {
      this.turn?.gone.push(number);
      this.#refuse(call, full());
      return;
    }
    call.bytes = call.heldBytes;
    call.reply.admitted();
  }

  #received(call: OpenCall, body: readonly Uint8Array[]): void {
    if (call.state !== 'receiving') return;
    call.state = 'body_queued';
    call.body = body;
    const unused = call.bytes - lengthOf(body);
    call.bytes -= unused;
    this.#places.give(call.tenant, 0, unused);
    this.#bodies.add(call.tenant, call);
    this.#pump();
  }

  /** Releases the places of a call that waits for an event. The thread limits the number of waiting calls. */
  #waits(number: number): void {
    const call = this.#sent.get(number);
    if (call === undefined || call.state !== 'running') return;
    this.#stopsRunning(call);
    this.#givePlaces(call);
    call.state = 'waiting';
    if (call.isGone) this.#gone(call);
    else call.reply.waits();
  }

  #answered({ number, status, headers, body }: AnswerMessage): void {
    const call = this.#sent.get(number);
    if (call !== undefined) this.#end(call, () => call.reply.answered({ status, headers, body }));
  }

  #gone(call: OpenCall): void {
    if (call.state === 'over') return;
    if (call.state === 'queued') {
      this.#queue.remove(call.tenant, call);
      this.#end(call, () => {});
    } else if (call.state === 'running') {
      // The thread finishes the call, and its answer is dropped. The call keeps its places until then.
      call.isGone = true;
    } else {
      this.turn?.gone.push(call.number);
      this.#end(call, () => {});
    }
  }

  #refuse(call: OpenCall, problem: Problem): void {
    this.#end(call, () => this.#refused(call.reply, call.head, problem));
  }

  #end(call: OpenCall, tell: () => void): void {
    this.#stopsRunning(call);
    this.#bodies.remove(call.tenant, call);
    this.#sent.delete(call.number);
    this.#givePlaces(call);
    call.state = 'over';
    call.body = null;
    tell();
  }

  #givePlaces(call: OpenCall): void {
    this.#places.give(call.tenant, call.calls, call.bytes);
    call.calls = 0;
    call.bytes = 0;
  }
}

/** Whether the thread may have changed something for the call. */
function isHandled({ state }: OpenCall): boolean {
  return state === 'running' || state === 'waiting';
}

function emptyTurn(): Filling<TurnToRestThread> {
  return { kind: 'turn', verdicts: [], tested: [], calls: [], earlyVerdicts: [], bodies: [], gone: [] };
}
