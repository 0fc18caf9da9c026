import type { SluiceClient } from './client.ts';
import { SluiceProblem } from './failures.ts';
import type { Lease } from './schemas.ts';

interface HeartbeatsParts {
  readonly client: SluiceClient;
  readonly lease: Lease;
  /** How long the lease lasts from each heartbeat on, unless the timeout of the task ends it before. */
  readonly leaseMs: number;
  /** A heartbeat failed, and the one before it did not. The next one may succeed. */
  readonly failed: (failure: unknown) => void;
  readonly canceled: () => void;
  /** The lease has ended, or may have ended. No further heartbeats are sent. */
  readonly lost: (why: string) => void;
}

/** Minimum time between two heartbeats that only show progress. */
const PROGRESS_EVERY_MS = 1_000;
/** Delay after a heartbeat that failed, unless `Retry-After` is longer. One more is sent this long before the lease ends. */
const RETRY_MS = 1_000;
/** The service rejects longer notes, and the heartbeat with it. */
const MAX_NOTE = 200;

/** Extends a lease, each time after a third of its duration, until it ends. */
export class Heartbeats {
  readonly #parts: HeartbeatsParts;
  #isActive = false;
  #isSending = false;
  #isFailing = false;
  #sentAtMs = 0;
  /** The service has asked to send no heartbeat before. */
  #notBeforeMs = 0;
  /** When the lease was received, which is after its task was changed for it. */
  #beganAtMs = 0;
  #next: NodeJS.Timeout | undefined;
  #endsAtMs = 0;
  /** The end of the lease, unless it is extended. */
  #leaseEnd: NodeJS.Timeout | undefined;
  #progress: { readonly progress: number; readonly note?: string } | null = null;

  constructor(parts: HeartbeatsParts) {
    this.#parts = parts;
  }

  /** @param atOnce whether to extend the lease now */
  begin(atOnce: boolean): void {
    this.#isActive = true;
    this.#beganAtMs = performance.now();
    this.#extended(this.#beganAtMs, this.#parts.lease.expires_at);
    if (atOnce) this.#beatIn(0);
  }

  end(): void {
    this.#isActive = false;
    clearTimeout(this.#next);
    clearTimeout(this.#leaseEnd);
  }

  progress(percent: number, note?: string): void {
    this.#progress = {
      progress: Math.min(100, Math.max(0, percent)),
      ...(note !== undefined && { note: note.slice(0, MAX_NOTE) }),
    };
    const nextMs = Math.max(this.#sentAtMs + PROGRESS_EVERY_MS, this.#notBeforeMs);
    if (!this.#isSending) this.#beatIn(nextMs - performance.now());
  }

  /**
   * @param fromMs when the service was asked to extend the lease, which is before it did so
   * @param expiresAt when the lease ends, by the clock of the service
   */
  #extended(fromMs: number, expiresAt: string): void {
    const { lease, leaseMs, lost } = this.#parts;
    // No lease lasts longer than the timeout of its task. Both times are of the clock of the service.
    const grantedMs = Date.parse(expiresAt) - Date.parse(lease.task.updated_at);
    const endMs = Math.min(fromMs + leaseMs, this.#beganAtMs + grantedMs);
    this.#endsAtMs = endMs;
    clearTimeout(this.#leaseEnd);
    this.#leaseEnd = setTimeout(() => {
      this.end();
      lost('The lease has ended: no heartbeat extended it, or the task has reached its timeout.');
    }, endMs - performance.now());
    this.#beatIn(this.#progress === null ? leaseMs / 3 : PROGRESS_EVERY_MS);
  }

  #beatIn(ms: number): void {
    clearTimeout(this.#next);
    if (this.#isActive) this.#next = setTimeout(() => this.#beat(), Math.max(0, ms));
  }

  async #beat(): Promise<void> {
    const { client, lease, leaseMs, failed, canceled, lost } = this.#parts;
    const third = Math.ceil(leaseMs / 3);
    const progress = this.#progress;
    const body = { extend: `${leaseMs}ms`, ...progress };
    this.#progress = null;
    this.#sentAtMs = performance.now();
    this.#isSending = true;
    try {
      const { expires_at, cancel_requested } = await client.post('/v1/leases/{lease_id}/heartbeat', {
        params: { lease_id: lease.lease_id },
        body,
        // Repeating a heartbeat does no harm, and the next one follows soon.
        idempotencyKey: null,
        timeoutMs: third,
        retry: { attempts: 1 },
      });
      this.#isFailing = false;
      this.#notBeforeMs = 0;
      if (!this.#isActive) return;
      if (cancel_requested) canceled();
      this.#extended(this.#sentAtMs, expires_at);
    } catch (failure) {
      if (!this.#isActive) return;
      if (failure instanceof SluiceProblem && failure.code === 'lease_lost') {
        this.end();
        return lost(failure.message);
      }
      if (!this.#isFailing) failed(failure);
      this.#isFailing = true;
      this.#progress ??= progress;
      const askedMs = failure instanceof SluiceProblem ? (failure.retryAfterMs ?? 0) : 0;
      const nowMs = performance.now();
      const lastMs = this.#endsAtMs - RETRY_MS - nowMs;
      const waitMs = Math.max(Math.min(third, RETRY_MS), Math.min(askedMs, lastMs));
      this.#notBeforeMs = nowMs + waitMs;
      this.#beatIn(waitMs);
    } finally {
      this.#isSending = false;
    }
  }
}
