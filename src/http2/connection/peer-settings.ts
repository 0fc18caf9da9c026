import {
  type Http2Fault,
  NOT_ON_STREAM_ZERO,
  TOO_MANY_CONTROLS,
  TOO_MANY_WINDOW_CHANGES,
  WINDOW_TOO_WIDE,
} from '../faults.ts';
import { readSettings, SETTING, writeSettingsAck } from '../frame/control.ts';
import { FLAG } from '../frame/frame.ts';
import { DEFAULT_WINDOW } from '../streams/stream.ts';
import type { ConnectionContext } from './context.ts';
import type { Liveness } from './liveness.ts';

/** SETTINGS of the peer. Only what concerns a server that pushes nothing and compresses with the static table alone. */
export class PeerSettings {
  readonly #context: ConnectionContext;
  readonly #liveness: Liveness;
  /** SETTINGS_INITIAL_WINDOW_SIZE. */
  initialWindow = DEFAULT_WINDOW;

  constructor(context: ConnectionContext, liveness: Liveness) {
    this.#context = context;
    this.#liveness = liveness;
  }

  /** A SETTINGS frame (RFC 9113, 6.5). */
  onSettings(bytes: Uint8Array, start: number, end: number, flags: number, id: number): Http2Fault | null {
    if (id !== 0) return NOT_ON_STREAM_ZERO;
    const { budgets, sender } = this.#context;
    if (!budgets.control.spend()) return TOO_MANY_CONTROLS;
    const before = this.initialWindow;
    const fault = readSettings(bytes, { start, end }, flags, (name, value) => this.#take(name, value));
    if (fault !== null) return fault;
    if ((flags & FLAG.ack) !== 0) {
      this.#liveness.settingsAcked = true;
      return null;
    }
    this.#liveness.settingsSeen = true;
    // Once for each frame: a frame can name the size 2,730 times, and there can be a thousand streams.
    const change = this.initialWindow - before;
    if (change !== 0 && !budgets.windowChanges.spend()) return TOO_MANY_WINDOW_CHANGES;
    if (change !== 0 && !this.#moveWindows(change)) return WINDOW_TOO_WIDE;
    writeSettingsAck(sender.out);
    if (change !== 0) sender.resumeAll();
    return null;
  }

  #take(name: number, value: number): void {
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
}
