import { randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { asError, Fault } from '../base/fault.ts';
import type { JsonObject } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import type { RedisEndpoint } from '../clients/redis/address.ts';
import { RedisReplyError } from '../clients/redis/errors.ts';
import { RedisConnection } from '../counters/redis/connections/connection.ts';
import { Waits } from '../counters/redis/connections/waits.ts';
import { readRecord } from './check-record.ts';
import { MAX_RECORD_BYTES, MAX_RECORDS, recordJson, type SteeringRecord } from './record.ts';
import type { RecordsListener, SendToRedis, SteeringStore } from './steering-store.ts';

/** The server that has the records. */
export interface RecordServer {
  /** The server as log lines name it, without credentials. */
  readonly address: string;
  /** Finds the current endpoint. */
  find(): Promise<RedisEndpoint>;
  /** An endpoint refused a command. Returns true if it has named another endpoint, which `find` returns from now on. */
  redirected(error: string): boolean;
  /** The connection to an endpoint failed or was closed. */
  failed(): void;
  /** Whether a replica is rejected, because the source of the address may be wrong. */
  readonly mustBeMaster: boolean;
  stop(): Promise<void>;
}

interface RedisRecordsParts {
  readonly server: RecordServer;
  /** The hash that has the records by id, and a text that differs after each change as {@link VERSION}. */
  readonly key: string;
  /** Timeout of connecting and of each command; 0 for none. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

const VERSION = 'version';
/** How often the version is read. Changes of other processes are active after this time at the latest. */
const EVERY_MS = 250;
const MAX_TIMEOUT_MS = 750;
const RETRY_MS = 250;
/** Two nodes of a cluster that redirect to each other must not keep the process busy. */
const REDIRECT_MS = 10;
/** Retry interval if Redis refuses the user. An operator may correct the access list meanwhile. */
const FORBIDDEN_RETRY_MS = 10_000;
/** The server is looked for again after this number of reads. */
const FIND_AFTER = 4;
/** The log warns after this number of successive failures. */
const TOLD_AFTER = 8;
/** How long the start waits for the records. */
const START_MS = 2_000;

/**
 * The records of all processes that share a Redis, on a connection of its own. Every process reads the version at an
 * interval, and all records when the version has changed. This needs no notifications, which Redis may lose. While Redis is
 * unavailable, the records that were read last stay active.
 */
export class RedisRecords implements SteeringStore {
  readonly #parts: RedisRecordsParts;
  readonly #timeoutMs: number;
  readonly #waits: Waits;
  #listener: RecordsListener = () => {};
  #connection: RedisConnection | null = null;
  /** Null until the records were read from the current server. */
  #version: string | null = null;
  /** The last exchange on the connection: the commands of a transaction must follow each other. */
  #busy: Promise<unknown> = Promise.resolve();
  #failures = 0;
  #isReported = false;
  #running: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: RedisRecordsParts) {
    const { timeoutMs, clock } = parts;
    this.#parts = parts;
    this.#timeoutMs = timeoutMs > 0 ? Math.min(timeoutMs, MAX_TIMEOUT_MS) : MAX_TIMEOUT_MS;
    this.#waits = new Waits(clock);
  }

  async start(listener: RecordsListener): Promise<void> {
    const first = Promise.withResolvers<void>();
    this.#listener = records => {
      listener(records);
      first.resolve();
    };
    this.#running = this.#run(first.resolve);
    const timer = this.#parts.clock.after(START_MS, first.resolve);
    await first.promise;
    timer.cancel();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waits.cancelAll();
    this.#connection?.close();
    await this.#parts.server.stop();
    await this.#running;
  }

  put(record: SteeringRecord, ended: readonly string[]): Promise<void> {
    const text = JSON.stringify(recordJson(record));
    const { key } = this.#parts;
    return this.#change([
      ...(ended.length === 0 ? [] : [['HDEL', key, ...ended]]),
      ['HSET', key, record.id, text, VERSION, newVersion()],
    ]);
  }

  remove(id: string): Promise<void> {
    const { key } = this.#parts;
    return this.#change([
      ['HDEL', key, id],
      ['HSET', key, VERSION, newVersion()],
    ]);
  }

  readonly send: SendToRedis = async (command, args) => {
    const connection = this.#connection;
    if (connection === null || this.#version === null) throw new Error('Redis is unavailable');
    return await this.#inTurn(() => connection.send(command, args));
  };

  /** @throws Fault store_failed, if it is not known whether the change was made */
  async #change(commands: readonly (readonly string[])[]): Promise<void> {
    const connection = this.#connection;
    if (connection === null || this.#version === null) {
      throw new Fault(
        'store_failed',
        'Redis is unavailable, so steering records cannot be changed; retry later',
      );
    }
    try {
      await this.#inTurn(async () => {
        await connection.send('MULTI', []);
        for (const [command, ...args] of commands) await connection.send(command, args);
        await connection.send('EXEC', []);
        await this.#read(connection);
      });
    } catch (cause) {
      // The transaction may be incomplete.
      connection.close();
      const text = `Redis may not have changed the steering record (${asError(cause).message}); retry`;
      throw new Fault('store_failed', text, { cause });
    }
  }

  async #inTurn<T>(exchange: () => Promise<T>): Promise<T> {
    const turn = this.#busy.then(exchange);
    this.#busy = turn.catch(() => {});
    return await turn;
  }

  /** @param failed called after each attempt that failed */
  async #run(failed: () => void): Promise<void> {
    const { server } = this.#parts;
    while (!this.#stopped) {
      try {
        await this.#follow();
      } catch (failure) {
        if (this.#stopped) return;
        const { message } = asError(failure);
        if (failure instanceof RedisReplyError && server.redirected(message)) {
          await this.#waits.wait(REDIRECT_MS);
          continue;
        }
        server.failed();
        this.#noteFailure(message);
        failed();
        await this.#waits.wait(isForbidden(message) ? FORBIDDEN_RETRY_MS : RETRY_MS);
      }
    }
  }

  /** Connects and reads. Throws when the connection is lost, or when the records are at another server. */
  async #follow(): Promise<void> {
    const { server } = this.#parts;
    const endpoint = await server.find();
    if (this.#stopped) return;
    const connection = new RedisConnection({ endpoint, timeoutMs: this.#timeoutMs });
    this.#connection = connection;
    void connection.closed.then(() => this.#waits.cancelAll());
    try {
      await connection.open({ tryScripts: false, mustBeMaster: server.mustBeMaster });
      for (let reads = 1; !this.#stopped; reads++) {
        await this.#inTurn(() => this.#look(connection));
        this.#noteSuccess();
        await this.#waits.wait(EVERY_MS);
        if (reads % FIND_AFTER !== 0 || this.#stopped) continue;
        const { shown } = await server.find();
        if (shown !== endpoint.shown) throw new Error(`${endpoint.shown} is no longer in use`);
      }
    } finally {
      this.#connection = null;
      this.#version = null;
      connection.close();
      await connection.closed;
    }
  }

  async #look(connection: RedisConnection): Promise<void> {
    const version = await connection.send('HGET', [this.#parts.key, VERSION]);
    if (String(version ?? '') !== this.#version) await this.#read(connection);
  }

  async #read(connection: RedisConnection): Promise<void> {
    const reply = await connection.send('HGETALL', [this.#parts.key]);
    if (!Array.isArray(reply)) throw new Error('unexpected reply to HGETALL');
    const texts = new Map<string, string>();
    for (let i = 0; i + 1 < reply.length; i += 2) texts.set(String(reply[i]), String(reply[i + 1]));
    this.#version = texts.get(VERSION) ?? '';
    texts.delete(VERSION);
    const records = [...texts.values()].flatMap(text => readText(text) ?? []);
    // Processes that add records at the same moment may exceed the limit. All processes use the same ones.
    records.sort((a, b) => a.createdS - b.createdS || (a.id < b.id ? -1 : 1));
    this.#listener(records.slice(0, MAX_RECORDS));
  }

  #noteFailure(error: string): void {
    if (++this.#failures < TOLD_AFTER || this.#isReported) return;
    this.#isReported = true;
    const { server, logger } = this.#parts;
    logger.warning(UNAVAILABLE, { address: server.address, error });
  }

  #noteSuccess(): void {
    this.#failures = 0;
    if (!this.#isReported) return;
    this.#isReported = false;
    const { server, logger } = this.#parts;
    logger.info('Steering records are read from Redis again', { address: server.address });
  }
}

const UNAVAILABLE =
  'Cannot read steering records from Redis; the overrides, bans and passes that were read last stay active, and ' +
  'cannot be changed. Sluice keeps trying';

function isForbidden(error: string): boolean {
  return /^(?:NOPERM|NOAUTH|WRONGPASS)/.test(error);
}

function newVersion(): string {
  return randomBytes(12).toString('base64url');
}

function readText(text: string): SteeringRecord | null {
  if (text.length > MAX_RECORD_BYTES) return null;
  try {
    return readRecord(JSON.parse(text) as JsonObject);
  } catch {
    return null;
  }
}
