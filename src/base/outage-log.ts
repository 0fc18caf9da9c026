import type { Clock, Timer } from './clock.ts';
import type { LogFields, Logger } from './logger.ts';

/** Log texts for outages of one dependency, such as a Redis server or a collector. */
export interface OutageTexts {
  /** Level of both lines, so that a log that contains the first line also contains the second. */
  readonly level: 'error' | 'warning' | 'info';
  readonly began: string;
  /** Used instead of `began` if the dependency has not been reached since the start. */
  readonly beganAtStart?: string;
  readonly over: string;
  /** Advice for the operator, for the first line. */
  readonly advice?: string;
  /** Identify the dependency. The first line also has `reason`, the second `seconds` and `failedCalls`. */
  readonly fields: LogFields;
}

/** Called when a client loses its dependency, and when the dependency is available to that client again. */
export interface OutageListener {
  began(texts: OutageTexts, reason: string, atStart: boolean): void;
  /** The dependency is still unavailable, for another reason. */
  changed(texts: OutageTexts, reason: string): void;
  over(texts: OutageTexts, failedCalls: number): void;
}

/**
 * A success within this time of a failed call does not end an outage, so intermittent failures are one outage. Another
 * reason within this time of the last one is not reported.
 */
const SETTLED_MS = 1_000;

/** A part that is unavailable. */
interface LostPart {
  /** Whether only a call can show that it is available again. */
  readonly needsCall: boolean;
  reason: string;
}

/**
 * Tracks whether a dependency is available to one client. A dependency has parts, such as the nodes of a cluster, and
 * an outage lasts while any part is unavailable. A part becomes unavailable when its connection is lost or a call
 * fails, and available again when there is a connection or a call succeeds.
 */
export class Outage {
  readonly #listener: OutageListener;
  readonly #texts: OutageTexts;
  readonly #clock: Clock;
  readonly #away = new Map<string, LostPart>();
  #failedCalls = 0;
  /** The first reason of the outage. */
  #reason = '';
  #reasonMs = 0;
  #lastFailureMs = 0;

  constructor(texts: OutageTexts, listener: OutageListener, clock: Clock) {
    this.#texts = texts;
    this.#listener = listener;
    this.#clock = clock;
  }

  get active(): boolean {
    return this.#away.size > 0;
  }

  /** Reports that there is no connection to a part. */
  lost(part: string, reason: string, atStart = false): void {
    const known = this.#away.get(part);
    if (known === undefined) this.#begin(part, { needsCall: false, reason }, atStart);
    else this.#change(known, reason);
  }

  /**
   * Reports a failed call to a part. If the connection is already lost, that is the cause of the failure, and the next
   * connection ends the outage.
   */
  failed(part: string, reason: string): void {
    this.#lastFailureMs = this.#clock.nowMs();
    const known = this.#away.get(part);
    if (known === undefined) this.#begin(part, { needsCall: true, reason }, false);
    else if (known.needsCall) this.#change(known, reason);
  }

  /** Counts failed calls, of any part. */
  callsFailed(calls: number): void {
    if (this.active) this.#failedCalls += calls;
  }

