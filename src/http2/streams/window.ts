import { LARGEST_WINDOW } from '../frame/control.ts';

/** The window that both sides of a connection and of a stream start with (RFC 9113, 6.9.2). */
export const DEFAULT_WINDOW = 65_535;

/**
 * A flow-control window (RFC 9113, 6.9). It goes below zero when the peer shrinks the initial size after data was sent:
 * of 100 octets 80 are used, the initial size becomes 60, and -20 are left.
 */
export class Window {
  available: number;

  constructor(size: number) {
    this.available = size;
  }

  /** Takes what was sent or received. */
  consume(bytes: number): void {
    this.available -= bytes;
  }

  /** Widens the window; false, and no change, when it would go beyond 2^31 - 1 (RFC 9113, 6.9.1). */
  widen(bytes: number): boolean {
    if (this.available + bytes > LARGEST_WINDOW) return false;
    this.available += bytes;
    return true;
  }
}
