import {
  type Http2Fault,
  NOT_ON_STREAM_ZERO,
  ON_IDLE,
  ON_STREAM_ZERO,
  STREAM_WINDOW_TOO_WIDE,
  TOO_MANY_CONTROLS,
  TOO_MANY_IDLE_FRAMES,
  WINDOW_TOO_WIDE,
} from '../faults.ts';
import { checkGoAway, checkPing, checkWindowUpdate, writePing } from '../frame/control.ts';
import { FLAG, readUint31 } from '../frame/frame.ts';
import { checkPriority } from '../frame/headers.ts';
import type { ConnectionContext } from './context.ts';
import type { Drain } from './drain.ts';

/**
 * Data that earns the peer a WINDOW_UPDATE. The most careful clients send one for the stream and one for the connection
 * with every 4 KiB; one that widens a window octet by octet, to have as many frames, does not get far.
 */
export const BYTES_PER_UPDATE = 1_024;

/** Frames that keep a connection going: WINDOW_UPDATE, PING, GOAWAY, PRIORITY, and what is unknown. */
export class ControlFrames {
  readonly #context: ConnectionContext;
  readonly #drain: Drain;

  constructor(context: ConnectionContext, drain: Drain) {
    this.#context = context;
    this.#drain = drain;
  }

  onWindowUpdate(bytes: Uint8Array, start: number, end: number, id: number): Http2Fault | null {
    const fault = checkWindowUpdate(bytes, start, end, id);
    if (fault?.scope === 'connection') return fault;
    if (!this.#mayUpdateWindow()) return TOO_MANY_IDLE_FRAMES;
    const { sender, streams } = this.#context;
    if (id === 0) {
      if (!sender.window.widen(readUint31(bytes, start))) return WINDOW_TOO_WIDE;
      sender.resume();
      return null;
    }
    if (streams.isIdle(id)) return ON_IDLE;
    if (fault !== null) return fault;
    const stream = streams.get(id);
    // On a closed stream it may have been under way (RFC 9113, 5.1).
    if (stream === undefined) return null;
    if (!stream.sendWindow.widen(readUint31(bytes, start))) return STREAM_WINDOW_TOO_WIDE;
    sender.resumeStream(stream);
    return null;
  }

  onPing(bytes: Uint8Array, start: number, end: number, flags: number, id: number): Http2Fault | null {
    if (id !== 0) return NOT_ON_STREAM_ZERO;
    const fault = checkPing(start, end) ?? this.#charge();
    if (fault !== null) return fault;
    if ((flags & FLAG.ack) !== 0) this.#drain.onPong(bytes, start);
    else writePing(this.#context.sender.out, 'ack', bytes, start);
    return null;
  }

  /** The peer takes its leave; nothing of ours can be refused by it, as we open no streams (RFC 9113, 6.8). */
  onGoAway(start: number, end: number, id: number): Http2Fault | null {
    if (id !== 0) return NOT_ON_STREAM_ZERO;
    const fault = checkGoAway(start, end) ?? this.#charge();
    if (fault !== null) return fault;
    this.#drain.announce();
    return null;
  }

  onPriority(bytes: Uint8Array, start: number, end: number, id: number): Http2Fault | null {
    if (id === 0) return ON_STREAM_ZERO;
    return this.#charge() ?? checkPriority(bytes, start, end, id);
  }

  /** Frames of unknown types are ignored (RFC 9113, 4.1), but not without end. */
  onUnknown(): Http2Fault | null {
    return this.#charge();
  }

  #charge(): Http2Fault | null {
    return this.#context.budgets.control.spend() ? null : TOO_MANY_CONTROLS;
  }

  #mayUpdateWindow(): boolean {
    const { budgets, sender } = this.#context;
    budgets.idleFrames.earn(sender.sentBytes / BYTES_PER_UPDATE);
    sender.sentBytes = 0;
    return budgets.idleFrames.spend();
  }
}
