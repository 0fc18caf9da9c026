import { connect } from 'node:net';
import { PREFACE } from '../../../src/http2/connection/partial-input.ts';
import { SeededRandom } from '../../../test/support/seeded-random.ts';
import { beginCall, pickKind } from './begin-call.ts';
import type { CallKind, Ending } from './call-kinds.ts';
import { ClientConnection, type Leaving } from './client-connection.ts';
import type { Tally } from './tally.ts';

/** Calls that are open on a connection at a time. */
const CALLS_OPEN = 64;
/** How long a connection lives before it is left. */
const LIFE_MS = { least: 200, spread: 4_000 };
const PAUSE_BEFORE_CONNECTING_MS = 50;
/** A peer that stops reading does so for at most this long. */
const DEAF_MS = 300;
/** By then the server must have answered what it has to answer. */
const PATIENCE_MS = 10_000;

/** Chances of what happens on a connection in one tick. */
const CHANCE = { ping: 0.1, deaf: 0.01 };
/** Chances of what a connection is like. */
const SHARE = { narrow: 0.2, tornPreface: 0.05 };

/** New calls are made; or those that are open are waited for; or the server was told and is to close behind them. */
type Stage = 'calling' | 'answering' | 'announced';

const LEAVINGS: readonly (Leaving | 'all answered')[] = [
  'ended',
  'reset',
  'in a frame',
  'announced',
  'all answered',
];

export interface SoakClientOptions {
  readonly port: number;
  readonly seed: number;
  readonly tally: Tally;
}

/**
 * One caller, with one connection after the other: keeps it full of calls of all kinds, and leaves it at random.
 * Its owner calls `tick` every few milliseconds.
 */
export class SoakClient {
  readonly #options: SoakClientOptions;
  readonly #random: SeededRandom;
  #connection: ClientConnection | null = null;
  #kinds = new Map<number, CallKind>();
  /** What is to be done at the next tick to calls that were only begun. */
  #next: (() => void)[] = [];
  #sockets = 0;
  #stage: Stage = 'calling';
  #connectAtMs = 0;
  #leaveAtMs = 0;
  /** When the calls that are left must have been answered; infinite while new ones are made. */
  #overdueAtMs = Number.POSITIVE_INFINITY;
  #hearsAgainAtMs = 0;

