import type { Clock, Timer } from './clock.ts';
import type { LogFields, Logger } from './logger.ts';

/** How the log tells the outages of one thing: a Redis server, a collector. */
export interface OutageTexts {
  /** Of both lines, so that a log with the first also has the second. */
  readonly level: 'error' | 'warning' | 'info';
  readonly began: string;
  /** In place of `began` when nothing has been reached since the start. */
  readonly beganAtStart?: string;
  readonly over: string;
  /** What to do about it, for the first line. */
  readonly advice?: string;
  /** Which one it is. Beside these the lines have `reason`, and `seconds` and `failedCalls`. */
  readonly fields: LogFields;
}

/** Is told when a client of something loses it, and when that client has it back. */
export interface OutageListener {
  began(texts: OutageTexts, reason: string, atStart: boolean): void;
  over(texts: OutageTexts, failedCalls: number): void;
}

/** A success this soon after a failed call does not end an outage: calls that fail now and then are one outage. */
const SETTLED_MS = 1_000;

/**
 * Whether something can be used, as one client sees it. It has parts, such as the nodes of a cluster, and an outage lasts
 * while one of them is unavailable: from the first connection lost or call failed until there is a connection, or a call
 * succeeds, again.
 */
export class Outage {
  readonly #listener: OutageListener;
  readonly #texts: OutageTexts;
  readonly #clock: Clock;
  /** The parts that are unavailable, and whether only a call can show that one is available again. */
  readonly #away = new Map<string, boolean>();
  #failedCalls = 0;
  #lastFailureMs = 0;

  constructor(texts: OutageTexts, listener: OutageListener, clock: Clock) {
    this.#texts = texts;
    this.#listener = listener;
    this.#clock = clock;
  }

  get active(): boolean {
    return this.#away.size > 0;
  }

  /** There is no connection to a part. */
  lost(part: string, reason: string, atStart = false): void {
    if (!this.#away.has(part)) this.#begin(part, reason, { needsCall: false, atStart });
  }

  /** A call to a part failed. Where it has no connection, that is the reason, and a connection will be its end. */
  failed(part: string, reason: string): void {
    this.#lastFailureMs = this.#clock.nowMs();
    if (!this.#away.has(part)) this.#begin(part, reason, { needsCall: true, atStart: false });
  }

  /** Calls were not served, by whichever part. */
  callsFailed(calls: number): void {
    if (this.active) this.#failedCalls += calls;
  }

  /** There is a connection to a part. */
  connected(part: string): void {
    if (this.#away.get(part) === false) this.#end(part);
  }

  /** A call to a part succeeded. */
  succeeded(part: string): void {
    if (this.#away.size === 0 || !this.#away.has(part)) return;
    if (this.#away.get(part) && Math.abs(this.#clock.nowMs() - this.#lastFailureMs) < SETTLED_MS) return;
    this.#end(part);
  }

  /** A part is no longer used, or nobody waits for it any more. */
  left(part: string): void {
    if (this.#away.has(part)) this.#end(part);
  }

  #begin(
    part: string,
    reason: string,
    how: { readonly needsCall: boolean; readonly atStart: boolean },
  ): void {
    this.#away.set(part, how.needsCall);
    if (this.#away.size > 1) return;
    this.#failedCalls = 0;
    this.#listener.began(this.#texts, reason, how.atStart);
  }

  #end(part: string): void {
    this.#away.delete(part);
    if (this.#away.size === 0) this.#listener.over(this.#texts, this.#failedCalls);
  }
}

/** What was noticed of the outages of one thing. */
interface Noticed {
  readonly texts: OutageTexts;
  /** The clients that it is unavailable for: by thread, how many. */
  readonly clients: Map<number, number>;
  sinceMs: number;
  reason: string;
  failedCalls: number;
  /** Whether the log has the line of its beginning. */
  told: boolean;
  toldMs: number;
  /** Outages that were too soon after the last that was told. */
  untold: number;
  timer: Timer | null;
}

/** Between the first lines of two outages of the same thing. Those in between are only counted. */
const APART_MS = 60_000;

/** Things that outages are remembered of. */
const MAX_RECORDS = 1_000;

/**
 * Writes outages to the log: a line when one begins and a line at the same level when it is over, with how long it lasted
 * and how many calls failed, however many clients, threads and calls it concerns. Something that comes and goes is told
 * once a minute, with the number of outages that were not told.
 */
export class OutageLog implements OutageListener {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #records = new Map<string, Noticed>();

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** @param thread the one whose client it is; 0 for the first */
  began(texts: OutageTexts, reason: string, atStart: boolean, thread = 0): void {
    const record = this.#record(texts);
    const isFirst = record.clients.size === 0;
    record.clients.set(thread, (record.clients.get(thread) ?? 0) + 1);
    if (!isFirst) return;
    const nowMs = this.#clock.nowMs();
    record.sinceMs = nowMs;
    record.reason = reason;
    const sinceToldMs = Math.abs(nowMs - record.toldMs);
    if (sinceToldMs >= APART_MS) this.#tell(record, atStart);
    else record.timer = this.#clock.after(APART_MS - sinceToldMs, () => this.#tell(record, atStart));
  }

  over(texts: OutageTexts, failedCalls: number, thread = 0): void {
    const record = this.#record(texts);
    const clients = (record.clients.get(thread) ?? 0) - 1;
    record.failedCalls += failedCalls;
    if (clients < 0) return;
    if (clients > 0) record.clients.set(thread, clients);
    else this.#leave(record, thread);
  }

  /** A thread is gone, and its clients with it. */
  threadEnded(thread: number): void {
    for (const record of this.#records.values()) if (record.clients.has(thread)) this.#leave(record, thread);
  }

  /** Forgets what it has not told yet. */
  stop(): void {
    for (const record of this.#records.values()) record.timer?.cancel();
  }

  #leave(record: Noticed, thread: number): void {
    record.clients.delete(thread);
    if (record.clients.size > 0) return;
    record.timer?.cancel();
    record.timer = null;
    if (!record.told) {
      record.untold++;
      return;
    }
    const { level, over, fields } = record.texts;
    const seconds = Math.round((this.#clock.nowMs() - record.sinceMs) / 100) / 10;
    this.#logger[level](over, { ...fields, seconds, failedCalls: record.failedCalls });
    record.told = false;
    record.failedCalls = 0;
  }

  #tell(record: Noticed, atStart: boolean): void {
    const { level, began, beganAtStart = began, advice, fields } = record.texts;
    const unloggedOutages = record.untold === 0 ? undefined : record.untold;
    record.told = true;
    record.toldMs = this.#clock.nowMs();
    record.untold = 0;
    record.timer = null;
    this.#logger[level](atStart ? beganAtStart : began, {
      ...fields,
      reason: record.reason,
      advice,
      unloggedOutages,
    });
  }

  #record(texts: OutageTexts): Noticed {
    const key = JSON.stringify([texts.began, texts.fields]);
    const known = this.#records.get(key);
    if (known !== undefined) return known;
    if (this.#records.size >= MAX_RECORDS) this.#forgetOne();
    const record: Noticed = {
      texts,
      clients: new Map(),
      sinceMs: 0,
      reason: '',
      failedCalls: 0,
      told: false,
      toldMs: Number.NEGATIVE_INFINITY,
      untold: 0,
      timer: null,
    };
    this.#records.set(key, record);
    return record;
  }

  /** The one that was noticed first of those that are over. */
  #forgetOne(): void {
    for (const [key, { clients }] of this.#records) {
      if (clients.size > 0) continue;
      this.#records.delete(key);
      return;
    }
  }
}
