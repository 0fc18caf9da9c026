import type { Address } from './address.ts';
import { Connection } from './connection.ts';
import { NoDecision } from './no-decision.ts';
import { PendingCall } from './pending-call.ts';
import type { Outcome } from './reply.ts';

/** Upper bound of the random delay before the second attempt to connect. It doubles with each further attempt. */
const FIRST_DELAY_MS = 50;
const MAX_DELAY_MS = 2_000;
/** A connection that lasted this long worked, even if no call was made. */
const WORKED_MS = 1_000;

/**
 * Sends calls over one connection, and replaces it when it ends.
 *
 * Calls wait while there is no connection yet, or while the connection has as many calls as the service allows. If an
 * attempt to connect has failed, calls fail at once until there is a connection again: waiting for their deadline would
 * delay each request of the program during an outage.
 */
export class CallQueue {
  readonly #address: Address;
  readonly #maxPending: number;
  /** In the order of their arrival. */
  readonly #waiting = new Set<PendingCall>();
  /** Calls without an answer, waiting or sent. */
  #pending = 0;
  /** The connection for new calls, which may not be established yet. */
  #connection: Connection | null = null;
  /** Why calls fail at once; null if they do not. */
  #outage: NoDecision | null = null;
  /** Connections in a row that ended, and of which none worked. */
  #lost = 0;
  #retry: NodeJS.Timeout | undefined;
  /** Resolves once the connection is closed; null if nobody has closed it. */
  #closed: Promise<void> | null = null;
  #whenEmpty: (() => void) | null = null;

  /** Starts to connect. @param maxPending maximum number of calls without an answer */
  constructor(address: Address, maxPending: number) {
    this.#address = address;
    this.#maxPending = maxPending;
    this.#connect();
  }

  /** Resolves with the message of the answer. @throws NoDecision if there is none */
  call(message: Buffer, timeoutMs: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const obstacle = this.#obstacle();
      if (obstacle !== null) {
        reject(obstacle);
        return;
      }
      this.#pending++;
      const call = new PendingCall(message, timeoutMs, result => {
        this.#ended(call, result);
        if (result instanceof NoDecision) reject(result);
        else resolve(result);
      });
      this.#waiting.add(call);
      if (this.#connection === null) this.#connect();
      this.#send();
    });
  }

  /** Refuses further calls, waits for the answers of earlier calls, and closes the connection. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#outage = new NoDecision('closed', 'The client is closed.');
    clearTimeout(this.#retry);
    if (this.#pending > 0) {
      await new Promise<void>(resolve => {
        this.#whenEmpty = resolve;
      });
    }
    this.#connection?.destroy();
  }

  /** Why a further call cannot be made; null if it can. */
  #obstacle(): NoDecision | null {
    if (this.#outage !== null || this.#pending < this.#maxPending) return this.#outage;
    return new NoDecision('overloaded', `${this.#maxPending} calls are waiting for the service already.`);
  }

  #send(): void {
    for (const call of this.#waiting) {
      if (this.#connection?.hasRoom !== true) return;
      this.#waiting.delete(call);
      this.#connection.send(call);
    }
  }

  #connect(): void {
    clearTimeout(this.#retry);
    this.#connection = new Connection(this.#address, {
      hasRoom: connection => {
        if (connection === this.#connection && this.#closed === null) this.#outage = null;
        this.#send();
      },
      replied: (call, outcome) => this.#replied(call, outcome),
      ended: (connection, cause) => this.#lose(connection, cause),
    });
  }

  #replied(call: PendingCall, outcome: Outcome): void {
    if (outcome === null && !call.wasRefused && !call.isEnded) {
      // The service has not counted it, so it can be sent again.
      call.wasRefused = true;
      this.#waiting.add(call);
    } else {
      call.end(outcome ?? new NoDecision('unavailable', 'The service refused the call twice.'));
    }
    if (Buffer.isBuffer(outcome)) this.#lost = 0;
    this.#send();
  }

  #ended(call: PendingCall, result: Buffer | NoDecision): void {
    this.#waiting.delete(call);
    this.#pending--;
    if (result instanceof NoDecision && result.code === 'timeout') this.#connection?.probe();
    if (this.#pending === 0) this.#whenEmpty?.();
  }

  /**
   * Replaces a connection: at once if connections worked before, otherwise after a delay. Calls fail in this delay, unless
   * the service accepted the connection and closed it before a call was made. A call then ends the delay.
   */
  #lose(connection: Connection, cause: Error | undefined): void {
    if (connection !== this.#connection) return;
    this.#connection = null;
    if (this.#closed !== null) return;
    if (connection.ageMs >= WORKED_MS) this.#lost = 0;
    this.#lost++;
    const { isEstablished, wasAsked } = connection;
    if (isEstablished && (this.#lost === 1 || (!wasAsked && this.#waiting.size > 0))) {
      this.#connect();
      return;
    }
    if (!isEstablished || wasAsked) {
      this.#outage = this.#noConnection(cause);
      for (const call of this.#waiting) call.end(this.#outage);
    }
    const delayMs = Math.random() * Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (this.#lost - 1));
    this.#retry = setTimeout(() => this.#connect(), delayMs).unref();
  }

  #noConnection(cause: Error | undefined): NoDecision {
    const reason = cause?.message || 'the service closes each connection';
    return new NoDecision(
      'unavailable',
      `There is no connection to ${this.#address.text}: ${reason}. ` +
        'Check that Sluice is running, and that the address is that of its gRPC port (8081 by default).',
      cause,
    );
  }
}
