import { Session } from 'node:inspector/promises';
import type { Clock } from '../../base/clock.ts';
import type { FinishedProfile, ProfileKind } from './profile-kind.ts';

/** A profile and when it was taken. */
export interface Recording {
  readonly profile: FinishedProfile;
  readonly startedAtMs: number;
  readonly durationMs: number;
}

/** Takes profiles of one kind, one at a time: V8 has one profiler per thread, and two would measure each other. */
export class ProfileRecorder {
  readonly kind: ProfileKind;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  #current: Promise<Recording | null> | null = null;

  constructor(kind: ProfileKind, clock: Clock) {
    this.kind = kind;
    this.#clock = clock;
  }

  get busy(): boolean {
    return this.#current !== null;
  }

  /** Profiles for `seconds`; null when `cancel` or `stop` comes before their end. Ask {@link busy} first. */
  async record(seconds: number, cancel: AbortSignal): Promise<Recording | null> {
    if (this.#current !== null) throw new Error(`a ${this.kind.name} profile is already being taken`);
    this.#current = this.#run(seconds * 1000, AbortSignal.any([cancel, this.#stop.signal]));
    try {
      return await this.#current;
    } finally {
      this.#current = null;
    }
  }

  /** Ends the running profile. Nothing is sampled once this has resolved. */
  async stop(): Promise<void> {
    this.#stop.abort();
    // Whoever asked for the profile hears of its failure.
    await this.#current?.catch(() => {});
  }

  async #run(durationMs: number, cancelled: AbortSignal): Promise<Recording | null> {
    if (cancelled.aborted) return null;
    const session = new Session();
    session.connect();
    try {
      await this.kind.start(session);
      const startedAtMs = this.#clock.nowMs();
      await this.#elapsed(durationMs, cancelled);
      if (cancelled.aborted) return null;
      const profile = await this.kind.finish(session);
      return { profile, startedAtMs, durationMs };
    } finally {
      // Ends the sampling as well, where it was cancelled.
      session.disconnect();
    }
  }

  /** Resolves after `durationMs`, or at once when cancelled. */
  #elapsed(durationMs: number, cancelled: AbortSignal): Promise<void> {
    if (cancelled.aborted) return Promise.resolve();
    return new Promise(resolve => {
      const timer = this.#clock.after(durationMs, resolve);
      const cancel = (): void => {
        timer.cancel();
        resolve();
      };
      cancelled.addEventListener('abort', cancel, { once: true });
    });
  }
}
