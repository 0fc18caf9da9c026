import type { SluiceClient } from './client.ts';
import { SluiceProblem } from './failures.ts';

interface HeartbeatsParts {
  readonly client: SluiceClient;
  readonly leaseId: string;
  /** How long the lease lasts from each heartbeat on. */
  readonly leaseMs: number;
  /** A heartbeat failed, and the one before it did not. The next one may succeed. */
  readonly failed: (failure: unknown) => void;
  readonly canceled: () => void;
  /** The lease has ended, or may have ended. No further heartbeats are sent. */
  readonly lost: (why: string) => void;
}

/** Minimum time between two heartbeats that only show progress. */
const PROGRESS_EVERY_MS = 1_000;
/** Delay after a heartbeat that failed. */
const RETRY_MS = 1_000;

/** Extends a lease, each time after a third of its duration, until it ends. */
export class Heartbeats {
  readonly #parts: HeartbeatsParts;
  #isActive = false;
  #isSending = false;
  #isFailing = false;
  #sentAtMs = 0;
  #next: NodeJS.Timeout | undefined;
  /** The end of the lease, unless it is extended. */
  #leaseEnd: NodeJS.Timeout | undefined;
  #progress: { readonly progress: number; readonly note?: string } | null = null;

  constructor(parts: HeartbeatsParts) {
    this.#parts = parts;
  }

  /** @param atOnce whether to extend the lease now */
  begin(atOnce: boolean): void {
    this.#isActive = true;
    this.#extended(performance.now());
    if (atOnce) this.#beatIn(0);
  }

  end(): void {
    this.#isActive = false;
    clearTimeout(this.#next);
    clearTimeout(this.#leaseEnd);
  }

  progress(percent: number, note?: string): void {
    this.#progress = { progress: percent, ...(note !== undefined && { note }) };
    if (!this.#isSending) this.#beatIn(this.#sentAtMs + PROGRESS_EVERY_MS - performance.now());
  }

  /** @param fromMs when the service was asked to extend the lease, which is before it did so */
  #extended(fromMs: number): void {
    const { leaseMs, lost } = this.#parts;
    clearTimeout(this.#leaseEnd);
    this.#leaseEnd = setTimeout(
      () => {
        this.end();
        lost('No heartbeat succeeded before the lease ended.');
      },
      fromMs + leaseMs - performance.now(),
    );
    this.#beatIn(this.#progress === null ? leaseMs / 3 : PROGRESS_EVERY_MS);
  }

  #beatIn(ms: number): void {
    clearTimeout(this.#next);
    if (this.#isActive) this.#next = setTimeout(() => this.#beat(), Math.max(0, ms));
  }

  async #beat(): Promise<void> {
    const { client, leaseId, leaseMs, failed, canceled, lost } = this.#parts;
    const third = Math.ceil(leaseMs / 3);
    const body = { extend: `${leaseMs}ms`, ...this.#progress };
    this.#progress = null;
    this.#sentAtMs = performance.now();
    this.#isSending = true;
    try {
      const { cancel_requested } = await client.post('/v1/leases/{lease_id}/heartbeat', {
        params: { lease_id: leaseId },
        body,
        // Repeating a heartbeat does no harm, and the next one follows soon.
        idempotencyKey: null,
        timeoutMs: third,
        retry: { attempts: 1 },
      });
      this.#isFailing = false;
      if (!this.#isActive) return;
      if (cancel_requested) canceled();
      this.#extended(this.#sentAtMs);
    } catch (failure) {
      if (!this.#isActive) return;
      if (failure instanceof SluiceProblem && failure.code === 'lease_lost') {
        this.end();
        return lost(failure.message);
      }
      if (!this.#isFailing) failed(failure);
      this.#isFailing = true;
      this.#beatIn(Math.min(third, RETRY_MS));
    } finally {
      this.#isSending = false;
    }
  }
}
