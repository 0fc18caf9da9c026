import { ERROR, type ErrorCode } from '../faults.ts';
import { LAST_STREAM_OPEN, PING_BYTES, writeGoAway, writePing } from '../frame/control.ts';
import type { ConnectionContext } from './context.ts';

/** Opaque data of the ping whose answer tells that GOAWAY has arrived. */
const DRAIN_PING = Buffer.from('drain...');

/**
 * How a connection ends in good order (RFC 9113, 6.8). The first GOAWAY leaves open which streams are served, because
 * some are under way while it is; the answer to the ping behind it comes behind them, and then the second GOAWAY names
 * the last one.
 */
export class Drain {
  readonly #context: ConnectionContext;
  #beganMs = -1;
  #lastServed = LAST_STREAM_OPEN;

  constructor(context: ConnectionContext) {
    this.#context = context;
  }

  /** Whether the last stream is named: with the last answer the connection is over. */
  get announced(): boolean {
    return this.#lastServed !== LAST_STREAM_OPEN;
  }

  /** Whether a stream is one that the peer may expect an answer on. */
  serves(id: number): boolean {
    return id <= this.#lastServed;
  }

  /** Asks the peer to open no more streams. */
  begin(): void {
    if (this.#beganMs >= 0 || this.announced) return;
    const { sender, progress } = this.#context;
    this.#beganMs = progress.nowMs;
    writeGoAway(sender.out, LAST_STREAM_OPEN, ERROR.noError, 'the server is going away');
    writePing(sender.out, 'request', DRAIN_PING, 0);
  }

  /** Takes the answer to a ping, whosever it was. */
  onPong(bytes: Uint8Array, start: number): void {
    if (this.#beganMs >= 0 && DRAIN_PING.equals(bytes.subarray(start, start + PING_BYTES))) this.announce();
  }

  /** Names the last stream; those above it are not served any more. */
  announce(): void {
    if (this.announced) return;
    this.#lastServed = this.#context.streams.lastId;
    this.goAway(ERROR.noError, '');
  }

  /** Does not wait for ever for the answer to the ping: the peer has been told. */
  tick(nowMs: number): void {
    if (this.#beganMs >= 0 && nowMs - this.#beganMs > this.#context.limits.keepaliveTimeoutMs)
      this.announce();
  }

  /** Says which streams were looked at, and why no more are (RFC 9113, 5.4.1). */
  goAway(code: ErrorCode, debug: string): void {
    const { sender, streams } = this.#context;
    writeGoAway(sender.out, Math.min(streams.lastId, this.#lastServed), code, debug);
  }
}
