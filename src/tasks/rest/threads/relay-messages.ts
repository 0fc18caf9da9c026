import type { HeldBody, RestHead } from '../http/http.ts';
import type { AnswerMessage } from './messages.ts';

/** A call that another thread has received. That thread numbers its calls. */
export interface RelayedCallMessage {
  readonly number: number;
  readonly head: RestHead;
  readonly body: readonly Uint8Array[] | HeldBody;
}

/** Everything that a serving thread sends to the primary thread in one turn. The fields are processed in this order. */
export interface TurnToPrimary {
  readonly kind: 'turn';
  readonly calls: readonly RelayedCallMessage[];
  readonly bodies: readonly (readonly [call: number, body: readonly Uint8Array[]])[];
  /** Calls whose callers have disconnected. */
  readonly gone: readonly number[];
  /** The statuses of requests that the serving thread has refused, for the statistics. */
  readonly refused: readonly number[];
}

/** Everything that the primary thread sends to a serving thread in one turn. The fields are processed in this order. */
export interface TurnFromPrimary {
  readonly kind: 'turn';
  /** Calls whose body may be received. */
  readonly admitted: readonly number[];
  /** Calls that wait for an event, and need to know when their caller disconnects. */
  readonly waiting: readonly number[];
  /** Calls whose callers have disconnected, and which the primary thread has therefore ended. */
  readonly ended: readonly number[];
  readonly answers: readonly AnswerMessage[];
}
