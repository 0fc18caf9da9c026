import { connect, type Socket } from 'node:net';
import { backoffMs } from '../../base/backoff.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { LineOutput } from './line-output.ts';

const CONNECT_TIMEOUT_MS = 1_500;

/** The connection to a receiver that accepts no data for this long is closed. */
const WRITE_TIMEOUT_MS = 5_000;

const RECONNECT = { initialMs: 1_000, maxMs: 30_000 } as const;

interface TcpOutputOptions {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** IP version; 0: either. */
  readonly family: 0 | 4 | 6;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/**
 * Sends lines over one persistent TCP connection, and reconnects with increasing delays. Nothing is lost while the
 * connection is down, because the next flush includes what counters have counted meanwhile.
 */
export class TcpOutput implements LineOutput {
  readonly name: string;
  readonly #options: TcpOutputOptions;
  #socket: Socket | null = null;
  /** The connection attempt in progress. */
  #connecting: Promise<void> | null = null;
  #retry: Timer | null = null;
  #attempts = 0;
  #reason = 'not connected yet';
  #closed = false;

  constructor(options: TcpOutputOptions) {
    this.name = options.name;
    this.#options = options;
  }

  open(): void {
    this.#retry = null;
    if (this.#closed) return;
    this.#connecting = this.#connect();
  }

  async ready(): Promise<void> {
    await this.#connecting;
    if (this.#socket?.readyState !== 'open') throw new Error(this.#reason);
  }

  async write(lines: string): Promise<void> {
    const socket = this.#socket;
    if (socket === null) throw new Error(this.#reason);
    await this.#within(WRITE_TIMEOUT_MS, 'it accepted no data for 5 s', socket, done =>
      socket.write(lines, done),
    );
  }

  async end(): Promise<void> {
    const socket = this.#socket;
    if (socket === null) return;
    await this.#within(WRITE_TIMEOUT_MS, 'it accepted no data for 5 s', socket, done => socket.end(done));
  }

  close(): void {
    this.#closed = true;
    this.#retry?.cancel();
    this.#socket?.destroy();
  }

  /** Resolves when the attempt has succeeded or failed. */
  async #connect(): Promise<void> {
    const { host, port, family } = this.#options;
    const socket = connect({ host, port, family, noDelay: true });
    this.#socket = socket;
    // No input is expected, but unread input would hide the end of the connection.
    socket.resume();
    socket.on('error', failure => {
      this.#reason = reasonOf(failure);
    });
    socket.once('close', () => this.#lost(socket));
    try {
      await this.#within(CONNECT_TIMEOUT_MS, 'the connection timed out after 1.5 s', socket, done =>
        socket.once('connect', () => done()),
      );
      this.#attempts = 0;
      this.#reason = 'the connection was closed';
    } catch {
      // `#lost` schedules the next attempt, and `ready` throws the reason.
    }
  }

  #lost(socket: Socket): void {
    if (this.#socket !== socket) return;
    this.#socket = null;
    this.#connecting = null;
    if (this.#closed) return;
    const { clock, random } = this.#options;
    this.#retry = clock.after(backoffMs(RECONNECT, this.#attempts++, random), () => this.open());
  }

  /** Waits until `begin` is done. Rejects if the socket closes first, and closes the socket after `ms`. */
  async #within(
    ms: number,
    tooLong: string,
    socket: Socket,
    begin: (done: (failure?: Error | null) => void) => void,
  ): Promise<void> {
    const outcome = Promise.withResolvers<void>();
    const closed = (): void => outcome.reject(new Error(this.#reason));
    const timer = this.#options.clock.after(ms, () => {
      this.#reason = tooLong;
      socket.destroy();
    });
    socket.once('close', closed);
    // A failure closes the socket. The `closed` listener then rejects with the reason.
    begin(failure => {
      if (!failure) outcome.resolve();
    });
    try {
      await outcome.promise;
    } finally {
      timer.cancel();
      socket.off('close', closed);
    }
  }
}

/** If a name has several addresses, the error contains one failure per address and has no message of its own. */
function reasonOf(failure: Error): string {
  return failure instanceof AggregateError ? failure.errors.map(reasonOf).join(', ') : failure.message;
}
