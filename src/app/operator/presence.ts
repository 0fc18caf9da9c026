import { type Clock, MINUTE_MS, SECOND_MS, type Timer } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Logger } from '../../base/logger.ts';
import { timeOf } from '../../steering/record-clock.ts';
import { isForbidden } from '../../steering/record-reports.ts';
import type { SendToRedis } from '../../steering/steering-store.ts';
import type { ProcessView } from '../../transports/debug/operator/status-routes.ts';
import { readRecord, recordText } from './process-record.ts';

/** Interval between two records of a process. */
const EVERY_MS = 3 * SECOND_MS;

/** Interval if Redis refuses the user. An operator may correct the access list meanwhile. */
const FORBIDDEN_EVERY_MS = MINUTE_MS;

/** A process without a record for this time has ended, or cannot reach Redis. */
const EXPIRED_MS = 4 * EVERY_MS;

/** After Redis has lost records, it takes this long until all processes have written theirs again. */
const RESTORED_MS = 2 * EVERY_MS;

/** All records are deleted this long after the last process. */
const KEPT_MS = MINUTE_MS;

/** Records that were read less than this ago are not read again for a question. */
const FRESH_MS = SECOND_MS / 2;

/** Maximum number of records. Further processes have none. */
const MAX_PROCESSES = 1_000;

/** The other processes, as far as they are known. */
interface OtherProcesses {
  /** The oldest first. */
  readonly others: readonly ProcessView[];
  /** False if there may be more: the records cannot be read, Redis has lost some, or there are too many processes. */
  readonly isComplete: boolean;
}

/**
 * Tells the processes that share a Redis of each other, with a record of each in a hash. Times are those of Redis, so the
 * clocks of the processes may differ. A process that stops removes its record; that of a process that was killed expires.
 * Without Redis, no other process is known.
 *
 * Each process writes its record at an interval. Records are read when somebody asks. Beside that, the processes take turns:
 * together they read about once in the interval, to delete expired records.
 */
export class Presence implements Service {
  readonly name = 'presence of the process';
  readonly #send: SendToRedis;
  readonly #key: string;
  readonly #self: () => ProcessView;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #id: string;
  #others: readonly ProcessView[] = [];
  /** Number of records at the last read. */
  #count = 0;
  #readMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | null = null;
  /** Whether one of the records is that of this process. */
  #hasPlace = false;
  /** When it was not although it should have been, so that those of others may be missing too. */
  #lostMs = Number.NEGATIVE_INFINITY;
  #writesSinceRead = 0;
  #isReported = false;
  #timer: Timer | null = null;
  #exchanging: Promise<void> = Promise.resolve();
  #stopped = true;

  /** @param key the hash with the records by the id of the process */
  constructor(send: SendToRedis, key: string, self: () => ProcessView, clock: Clock, logger: Logger) {
    this.#send = send;
    this.#key = key;
    this.#self = self;
    this.#clock = clock;
    this.#logger = logger;
    this.#id = self().id;
  }

  /** Reads the other processes. While Redis is unavailable, those that were read last are known for a while. */
  async look(): Promise<OtherProcesses> {
    if (this.#ageMs >= FRESH_MS) {
      // The steering records report a Redis that is unavailable.
      await this.#readTogether().catch(() => {});
    }
    const ageMs = this.#ageMs;
    const isRestored = this.#sinceMs(this.#lostMs) >= RESTORED_MS;
    return {
      others: ageMs < EXPIRED_MS ? this.#others : [],
      isComplete: ageMs < FRESH_MS && isRestored && this.#count < MAX_PROCESSES,
    };
  }

  async start(): Promise<void> {
    this.#stopped = false;
    this.#repeat();
  }

  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#exchanging;
    await this.#send('HDEL', [this.#key, this.#id]).catch(() => {});
  }

  /** Time since the last read. */
  get #ageMs(): number {
    return this.#sinceMs(this.#readMs);
  }

  /** The clock may have been set back. */
  #sinceMs(ms: number): number {
    return Math.abs(this.#clock.nowMs() - ms);
  }

  #repeat(): void {
    this.#exchanging = this.#exchange().then(
      () => this.#repeatAfter(EVERY_MS),
      failure => this.#repeatAfter(this.#failed(asError(failure).message)),
    );
  }

  #repeatAfter(ms: number): void {
    if (!this.#stopped) this.#timer = this.#clock.after(ms, () => this.#repeat());
  }

  /** Returns when to try again. */
  #failed(error: string): number {
    if (!isForbidden(error)) return EVERY_MS;
    if (!this.#isReported) this.#logger.warning(FORBIDDEN, { key: this.#key, error });
    this.#isReported = true;
    return FORBIDDEN_EVERY_MS;
  }

  async #exchange(): Promise<void> {
    await this.#write();
    if (++this.#writesSinceRead >= this.#count) await this.#readTogether();
  }

  /** Reads once for all who ask meanwhile. */
  #readTogether(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #write(): Promise<void> {
    const send = this.#send;
    const key = this.#key;
    const nowMs = timeOf(await send('TIME', []));
    // Processes that start at the same moment may exceed the limit.
    if (!this.#hasPlace && Number(await send('HLEN', [key])) >= MAX_PROCESSES) return;
    const added = Number(await send('HSET', [key, this.#id, recordText(this.#self(), nowMs)]));
    if (added > 0 && this.#hasPlace) this.#lostMs = this.#clock.nowMs();
    this.#hasPlace = true;
    await send('PEXPIRE', [key, String(KEPT_MS)]);
  }

  async #read(): Promise<void> {
    const send = this.#send;
    const key = this.#key;
    const redisMs = timeOf(await send('TIME', []));
    const count = Number(await send('HLEN', [key]));
    const reply = count < 2 * MAX_PROCESSES ? await send('HGETALL', [key]) : [];
    const aheadMs = redisMs - this.#clock.nowMs();
    const expired: string[] = [];
    const others: ProcessView[] = [];
    const records = recordsIn(reply);
    if (this.#hasPlace && !records.has(this.#id)) this.#lostMs = this.#clock.nowMs();
    for (const [id, record] of records) {
      const seenMs = record === null ? 0 : Date.parse(record.seen);
      if (record === null || Math.abs(redisMs - seenMs) > EXPIRED_MS) expired.push(id);
      else if (id !== this.#id) others.push({ ...record, seen: timeText(seenMs - aheadMs) });
    }
    this.#others = others.sort((a, b) => (a.started < b.started ? -1 : 1));
    this.#count = count;
    this.#readMs = this.#clock.nowMs();
    this.#writesSinceRead = 0;
    if (expired.length > 0) await send('HDEL', [key, ...expired]);
  }
}

const FORBIDDEN =
  'Redis does not let this user write the record of this process; other processes do not know of it, so the rollout of ' +
  'rules cannot be followed. Allow TIME, HLEN, HSET, HGETALL, HDEL and PEXPIRE for this user and key';

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

/** The records of a reply to `HGETALL`; null for texts that are none. */
function recordsIn(reply: unknown): Map<string, ProcessView | null> {
  const fields = Array.isArray(reply) ? reply.map(String) : [];
  const records = new Map<string, ProcessView | null>();
  for (let i = 0; i + 1 < fields.length; i += 2) records.set(fields[i], readRecord(fields[i], fields[i + 1]));
  return records;
}
