import { type Clock, SECOND_MS } from '../base/clock.ts';
import { asError, Fault } from '../base/fault.ts';
import type { Logger } from '../base/logger.ts';
import {
  CommandTimeout,
  mayEndWithNewConnection,
  noAnswerWithin,
  RedisReplyError,
} from '../clients/redis/errors.ts';
import { RedisConnection } from '../counters/redis/connections/connection.ts';
import type { KeyServer } from '../counters/redis/connections/counting-server.ts';
import { Waits } from '../counters/redis/connections/waits.ts';
import type { SteeringRecord } from './record.ts';
import { RecordClock } from './record-clock.ts';
import { changesIn, RecordHash, versionAfter } from './record-hash.ts';
import { isForbidden, RecordReports } from './record-reports.ts';
import { changedRecords, type PlanChange, type RecordsChange } from './records-change.ts';
import type { RecordsListener, SendToRedis, SteeringStore } from './steering-store.ts';

/** How often the version is read. */
const EVERY_MS = 250;
/**
 * Timeout of each command. Together with the interval, it leaves time to connect within a second after a connection was lost
 * unnoticed. It does not depend on the timeout for decisions, which may be too short for reading all records.
 */
const REPLY_MS = 600;
/** Timeout of connecting and logging in. */
const CONNECT_MS = 1_000;
/** The connection itself gives up only after the timeouts above, which take into account that this thread may be busy. */
const CONNECTION_MS = 5_000;
/** Only the first attempt after a failure follows at once. */
const RETRY_MS = 250;
/** Retry interval if Redis refuses the user. An operator may correct the access list meanwhile. */
const FORBIDDEN_RETRY_MS = 10_000;
/** How long the start waits for the records. */
const START_MS = 2_000;
/** A process that only reads closes its connection after this number of reads without records, which takes a minute. */
const QUIET_READS = 240;
/** Maximum number of attempts at a change while other processes make changes. */
const MAX_ATTEMPTS = 100;

/**
 * The records of all processes that share a Redis. Every process reads the version of the hash at an interval, and all records
 * when it has changed. This needs no notifications, which Redis may lose. While Redis is unavailable, the records that were
 * read last stay active.
 *
 * A connection with a short timeout finds changes within a second even if connections are lost unnoticed. A process that only
 * reads needs none while there are no records: it reads the version on a connection that counts, and connects when it has
 * changed or does not arrive.
 */
export class RedisRecords implements SteeringStore {
  readonly send: SendToRedis;
  readonly #server: KeyServer;
  readonly #onlyReads: boolean;
  readonly #clock: Clock;
  readonly #hash: RecordHash;
  readonly #recordClock: RecordClock;
  readonly #reports: RecordReports;
  readonly #waits: Waits;
  #listener: RecordsListener = { records: () => {}, ahead: () => {} };
  /** Called when the records are known, and when they cannot be read. */
  #started: () => void = () => {};
  /** Null until it is open. */
  #connection: RedisConnection | null = null;
  /** The version of the records; null until they were read. */
  #version: string | null = null;
  #records: readonly SteeringRecord[] = [];
  /** The last exchange with Redis: what was read must not be replaced by what was read before. */
  #busy: Promise<unknown> = Promise.resolve();
  #running: Promise<void> = Promise.resolve();
  /** Ends what the loop waits for, except for a delay. */
  #interrupt: () => void = () => {};
  #stopped = false;

  /**
   * @param server the server of the counters that has the hash
   * @param key the hash with the records; see {@link RecordHash}
   * @param onlyReads whether this process applies records but never writes them. Such a process opens a connection of its own
   *   only when the hash has records
   */
  constructor(server: KeyServer, key: string, onlyReads: boolean, clock: Clock, logger: Logger) {
    this.#server = server;
    this.#onlyReads = onlyReads;
    this.#clock = clock;
    this.#hash = new RecordHash(key);
    this.#recordClock = new RecordClock(clock, logger, aheadMs => this.#listener.ahead(aheadMs));
    this.#reports = new RecordReports(logger, { address: server.address, key });
    this.#waits = new Waits(clock);
    this.send = (command, args) => this.#send(command, args);
  }

  async start(listener: RecordsListener): Promise<void> {
    const first = Promise.withResolvers<void>();
    this.#listener = listener;
    this.#started = first.resolve;
    this.#running = this.#run();
    const timer = this.#clock.after(START_MS, first.resolve);
    await first.promise;
    timer.cancel();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waits.cancelAll();
    this.#interrupt();
    await this.#running;
  }

  change(plan: PlanChange): Promise<void> {
    return this.#inTurn(async () => {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        await this.#lookBeforeChange();
        const change = plan(this.#records);
        if (change === null || (await this.#make(change))) return;
      }
      throw unchanged('other processes change steering records all the time');
    });
  }

