import type { Transferable } from 'node:worker_threads';
import type { RenderedResponse, RestCall, RestCalls } from '../http/http.ts';
import { answerMemory, type Filling, Outbox } from './messages.ts';
import { NO_CALL } from './refusals.ts';
import type { RelayedCallMessage, TurnFromPrimary, TurnToPrimary } from './relay-messages.ts';

/** What answers the calls of other threads. */
export interface RelayTarget extends RestCalls {
  /** Counts a request that another thread has refused. */
  countRefusal(status: number): void;
}

/**
 * Runs in the primary thread. Passes on the calls that one serving thread has received, and returns their answers.
 * Bodies are transferred from thread to thread, so this does no work that grows with their size.
 */
export class CallRelay {
  readonly #target: RelayTarget;
  readonly #outbox: Outbox<Filling<TurnFromPrimary>>;
  /** The calls that have not been answered, by number. */
  readonly #open = new Map<number, RestCall>();

  constructor(target: RelayTarget, send: (turn: TurnFromPrimary, transfer: readonly Transferable[]) => void) {
    this.#target = target;
    this.#outbox = new Outbox(emptyTurn, turn => send(turn, answerMemory(turn.answers)));
  }

  heard({ calls, bodies, gone, refused }: TurnToPrimary): void {
    for (const call of calls) this.#begin(call);
    for (const [number, body] of bodies) this.#open.get(number)?.body(body);
    for (const number of gone) this.#gone(number);
    for (const status of refused) this.#target.countRefusal(status);
  }

  /** The thread has ended, so nobody waits for its calls. */
  detach(): void {
    const left = [...this.#open.values()];
    this.#open.clear();
    for (const call of left) call.gone();
  }

  #begin({ number, head, body }: RelayedCallMessage): void {
    // The call may be answered before `begin` returns.
    this.#open.set(number, NO_CALL);
    const call = this.#target.begin(head, body, {
      admitted: () => this.#tell(number, turn => turn.admitted.push(number)),
      waits: () => this.#tell(number, turn => turn.waiting.push(number)),
      answered: response => this.#answered(number, response),
    });
    if (this.#open.has(number)) this.#open.set(number, call);
  }

  #answered(number: number, { status, headers, body }: RenderedResponse): void {
    this.#tell(number, turn => turn.answers.push({ number, status, headers, body }));
    this.#open.delete(number);
  }

  #gone(number: number): void {
    const call = this.#open.get(number);
    if (call === undefined) return;
    this.#tell(number, turn => turn.ended.push(number));
    this.#open.delete(number);
    call.gone();
  }

  /** Does nothing if the thread no longer waits for the call. */
  #tell(number: number, write: (turn: Filling<TurnFromPrimary>) => void): void {
    if (this.#open.has(number)) write(this.#outbox.turn);
  }
}

function emptyTurn(): Filling<TurnFromPrimary> {
  return { kind: 'turn', admitted: [], waiting: [], ended: [], answers: [] };
}