  constructor(options: SoakClientOptions) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
  }

  /** Whether a socket of this client is still open. */
  get isConnected(): boolean {
    return this.#sockets > 0;
  }

  tick(nowMs: number): void {
    const connection = this.#connection;
    if (connection === null) {
      if (nowMs >= this.#connectAtMs && this.#sockets === 0) this.#connect(nowMs);
      return;
    }
    const next = this.#next;
    this.#next = [];
    for (const step of next) step();
    if (this.#stage === 'calling') this.#disturb(connection, nowMs);
    if (this.#stage === 'calling' && nowMs >= this.#leaveAtMs) this.#startLeaving(connection, nowMs);
    else if (nowMs >= this.#overdueAtMs) this.#giveUp(connection);
    this.#fill();
    this.#connection?.flush();
  }

  /** Leaves the connection, and opens no other one until `tick` is called again. */
  stop(): void {
    if (this.#connection !== null) this.#leave(this.#connection, this.#random.pick(['ended', 'reset']));
  }

  #connect(nowMs: number): void {
    const random = this.#random;
    this.#sockets++;
    if (random.next() < SHARE.tornPreface) {
      this.#connectTorn(nowMs);
      return;
    }
    this.#options.tally.connections++;
    this.#leaveAtMs = nowMs + LIFE_MS.least + random.below(LIFE_MS.spread);
    this.#overdueAtMs = Number.POSITIVE_INFINITY;
    this.#hearsAgainAtMs = 0;
    this.#stage = 'calling';
    this.#kinds = new Map();
    const connection = new ClientConnection(
      this.#options.port,
      random.next() < SHARE.narrow ? 'narrow' : 'usual',
      {
        onCallEnd: (stream, ending) => this.#onCallEnd(stream, ending),
        onRead: () => this.#onRead(connection),
        onGone: fault => this.#onGone(connection, fault),
      },
    );
    this.#connection = connection;
  }

  /** A peer that goes away before it has said all of the preface. */
  #connectTorn(nowMs: number): void {
    const socket = connect({ port: this.#options.port, host: '127.0.0.1' });
    socket.resume();
    socket.on('error', error => this.#options.tally.fault(`in the preface: ${error.message}`));
    socket.on('close', () => this.#sockets--);
    socket.write(PREFACE.subarray(0, 1 + this.#random.below(PREFACE.length - 1)), () => socket.destroy());
    this.#connectAtMs = nowMs;
  }

  #onCallEnd(stream: number, ending: Ending): void {
    const kind = this.#kinds.get(stream);
    this.#kinds.delete(stream);
    if (kind !== undefined) this.#options.tally.end(kind, ending);
  }

  #onRead(connection: ClientConnection): void {
    if (this.#connection !== connection) return;
    this.#fill();
    if (this.#stage === 'answering' && isAnswered(connection)) this.#leave(connection, 'ended');
  }

  #onGone(connection: ClientConnection, fault: string): void {
    const { tally } = this.#options;
    this.#sockets--;
    if (fault !== '') tally.fault(fault);
    if (this.#connection === connection && this.#stage === 'announced' && connection.openCalls > 0)
      tally.fault('the server closed an announced end before it had answered all calls');
    this.#forget(connection);
  }

  #fill(): void {
    const connection = this.#connection;
    if (connection === null || this.#stage !== 'calling') return;
    while (connection.openCalls < CALLS_OPEN) {
      this.#begin(connection, pickKind(this.#random));
    }
  }

  #begin(connection: ClientConnection, kind: CallKind): void {
    const kinds = this.#kinds;
    const { stream, next } = beginCall(connection, kind, this.#random);
    this.#options.tally.begin(kind);
    if (kind.caller !== 'resets at once') kinds.set(stream, kind);
    if (next === null) return;
    this.#next.push(() => {
      next();
      if (kind.caller === 'resets later') kinds.delete(stream);
    });
  }

  /** Pings, and times without reading. */
  #disturb(connection: ClientConnection, nowMs: number): void {
    const random = this.#random;
    if (random.next() < CHANCE.ping) {
      this.#options.tally.pings++;
      connection.ping();
    }
    if (nowMs < this.#hearsAgainAtMs) return;
    connection.resume();
    if (random.next() >= CHANCE.deaf) return;
    this.#hearsAgainAtMs = nowMs + random.below(DEAF_MS);
    connection.pause();
  }

  #startLeaving(connection: ClientConnection, nowMs: number): void {
    const how = this.#random.pick(LEAVINGS);
    if (how !== 'announced' && how !== 'all answered') {
      this.#leave(connection, how);
      return;
    }
    this.#stage = how === 'announced' ? 'announced' : 'answering';
    this.#overdueAtMs = nowMs + PATIENCE_MS;
    connection.resume();
    if (how === 'announced') connection.leave('announced');
    else if (isAnswered(connection)) this.#leave(connection, 'ended');
  }

  #giveUp(connection: ClientConnection): void {
    const kinds = new Set([...this.#kinds.values()].map(({ name }) => name));
    this.#options.tally.fault(
      `after ${PATIENCE_MS} ms there are no answers to ${connection.unansweredPings} pings and ` +
        `${connection.openCalls} calls (${[...kinds].join(', ')}), or the connection is still open`,
    );
    this.#leave(connection, 'reset');
  }

  #leave(connection: ClientConnection, how: Leaving): void {
    connection.leave(how);
    this.#forget(connection);
  }

  #forget(connection: ClientConnection): void {
    if (this.#connection !== connection) return;
    this.#connection = null;
    this.#options.tally.dropped += connection.openCalls;
    this.#next = [];
    this.#connectAtMs = performance.now() + this.#random.below(PAUSE_BEFORE_CONNECTING_MS);
  }
}

function isAnswered({ openCalls, unansweredPings }: ClientConnection): boolean {
  return openCalls === 0 && unansweredPings === 0;
}