  async #lookBeforeChange(): Promise<void> {
    const connection = this.#connection;
    if (connection === null) throw unchanged('there is no connection to it');
    try {
      await this.#look(connection);
    } catch (cause) {
      this.#leave(connection);
      throw unchanged(asError(cause).message, cause);
    }
  }

  /** Makes a change of the records that are known. Returns false if others are stored by now. */
  async #make(change: RecordsChange): Promise<boolean> {
    const connection = this.#connection;
    if (connection === null || this.#version === null) throw unchanged('the connection to it was lost');
    const from = this.#version;
    const to = versionAfter(from);
    try {
      const send = this.#sendOn(connection);
      if (!(await this.#hash.change(send, change, { from, to }))) return false;
    } catch (cause) {
      const { message } = asError(cause);
      const isAnswer = cause instanceof RedisReplyError;
      if (!isAnswer || mayEndWithNewConnection(message)) this.#leave(connection);
      throw isAnswer ? unchanged(message, cause) : maybeChanged(message, cause);
    }
    this.#take(to, changedRecords(this.#records, change));
    return true;
  }

  /** The loop then connects again. */
  #leave(connection: RedisConnection): void {
    if (this.#connection === connection) this.#connection = null;
    connection.close();
  }

  /** A process that only reads may have no connection of its own. */
  async #send(command: string, args: readonly string[]): Promise<unknown> {
    if (this.#connection !== null) return await this.#connection.send(command, args);
    const link = this.#onlyReads ? this.#server.link() : null;
    if (link === null) throw new Error('Redis is unavailable');
    return await this.#timed((name, words) => link.sendBeside(name, words))(command, args);
  }

  async #inTurn<T>(exchange: () => Promise<T>): Promise<T> {
    const turn = this.#busy.then(exchange);
    this.#busy = turn.catch(() => {});
    return await turn;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        await this.#watch();
        await this.#follow();
      } catch (failure) {
        if (this.#stopped) return;
        const { message } = asError(failure);
        this.#server.lookAgain();
        this.#reports.failed(message, !this.#mayWatch || this.#server.isUp());
        this.#started();
        if (isForbidden(message)) await this.#waits.wait(FORBIDDEN_RETRY_MS);
        else if (this.#reports.failures > 1) await this.#waits.wait(RETRY_MS);
      }
    }
  }

  /** Reads the version on connections that count. Returns when a connection of its own is needed. */
  async #watch(): Promise<void> {
    while (!this.#stopped && this.#mayWatch) {
      const version = await this.#versionBesideCounts();
      if (version !== (this.#version ?? '')) return;
      if (this.#version === null) this.#take('', []);
      this.#reports.succeeded();
      await this.#waits.wait(EVERY_MS);
    }
  }

  /** Null if there is no reply in time, or an error reply. */
  async #versionBesideCounts(): Promise<string | null> {
    const link = this.#server.link();
    if (link === null) return null;
    try {
      const send = this.#timed((command, args) => link.sendBeside(command, args));
      return await Promise.race([this.#hash.version(send), this.#interruption()]);
    } catch {
      return null;
    }
  }

  /** True while no connection of its own is needed. */
  get #mayWatch(): boolean {
    if (!this.#onlyReads) return false;
    const nowMs = this.#clock.nowMs() + this.#recordClock.aheadMs;
    return this.#records.every(({ untilS }) => untilS * SECOND_MS <= nowMs);
  }

  /**
   * Connects, and reads as long as a connection is needed. Throws when it is lost, or when the counters are at another server.
   */
  async #follow(): Promise<void> {
    if (this.#stopped) return;
    const endpoint = await Promise.race([this.#server.find(), this.#interruption()]);
    if (endpoint === null || this.#stopped) return;
    const connection = new RedisConnection({ endpoint, timeoutMs: CONNECTION_MS });
    void connection.closed.then(() => this.#waits.cancelAll());
    this.#interrupt = () => connection.close();
    try {
      const { mustBeMaster } = this.#server;
      await this.#inTime(connection.open({ tryScripts: false, mustBeMaster }), CONNECT_MS);
      this.#connection = connection;
      for (let quiet = 0; quiet < QUIET_READS && !this.#stopped; quiet = this.#mayWatch ? quiet + 1 : 0) {
        await this.#recordClock.read(this.#sendOn(connection));
        await this.#inTurn(() => this.#look(connection));
        this.#reports.succeeded();
        await this.#waits.wait(EVERY_MS);
        if (this.#server.isUp() && !this.#server.isCurrent(endpoint.shown))
          throw new Error(`${endpoint.shown} is no longer in use`);
      }
    } finally {
      this.#connection = null;
      connection.close();
      await connection.closed;
    }
  }

  /** Resolves when {@link #interrupt} is called. */
  #interruption(): Promise<null> {
    return new Promise(resolve => {
      this.#interrupt = () => resolve(null);
    });
  }

  async #look(connection: RedisConnection): Promise<void> {
    const send = this.#sendOn(connection);
    if ((await this.#hash.version(send)) === this.#version) return;
    const { version, records, ignored } = await this.#hash.read(send);
    this.#reports.read(ignored);
    const changes = changesIn(this.#version ?? '') - changesIn(version);
    if (changes > 0) this.#reports.lost({ changes, records: records.length });
    this.#take(version, records);
  }

  #sendOn(connection: RedisConnection): SendToRedis {
    return this.#timed((command, args) => connection.send(command, args));
  }

  /** Gives commands the timeout {@link REPLY_MS}. */
  #timed(send: SendToRedis): SendToRedis {
    return (command, args) => this.#inTime(send(command, args), REPLY_MS);
  }

  async #inTime<T>(replied: Promise<T>, boundMs: number): Promise<T> {
    const late = Promise.withResolvers<never>();
    const fail = () => late.reject(new CommandTimeout(noAnswerWithin(boundMs)));
    // If this thread was busy, the reply may have arrived meanwhile, and is read before an immediate runs.
    const timer = this.#clock.after(boundMs, () => setImmediate(fail));
    try {
      return await Promise.race([replied, late.promise]);
    } finally {
      timer.cancel();
    }
  }

  #take(version: string, records: readonly SteeringRecord[]): void {
    this.#version = version;
    this.#records = records;
    this.#listener.records(records);
    this.#started();
  }
}

function unchanged(reason: string, cause?: unknown): Fault {
  const text = `Redis is unavailable or refuses the change (${reason}); no steering record was changed: retry`;
  return new Fault('store_failed', text, { cause });
}

function maybeChanged(reason: string, cause: unknown): Fault {
  const text = `Redis may or may not have made the change (${reason}); list the records, or make the change again`;
  return new Fault('store_failed', text, { cause });
}
