import { type Clock, SECOND_MS, type Timer } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';

/**
 * How long the task service waits for a decision. A store that fails is reported earlier (by default after 5 seconds), so
 * this limit is reached only if a decision is lost or the process is overloaded.
 */
const DECISION_MS = 10_000;

/** A question of the task service that waits for decisions. */
interface PendingReply {
  /** There was no decision in time. What has not been decided must not be counted anymore. */
  expired(fault: Fault): void;
}

/**
 * Gives each question of the task service to the decision service {@link DECISION_MS} to be answered. All have the same
 * time, so they expire in the order in which they were added, and one timer is enough for all.
 */
export class ReplyDeadlines {
  readonly #clock: Clock;
  readonly #askedMs = new Map<PendingReply, number>();
  #timer: Timer | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(reply: PendingReply): void {
    this.#askedMs.set(reply, this.#clock.nowMs());
    this.#timer ??= this.#clock.after(DECISION_MS, () => this.#expire());
  }

  answered(reply: PendingReply): void {
    this.#askedMs.delete(reply);
  }

  #expire(): void {
    this.#timer = null;
    const nowMs = this.#clock.nowMs();
    for (const [reply, askedMs] of this.#askedMs) {
      const ageMs = nowMs - askedMs;
      // After the clock was set back, the ages are not known. The questions may be asked again.
      if (ageMs >= 0 && ageMs < DECISION_MS) {
        this.#timer = this.#clock.after(DECISION_MS - ageMs, () => this.#expire());
        return;
      }
      this.#askedMs.delete(reply);
      reply.expired(
        new Fault('store_failed', `the decision service did not answer within ${DECISION_MS / SECOND_MS} s`),
      );
    }
  }
}
