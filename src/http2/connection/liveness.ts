import { connectionFault, ERROR, type Http2Fault } from '../faults.ts';
import type { ConnectionLimits } from './limits.ts';

/**
 * Watches that the peer does in time what it has to: the preface, SETTINGS, its acknowledgement, signs of life. Times are
 * in milliseconds since the connection began.
 */
export class Liveness {
  readonly #limits: ConnectionLimits;
  #heardMs = 0;
  /** Whether the peer was asked for a sign of life and has not given it. */
  #asked = false;
  #askedMs = 0;
  settingsSeen = false;
  settingsAcked = false;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Bytes of the peer have come. Any of them are a sign of life, not only the answer to a ping. */
  heard(nowMs: number): void {
    this.#heardMs = nowMs;
    this.#asked = false;
  }

  /** What the peer failed to do in time; null when nothing. */
  late(nowMs: number): Http2Fault | null {
    const { headersMs, settingsMs, keepaliveTimeoutMs } = this.#limits;
    if (!this.settingsSeen && nowMs > headersMs) {
      return connectionFault(ERROR.enhanceYourCalm, `no preface and SETTINGS within ${headersMs} ms`);
    }
    if (!this.settingsAcked && nowMs > settingsMs) {
      return connectionFault(
        ERROR.settingsTimeout,
        `SETTINGS not acknowledged within ${settingsMs} ms (RFC 9113, 6.5.3)`,
      );
    }
    if (this.#asked && nowMs - this.#askedMs > keepaliveTimeoutMs) {
      return connectionFault(ERROR.noError, `no sign of life within ${keepaliveTimeoutMs} ms`);
    }
    return null;
  }

  /** Whether it is time to ask for a sign of life; then the asking is taken as done. */
  shouldAsk(nowMs: number): boolean {
    if (this.#asked || nowMs - this.#heardMs <= this.#limits.keepaliveIdleMs) return false;
    this.#asked = true;
    this.#askedMs = nowMs;
    return true;
  }
}
