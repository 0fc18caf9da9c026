import { type Clock, MINUTE_MS, SECOND_MS, type Timer } from '../../base/clock.ts';
import type { Service } from '../../base/lifecycle.ts';
import { timeOf } from '../../steering/record-clock.ts';
import type { SendToRedis } from '../../steering/steering-store.ts';
import type { ProcessView } from '../../transports/debug/operator/status-routes.ts';

/** Interval between two records of a process. */
const EVERY_MS = 3 * SECOND_MS;

/** A process without a record for this time has ended, or cannot reach Redis. */
const EXPIRED_MS = 4 * EVERY_MS;

/** All records are deleted this long after the last process. */
const KEPT_MS = MINUTE_MS;

/** Maximum number of records. Further processes have none. */
const MAX_PROCESSES = 64;
const MAX_RECORD_BYTES = 1_024;

/**
 * Tells the processes that share a Redis of each other, with a record of each in a hash. Times are those of Redis, so the
 * clocks of the processes may differ. A process that stops removes its record; that of a process that was killed expires.
 * Without Redis, no other process is known.
 */
export class Presence implements Service {
  readonly name = 'presence of the process';
  readonly #send: SendToRedis;
  readonly #key: string;
  readonly #self: () => ProcessView;
  readonly #clock: Clock;
  readonly #id: string;
  #others: readonly ProcessView[] = [];
  #readMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | null = null;
  #exchanging: Promise<void> = Promise.resolve();
  #stopped = true;

  /** @param key the hash with the records by the id of the process */
  constructor(send: SendToRedis, key: string, self: () => ProcessView, clock: Clock) {
    this.#send = send;
    this.#key = key;
    this.#self = self;
    this.#clock = clock;
    this.#id = self().id;
  }

  /** The other processes, the oldest first. */
  get others(): readonly ProcessView[] {
    return Math.abs(this.#clock.nowMs() - this.#readMs) < EXPIRED_MS ? this.#others : [];
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

  #repeat(): void {
    // The steering records report a Redis that is unavailable.
    this.#exchanging = this.#exchange()
      .catch(() => {})
      .then(() => {
        if (!this.#stopped) this.#timer = this.#clock.after(EVERY_MS, () => this.#repeat());
      });
  }

  async #exchange(): Promise<void> {
    const send = this.#send;
    const key = this.#key;
    const redisMs = timeOf(await send('TIME', []));
    const count = Number(await send('HLEN', [key]));
    if (count < MAX_PROCESSES || Number(await send('HEXISTS', [key, this.#id])) === 1) {
      await send('HSET', [key, this.#id, JSON.stringify({ ...this.#self(), seen: timeText(redisMs) })]);
      await send('PEXPIRE', [key, String(KEPT_MS)]);
    }
    // Processes that start at the same moment may exceed the limit, but not by as much as this.
    const reply = count < 2 * MAX_PROCESSES ? await send('HGETALL', [key]) : [];
    const records = recordsIn(reply);
    const aheadMs = redisMs - this.#clock.nowMs();
    const expired: string[] = [];
    const others: ProcessView[] = [];
    for (const [id, record] of records) {
      const seenMs = record === null ? 0 : Date.parse(record.seen);
      if (record === null || Math.abs(redisMs - seenMs) > EXPIRED_MS) expired.push(id);
      else if (id !== this.#id) others.push({ ...record, seen: timeText(seenMs - aheadMs), is_this: false });
    }
    this.#others = others.sort((a, b) => (a.started < b.started ? -1 : 1));
    this.#readMs = this.#clock.nowMs();
    if (expired.length > 0) await send('HDEL', [key, ...expired]);
  }
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

/** The records of a reply to `HGETALL`; null for texts that are none. */
function recordsIn(reply: unknown): Map<string, ProcessView | null> {
  const fields = Array.isArray(reply) ? reply.map(String) : [];
  const records = new Map<string, ProcessView | null>();
  for (let i = 0; i + 1 < fields.length; i += 2)
    records.set(fields[i], readProcess(fields[i], fields[i + 1]));
  return records;
}

function readProcess(id: string, text: string): ProcessView | null {
  if (text.length > MAX_RECORD_BYTES) return null;
  try {
    const { host, pid, started, seen, version, rules_loaded, ...rates } = JSON.parse(text);
    const isText = [host, started, seen, version].every(each => typeof each === 'string');
    if (!isText || !Number.isInteger(pid) || Number.isNaN(Date.parse(seen))) return null;
    return {
      id,
      host,
      pid,
      started,
      seen,
      version,
      hits_per_second: numberOrNull(rates.hits_per_second),
      rejected_per_second: numberOrNull(rates.rejected_per_second),
      rules_loaded: typeof rules_loaded === 'string' ? rules_loaded : null,
      is_this: false,
    };
  } catch {
    return null;
  }
}

function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
