import { connectionFault, ERROR, type Http2Fault } from '../faults.ts';
import type { ConnectionLimits } from './limits.ts';

/**
 * Deadlines of the peer: the preface, SETTINGS and their acknowledgment, and keepalive pings. All times are in
 * milliseconds since the connection began.
 */
export class Liveness {
  readonly #limits: ConnectionLimits;
  #heardMs = 0;
  /** Whether a keepalive ping was sent and nothing has arrived since. */
  #asked = false;
  #askedMs = 0;
  settingsSeen = false;
  settingsAcked = false;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Bytes have arrived from the peer. Any bytes prove that it is alive, not only the acknowledgment of a ping. */
  heard(nowMs: number): void {
    this.#heardMs = nowMs;
    this.#asked = false;
  }

  /** The fault if the peer has missed a deadline; otherwise null. */
  late(nowMs: number): Http2Fault | null {
    const { headersMs, settingsMs, keepaliveTimeoutMs } = this.#limits;
    if (!this.settingsSeen && nowMs > headersMs) {
      return connectionFault(
        ERROR.enhanceYourCalm,
        `no connection preface and SETTINGS within ${headersMs} ms`,
      );
    }
    if (!this.settingsAcked && nowMs > settingsMs) {
      return connectionFault(
        ERROR.settingsTimeout,
        `SETTINGS not acknowledged within ${settingsMs} ms (RFC 9113, 6.5.3)`,
      );
    }
    if (this.#asked && nowMs - this.#askedMs > keepaliveTimeoutMs) {
      return connectionFault(
        ERROR.noError,
        `no response to the keepalive ping within ${keepaliveTimeoutMs} ms`,
      );
    }
    return null;
  }

  /** Whether it is time for a keepalive ping. If so, the caller must send it now. */
  shouldAsk(nowMs: number): boolean {
    if (this.#asked || nowMs - this.#heardMs <= this.#limits.keepaliveIdleMs) return false;
    this.#asked = true;
    this.#askedMs = nowMs;
    return true;
  }
}
