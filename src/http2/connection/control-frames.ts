import {
  type Http2Fault,
  NOT_ON_STREAM_ZERO,
  ON_IDLE,
  ON_STREAM_ZERO,
  STREAM_WINDOW_TOO_WIDE,
  TOO_MANY_CONTROLS,
  TOO_MANY_IDLE_FRAMES,
  TOO_MANY_WINDOW_CHANGES,
  WINDOW_TOO_WIDE,
} from '../faults.ts';
import {
  checkGoAway,
  checkPing,
  checkWindowUpdate,
  readSettings,
  SETTING,
  writePing,
  writeSettingsAck,
} from '../frame/control.ts';
import { FLAG, readUint31 } from '../frame/frame.ts';
import { checkPriority } from '../frame/headers.ts';
import { DEFAULT_WINDOW } from '../streams/stream.ts';
import type { ConnectionContext } from './context.ts';
import type { Drain } from './drain.ts';
import type { Liveness } from './liveness.ts';

/**
 * Data that earns the peer one WINDOW_UPDATE. The most careful clients send one for the stream and one for the
 * connection with every 4 KiB. A peer that widens a window octet by octet to force many small frames runs out of
 * budget.
 */
export const BYTES_PER_UPDATE = 1_024;

/** Handles SETTINGS, WINDOW_UPDATE, PING, GOAWAY, PRIORITY and frames of unknown types. */
export class ControlFrames {
  readonly #context: ConnectionContext;
  readonly #drain: Drain;
  readonly #liveness: Liveness;
  /** SETTINGS_INITIAL_WINDOW_SIZE of the peer: the send window of new streams, in octets. */
  initialWindow = DEFAULT_WINDOW;

  constructor(context: ConnectionContext, drain: Drain, liveness: Liveness) {
    this.#context = context;
    this.#drain = drain;
    this.#liveness = liveness;
  }

  /** SETTINGS (RFC 9113, 6.5). */
  onSettings(bytes: Uint8Array, start: number, end: number, flags: number, id: number): Http2Fault | null {
    if (id !== 0) return NOT_ON_STREAM_ZERO;
    const { budgets, sender } = this.#context;
    if (!budgets.control.spend()) return TOO_MANY_CONTROLS;
    const before = this.initialWindow;
    const fault = readSettings(bytes, { start, end }, flags, (name, value) => this.#apply(name, value));
    if (fault !== null) return fault;
    if ((flags & FLAG.ack) !== 0) {
      this.#liveness.settingsAcked = true;
      return null;
    }
    this.#liveness.settingsSeen = true;
    // Streams are updated once per frame: a frame can set the size 2,730 times, and there can be a thousand streams.
    const change = this.initialWindow - before;
    if (change !== 0 && !budgets.windowChanges.spend()) return TOO_MANY_WINDOW_CHANGES;
    if (change !== 0 && !this.#moveWindows(change)) return WINDOW_TOO_WIDE;
    writeSettingsAck(sender.out);
    if (change !== 0) sender.resumeAll();
    return null;
  }

  /** WINDOW_UPDATE (RFC 9113, 6.9). */
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
    // The frame may have been in flight when the stream was closed (RFC 9113, 5.1).
    if (stream === undefined) return null;
    if (!stream.sendWindow.widen(readUint31(bytes, start))) return STREAM_WINDOW_TOO_WIDE;
    sender.resumeStream(stream);
    return null;
  }

  /** PING (RFC 9113, 6.7). */
  onPing(bytes: Uint8Array, start: number, end: number, flags: number, id: number): Http2Fault | null {
    if (id !== 0) return NOT_ON_STREAM_ZERO;
    const fault = checkPing(start, end) ?? this.#charge();
    if (fault !== null) return fault;
    if ((flags & FLAG.ack) !== 0) this.#drain.onPong(bytes, start);
    else writePing(this.#context.sender.out, 'ack', bytes, start);
    return null;
  }

  /**
   * GOAWAY (RFC 9113, 6.8): the peer is shutting down. Its last stream id does not matter, because the server opens no
   * streams.
   */
  onGoAway(start: number, end: number, id: number): Http2Fault | null {
    if (id !== 0) return NOT_ON_STREAM_ZERO;
    const fault = checkGoAway(start, end) ?? this.#charge();
    if (fault !== null) return fault;
    this.#drain.announce();
    return null;
  }

  /** PRIORITY (RFC 9113, 6.3). */
  onPriority(bytes: Uint8Array, start: number, end: number, id: number): Http2Fault | null {
    if (id === 0) return ON_STREAM_ZERO;
    return this.#charge() ?? checkPriority(bytes, start, end, id);
  }

  /** Frames of unknown types are ignored (RFC 9113, 4.1), within the budget for control frames. */
  onUnknown(): Http2Fault | null {
    return this.#charge();
  }

  /** Only the settings that matter to a server that never pushes and compresses with the static table alone. */
  #apply(name: number, value: number): void {
    const { sender } = this.#context;
    if (name === SETTING.initialWindowSize) this.initialWindow = value;
    else if (name === SETTING.maxFrameSize) sender.setMaxFrameSize(value);
    else if (name === SETTING.headerTableSize) sender.setTableSize(value);
  }

  /** The windows of open streams move with their initial size, also below zero (RFC 9113, 6.9.2). */
  #moveWindows(change: number): boolean {
    for (const stream of this.#context.streams.values()) if (!stream.sendWindow.widen(change)) return false;
    return true;
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