  /** Reports that there is a connection to a part. */
  connected(part: string): void {
    if (this.#away.get(part)?.needsCall === false) this.#end(part);
  }

  /** Reports a successful call to a part. */
  succeeded(part: string): void {
    if (this.#away.size === 0) return;
    const known = this.#away.get(part);
    if (known === undefined) return;
    if (known.needsCall && this.#since(this.#lastFailureMs) < SETTLED_MS) return;
    this.#end(part);
  }

  /** Reports that a part is no longer used. */
  left(part: string): void {
    if (this.#away.has(part)) this.#end(part);
  }

  #begin(part: string, lost: LostPart, atStart: boolean): void {
    const isFurther = this.#away.size > 0;
    this.#away.set(part, lost);
    if (isFurther) {
      const { reason } = lost;
      lost.reason = this.#reason;
      this.#change(lost, reason);
      return;
    }
    this.#reason = lost.reason;
    this.#failedCalls = 0;
    this.#reasonMs = this.#clock.nowMs();
    this.#listener.began(this.#texts, lost.reason, atStart);
  }

  #change(part: LostPart, reason: string): void {
    if (part.reason === reason || this.#since(this.#reasonMs) < SETTLED_MS) return;
    part.reason = reason;
    this.#reasonMs = this.#clock.nowMs();
    this.#listener.changed(this.#texts, reason);
  }

  #since(timeMs: number): number {
    return Math.abs(this.#clock.nowMs() - timeMs);
  }

  #end(part: string): void {
    this.#away.delete(part);
    if (this.#away.size === 0) this.#listener.over(this.#texts, this.#failedCalls);
  }
}

/** Recorded outages of one dependency. */
interface OutageRecord {
  readonly texts: OutageTexts;
  /** Number of clients that cannot reach the dependency, by thread. */
  readonly clients: Map<number, number>;
  sinceMs: number;
  /** The text of the first line of the current outage. */
  began: string;
  reason: string;
  /** The reasons of the current outage that were logged, at most {@link MAX_REASONS}. */
  readonly loggedReasons: Set<string>;
  failedCalls: number;
  /** Whether the beginning of the current outage was logged. */
  logged: boolean;
  loggedMs: number;
  /** Number of outages that were not logged because they began too soon after the last one that was. */
  unlogged: number;
  timer: Timer | null;
}

/**
 * Minimum time between the first lines of two outages of the same dependency, and between the reasons of one. Outages in
 * between are only counted.
 */
const APART_MS = 60_000;

/** Maximum number of reasons of an outage that are logged. */
const MAX_REASONS = 10;

/** Maximum number of dependencies whose outages are recorded. */
const MAX_RECORDS = 1_000;

/**
 * Writes outages to the log: one line when an outage begins, and one line of the same level when it is over, with its
 * duration and the number of failed calls, for all clients and threads together. A dependency that fails repeatedly is
 * logged once a minute, with the number of outages that were not logged. If the reason of an outage changes, each further
 * reason is a line, one a minute.
 */
export class OutageLog implements OutageListener {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #records = new Map<string, OutageRecord>();

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** @param thread id of the thread that owns the client; 0 for the primary thread */
  began(texts: OutageTexts, reason: string, atStart: boolean, thread = 0): void {
    const record = this.#record(texts);
    const isFirst = record.clients.size === 0;
    record.clients.set(thread, (record.clients.get(thread) ?? 0) + 1);
    if (!isFirst) return;
    const nowMs = this.#clock.nowMs();
    record.sinceMs = nowMs;
    record.reason = reason;
    record.began = atStart ? (texts.beganAtStart ?? texts.began) : texts.began;
    this.#logLater(record, () => this.#logBeginning(record));
  }

  changed(texts: OutageTexts, reason: string): void {
    const record = this.#record(texts);
    record.reason = reason;
    // The line that is pending says the last reason.
    if (record.clients.size === 0 || record.timer !== null) return;
    this.#logLater(record, () => this.#logReason(record));
  }

  over(texts: OutageTexts, failedCalls: number, thread = 0): void {
    const record = this.#record(texts);
    const clients = (record.clients.get(thread) ?? 0) - 1;
    record.failedCalls += failedCalls;
    if (clients < 0) return;
    if (clients > 0) record.clients.set(thread, clients);
    else this.#leave(record, thread);
  }

  /** Removes the clients of a thread that has ended. */
  threadEnded(thread: number): void {
    for (const record of this.#records.values()) if (record.clients.has(thread)) this.#leave(record, thread);
  }

  /** Cancels pending log lines. */
  stop(): void {
    for (const record of this.#records.values()) record.timer?.cancel();
  }

  #leave(record: OutageRecord, thread: number): void {
    record.clients.delete(thread);
    if (record.clients.size > 0) return;
    record.timer?.cancel();
    record.timer = null;
    if (!record.logged) {
      record.unlogged++;
      return;
    }
    const { level, over, fields } = record.texts;
    const seconds = Math.round((this.#clock.nowMs() - record.sinceMs) / 100) / 10;
    this.#logger[level](over, { ...fields, seconds, failedCalls: record.failedCalls });
    record.logged = false;
    record.failedCalls = 0;
  }

  /** Logs at once, or when the last line is long enough ago. */
  #logLater(record: OutageRecord, log: () => void): void {
    const sinceLoggedMs = Math.abs(this.#clock.nowMs() - record.loggedMs);
    if (sinceLoggedMs >= APART_MS) log();
    else {
      record.timer = this.#clock.after(APART_MS - sinceLoggedMs, () => {
        record.timer = null;
        log();
      });
    }
  }

  #logReason(record: OutageRecord): void {
    const { texts, began, reason, loggedReasons } = record;
    if (loggedReasons.has(reason) || loggedReasons.size >= MAX_REASONS) return;
    loggedReasons.add(reason);
    record.loggedMs = this.#clock.nowMs();
    const { level, advice, fields } = texts;
    this.#logger[level](`${began}. The reason has changed`, { ...fields, reason, advice });
  }

  #logBeginning(record: OutageRecord): void {
    const { level, advice, fields } = record.texts;
    const unloggedOutages = record.unlogged === 0 ? undefined : record.unlogged;
    record.logged = true;
    record.loggedMs = this.#clock.nowMs();
    record.unlogged = 0;
    record.loggedReasons.clear();
    record.loggedReasons.add(record.reason);
    this.#logger[level](record.began, {
      ...fields,
      reason: record.reason,
      advice,
      unloggedOutages,
    });
  }

  #record(texts: OutageTexts): OutageRecord {
    const key = JSON.stringify([texts.began, texts.fields]);
    const known = this.#records.get(key);
    if (known !== undefined) return known;
    if (this.#records.size >= MAX_RECORDS) this.#forgetOne();
    const record: OutageRecord = {
      texts,
      clients: new Map(),
      sinceMs: 0,
      began: texts.began,
      reason: '',
      loggedReasons: new Set(),
      failedCalls: 0,
      logged: false,
      loggedMs: Number.NEGATIVE_INFINITY,
      unlogged: 0,
      timer: null,
    };
    this.#records.set(key, record);
    return record;
  }

  /** Removes the oldest record without an active outage. */
  #forgetOne(): void {
    for (const [key, { clients }] of this.#records) {
      if (clients.size > 0) continue;
      this.#records.delete(key);
      return;
    }
  }
}
