import { ERROR, type ErrorCode } from '../faults.ts';
import { LAST_STREAM_OPEN, PING_BYTES, writeGoAway, writePing } from '../frame/control.ts';
import type { ConnectionContext } from './context.ts';

/** Opaque data of the ping whose acknowledgment proves that the first GOAWAY has arrived. */
const DRAIN_PING = Buffer.from('drain...');

/**
 * Graceful shutdown of a connection (RFC 9113, 6.8). The first GOAWAY does not name the last stream, because new
 * streams may be in flight. It is followed by a ping. When the peer acknowledges the ping, all of those streams have
 * arrived, and the second GOAWAY names the last one.
 */
export class Drain {
  readonly #context: ConnectionContext;
  #beganMs = -1;
  #lastServed = LAST_STREAM_OPEN;

  constructor(context: ConnectionContext) {
    this.#context = context;
  }

  /** Whether the last stream is named. The connection then closes after the last response. */
  get announced(): boolean {
    return this.#lastServed !== LAST_STREAM_OPEN;
  }

  /** Whether the server responds on this stream. */
  serves(id: number): boolean {
    return id <= this.#lastServed;
  }

  /** Asks the peer to open no more streams. */
  begin(): void {
    if (this.#beganMs >= 0 || this.announced) return;
    const { sender, progress } = this.#context;
    this.#beganMs = progress.nowMs;
    writeGoAway(sender.out, LAST_STREAM_OPEN, ERROR.noError, 'the server is shutting down');
    writePing(sender.out, 'request', DRAIN_PING, 0);
  }

  /** Handles the acknowledgment of any ping. */
  onPong(bytes: Uint8Array, start: number): void {
    if (this.#beganMs >= 0 && DRAIN_PING.equals(bytes.subarray(start, start + PING_BYTES))) this.announce();
  }

  /** Names the last stream. Streams above it are ignored from now on. */
  announce(): void {
    if (this.announced) return;
    this.#lastServed = this.#context.streams.lastId;
    this.goAway(ERROR.noError, '');
  }

  /** Names the last stream if the acknowledgment of the ping takes too long. */
  tick(nowMs: number): void {
    if (this.#beganMs >= 0 && nowMs - this.#beganMs > this.#context.limits.keepaliveTimeoutMs)
      this.announce();
  }

  /** Sends GOAWAY with the last stream that was handled and the reason (RFC 9113, 5.4.1). */
  goAway(code: ErrorCode, debug: string): void {
    const { sender, streams } = this.#context;
    writeGoAway(sender.out, Math.min(streams.lastId, this.#lastServed), code, debug);
  }
}
