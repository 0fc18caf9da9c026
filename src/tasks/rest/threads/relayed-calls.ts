import type { Transferable } from 'node:worker_threads';
import type { Problem } from '../checks/problem.ts';
import { CALL_BOUNDS, type PlaceBounds, Places } from '../http/bounded.ts';
import type { HeldBody, RenderedResponse, RestCall, RestCalls, RestHead, RestReply } from '../http/http.ts';
import { problemResponse } from '../http/problem-answer.ts';
import { requestIdOf } from '../http/request-headers.ts';
import { type AnswerMessage, bodyMemory, type Filling, lengthOf, Outbox } from './messages.ts';
import { full, interrupted, NO_CALL, noThread } from './refusals.ts';
import type { TurnFromPrimary, TurnToPrimary } from './relay-messages.ts';

interface OpenCall {
  readonly number: number;
  readonly tenant: string;
  readonly head: RestHead;
  readonly reply: RestReply;
  /** False while the caller keeps the body. */
  hasBody: boolean;
  isGone: boolean;
  /** The places that the call uses. */
  calls: number;
  bytes: number;
}

/**
 * Runs in a serving thread. Sends its calls to the primary thread (`CallRelay`), which owns the REST threads.
 *
 * The primary thread bounds the calls of all threads. The bounds here are reached only if it receives nothing for a
 * while, and limit how many calls wait for it.
 */
export class RelayedCalls implements RestCalls {
  readonly #tenantOf: (head: RestHead) => string;
  readonly #nextRequestId: () => string;
  readonly #places: Places;
  readonly #outbox: Outbox<Filling<TurnToPrimary>>;
  /** The calls that the primary thread has not ended, by number. */
  readonly #open = new Map<number, OpenCall>();
  #lastNumber = 0;
  #isLost = false;

  /**
   * @param tenantOf returns the tenant of a call
   * @param send sends a message to the primary thread
   */
  constructor(
    tenantOf: (head: RestHead) => string,
    nextRequestId: () => string,
    send: (turn: TurnToPrimary, transfer: readonly Transferable[]) => void,
    bounds: PlaceBounds = CALL_BOUNDS,
  ) {
    this.#tenantOf = tenantOf;
    this.#nextRequestId = nextRequestId;
    this.#places = new Places(bounds);
    this.#outbox = new Outbox(emptyTurn, turn => send(turn, bodyMemory(turn)));
  }

  begin(head: RestHead, body: readonly Uint8Array[] | HeldBody, reply: RestReply): RestCall {
    const tenant = this.#tenantOf(head);
    const hasBody = !('atMost' in body);
    const bytes = hasBody ? lengthOf(body) : 0;
    const refusal = this.#isLost ? noThread() : this.#places.take(tenant, 1, bytes) ? null : full();
    if (refusal !== null) {
      reply.answered(this.refused(head, refusal));
      return NO_CALL;
    }
    const number = ++this.#lastNumber;
    const call: OpenCall = { number, tenant, head, reply, hasBody, isGone: false, calls: 1, bytes };
    this.#open.set(number, call);
    this.#outbox.turn.calls.push({ number, head, body });
    return { body: pieces => this.#received(call, pieces), gone: () => this.#gone(call) };
  }

  refused(head: RestHead, problem: Problem): RenderedResponse {
    if (!this.#isLost) this.#outbox.turn.refused.push(problem.status);
    return problemResponse(problem, requestIdOf(head, this.#nextRequestId));
  }

  heard({ admitted, waiting, ended, answers }: TurnFromPrimary): void {
    for (const number of admitted) this.#present(number)?.reply.admitted();
    for (const number of waiting) this.#waits(number);
    for (const number of ended) this.#end(this.#open.get(number));
    for (const answer of answers) this.#answered(answer);
  }

  /** The connection to the primary thread is lost. All calls are answered with an error, also those that follow. */
  lost(): void {
    this.#isLost = true;
    for (const call of [...this.#open.values()]) {
      this.#end(call);
      if (!call.isGone) call.reply.answered(this.refused(call.head, interrupted(call.head, call.hasBody)));
    }
  }

  #received(call: OpenCall, pieces: readonly Uint8Array[]): void {
    if (call.isGone || !this.#open.has(call.number)) return;
    call.hasBody = true;
    this.#outbox.turn.bodies.push([call.number, pieces]);
  }

  #waits(number: number): void {
    const call = this.#open.get(number);
    if (call === undefined) return;
    this.#givePlaces(call);
    if (!call.isGone) call.reply.waits();
  }

  /** The call keeps its places until the primary thread has received the message. */
  #gone(call: OpenCall): void {
    if (call.isGone || !this.#open.has(call.number)) return;
    call.isGone = true;
    this.#outbox.turn.gone.push(call.number);
  }

  #answered({ number, status, headers, body }: AnswerMessage): void {
    const call = this.#open.get(number);
    this.#end(call);
    if (call?.isGone === false) call.reply.answered({ status, headers, body });
  }

  /** The call, if its caller waits for it. */
  #present(number: number): OpenCall | null {
    const call = this.#open.get(number);
    return call === undefined || call.isGone ? null : call;
  }

  #end(call: OpenCall | undefined): void {
    if (call === undefined) return;
    this.#open.delete(call.number);
    this.#givePlaces(call);
  }

  #givePlaces(call: OpenCall): void {
    this.#places.give(call.tenant, call.calls, call.bytes);
    call.calls = 0;
    call.bytes = 0;
  }
}

function emptyTurn(): Filling<TurnToPrimary> {
  return { kind: 'turn', calls: [], bodies: [], gone: [], refused: [] };
}
