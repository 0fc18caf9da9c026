import type { Socket } from 'node:net';
import type { Timer } from '../../base/clock.ts';
import { Bound } from '../../base/threads/shared-bound.ts';
import { Deadlines } from '../../grpc/deadlines.ts';
import { type CallLimits, DEFAULT_CALL_LIMITS, HeldBytes } from '../../grpc/limits.ts';
import { Inflater } from '../../grpc/message-reader.ts';
import { GRPC_STATUS } from '../../grpc/service.ts';
import { type BudgetTerms, type ConnectionLimits, DEFAULT_LIMITS } from '../../http2/connection/limits.ts';
import { ConnectionTurns } from './connection-turns.ts';
import { GrpcSocket, type GrpcSocketOptions } from './grpc-socket.ts';
import { type ListenAddress, Listener } from './listener.ts';
import { type GrpcServer, type GrpcServerOptions, STOPPING_MESSAGE } from './server.ts';

/** Limits of the whole server, in addition to those of each connection. */
export interface ServerLimits {
  readonly connection: ConnectionLimits;
  readonly calls: CallLimits;
  /** Maximum number of connections. Further connections are closed immediately. */
  readonly maxConnections: number;
  /**
   * Maximum bytes of unfinished requests, frames and header sections of all connections. Close to it, the connections
   * that hold the most are closed.
   */
  readonly maxHeldBytes: number;
  /** Maximum bytes of unread answers of all connections. Close to it, the connections that hold the most are closed. */
  readonly maxQueuedBytes: number;
  /**
   * Budget for the bytes to which compressed messages of all connections inflate beyond `FREE_RATIO` times their size.
   */
  readonly inflation: BudgetTerms;
}

export const DEFAULT_SERVER_LIMITS: ServerLimits = {
  connection: DEFAULT_LIMITS,
  calls: DEFAULT_CALL_LIMITS,
  maxConnections: 20_000,
  maxHeldBytes: 64 * 1_048_576,
  maxQueuedBytes: 64 * 1_048_576,
  // Inflating this much per second takes about a twentieth of a core.
  inflation: { burst: 64 * 1_048_576, perSecond: 16 * 1_048_576, perRequest: 0 },
};

/**
 * The limits of each of several servers of a process, one in each thread. A server closes only its own connections when
 * they hold too much, so each server gets its share of the memory and of the time for inflating.
 */
export function serverLimitsOf(threads: number): ServerLimits {
  const { maxHeldBytes, maxQueuedBytes, inflation } = DEFAULT_SERVER_LIMITS;
  return {
    ...DEFAULT_SERVER_LIMITS,
    maxHeldBytes: Math.floor(maxHeldBytes / threads),
    maxQueuedBytes: Math.floor(maxQueuedBytes / threads),
    inflation: {
      ...inflation,
      burst: Math.floor(inflation.burst / threads),
      perSecond: Math.floor(inflation.perSecond / threads),
    },
  };
}

/** Parts that tests and servers in several threads replace. */
export interface OwnServerParts {
  readonly limits?: ServerLimits;
  /** The connections of all servers of the process, instead of `maxConnections` of the limits. */
  readonly connections?: Bound;
  /** From 0 to below 1; spreads the ages of connections. */
  readonly random?: () => number;
  /** Runs a callback after the event loop has polled the sockets. */
  readonly nextTurn?: (run: () => void) => void;
}

/** A connection is asked to move only if it has at least this part of the work that should move. */
const WORTH_MOVING = 1 / 5;

/** How often connections check their timeouts. */
const TICK_MS = 1_000;

/** Maximum relative deviation of a connection's age, so that clients do not all reconnect at the same moment. */
const AGE_JITTER = 0.1;

/**
 * Fractions of `maxHeldBytes` and `maxQueuedBytes`. Above the first, connections are closed until the total is below
 * the second. The room above the first lets other connections continue meanwhile.
 */
const CROWDED = 7 / 8;
const UNCROWDED = 5 / 8;

/** Why connections are closed, as it appears in the log. */
const UNFINISHED = 'unfinished requests hold too much memory';
const UNREAD = 'unread answers hold too much memory';

/** Closed connections that have not been logged yet. */
interface Cuts {
  readonly connections: number;
  readonly bytes: number;
}

/** The gRPC server on Sluice's own HTTP/2 implementation. */
export class OwnGrpcServer implements GrpcServer {
  readonly name = 'grpc';
  readonly #options: GrpcServerOptions;
  readonly #limits: ServerLimits;
  readonly #random: () => number;
  readonly #deadlines: Deadlines;
  readonly #ages: Deadlines;
  readonly #held: HeldBytes;
  readonly #answers: HeldBytes;
  readonly #shared: GrpcSocketOptions;
  readonly #sockets = new Set<GrpcSocket>();
  readonly #maxSockets: Bound;
  #isMakingRoom = false;
  /** Indexed by the reason. */
  readonly #cuts = new Map<string, Cuts>();
  /** Called when a connection has closed. */
  #onClosed = (): void => {};
  #listener: Listener | null = null;
  #tick: Timer | null = null;
  #address: ListenAddress;
  #stopped: Promise<void> = Promise.resolve();

  constructor(options: GrpcServerOptions, parts: OwnServerParts = {}) {
    this.#options = options;
    this.#limits = parts.limits ?? DEFAULT_SERVER_LIMITS;
    this.#maxSockets = parts.connections ?? Bound.ofOneThread(this.#limits.maxConnections);
    this.#random = parts.random ?? Math.random;
    this.#address = options.listen;
    this.#deadlines = new Deadlines(options.clock);
    this.#ages = new Deadlines(options.clock);
    this.#held = new HeldBytes(this.#limits.maxHeldBytes);
    this.#answers = new HeldBytes(this.#limits.maxQueuedBytes);
    this.#shared = {
      service: options.service,
      limits: { ...this.#limits.connection, maxHeaderListBytes: options.maxMetadataBytes },
      callLimits: this.#limits.calls,
      held: this.#held,
      inflater: new Inflater(
        { maxMessageBytes: options.maxMessageBytes, terms: this.#limits.inflation },
        options.clock,
      ),
      deadlines: this.#deadlines,
      ages: this.#ages,
      turns: new ConnectionTurns(parts.nextTurn ?? setImmediate),
      ageGraceMs: options.maxConnectionAgeGraceMs,
      clock: options.clock,
      logger: options.logger,
      answers: this.#answers,
      grown: () => this.#grown(),
      failed: failure => options.logger.debug('gRPC connection error', { error: failure.message }),
      closed: socket => this.#gone(socket),
    };
  }

  get address(): ListenAddress {
    return this.#address;
  }

  get connectionCount(): number {
    return this.#sockets.size;
  }

  /** Number of open streams of all connections. */
  get streamCount(): number {
    let count = 0;
    for (const socket of this.#sockets) count += socket.streamCount;
    return count;
  }

  /** Bytes of answers that wait for their peers. */
  get queuedBytes(): number {
    let bytes = 0;
    for (const socket of this.#sockets) bytes += socket.queuedBytes;
    return bytes;
  }

  /** Bytes of unfinished requests. */
  get heldBytes(): number {
    return this.#held.held;
  }

  /** Number of connections whose input waits for its turn. */
  get waitingCount(): number {
    return this.#shared.turns.waiting;
  }

  /** Number of calls with a deadline. */
  get deadlineCount(): number {
    return this.#deadlines.size;
  }

  async start(): Promise<void> {
    const { listen, tls, logger } = this.#options;
    this.#listener = await Listener.open(listen, {
      tls,
      onConnection: socket => this.#accept(socket),
      onAcceptError: error => logger.error('Could not accept a gRPC connection', { error: error.message }),
    });
    this.#address = this.#listener.address;
    this.#scheduleTick();
  }

  /** Accepts no more connections. Existing connections are served until `stop`. */
  closePort(): void {
    void this.#listener?.closePort();
  }

  stop(): Promise<void> {
    const listener = this.#listener;
    if (listener !== null) {
      this.#listener = null;
      this.#stopped = this.#drain(listener);
    }
    return this.#stopped;
  }

  /** Asks this number of connections to reconnect, the oldest first. Returns how many were asked. */
  moveSome(connections: number): number {
    const chosen = [...this.#sockets].filter(({ mayMove }) => mayMove).slice(0, connections);
    for (const socket of chosen) socket.expire();
    return chosen.length;
  }

  /**
   * Asks a connection to reconnect, as if it had reached its age: the one with the most work in the last second, up to
   * `mostShare` (0 to 1) of the work of all connections. Returns false if there is none that would make a difference.
   */
  moveOne(mostShare: number): boolean {
    let total = 0;
    for (const { recentWork } of this.#sockets) total += recentWork;
    let chosen: GrpcSocket | null = null;
    for (const socket of this.#sockets) {
      const { recentWork, mayMove } = socket;
      const isMore = recentWork > (chosen?.recentWork ?? total * mostShare * WORTH_MOVING);
      if (isMore && mayMove && recentWork <= total * mostShare) chosen = socket;
    }
    chosen?.expire();
    return chosen !== null;
  }

  async #drain(listener: Listener): Promise<void> {
    const { clock, drainTimeoutMs, logger } = this.#options;
    const closed = listener.close();
    for (const socket of this.#sockets) {
      socket.endStreams(GRPC_STATUS.unavailable, STOPPING_MESSAGE);
      socket.drain();
    }
    const timer = clock.after(drainTimeoutMs, () => {
      logger.warning('Shutdown timeout: closed gRPC connections with unfinished calls', {
        connections: listener.connections,
      });
      listener.destroyConnections();
    });
    await closed;
    // By now all sockets are destroyed, but their `close` events follow a moment later.
    while (this.#sockets.size > 0) await new Promise<void>(resolve => (this.#onClosed = resolve));
    timer.cancel();
    this.#tick?.cancel();
    this.#logCuts();
    this.#deadlines.stop();
    this.#ages.stop();
  }

  #accept(socket: Socket): void {
    const { maxConnectionAgeMs, logger } = this.#options;
    if (!this.#maxSockets.hasRoom(this.#sockets.size)) {
      logger.debug('Refused a gRPC connection: the limit is reached', { connections: this.#sockets.size });
      socket.destroy();
      return;
    }
    const jitter = 1 + AGE_JITTER * (2 * this.#random() - 1);
    const maxAgeMs = maxConnectionAgeMs === 0 ? Number.POSITIVE_INFINITY : maxConnectionAgeMs * jitter;
    this.#sockets.add(new GrpcSocket(socket, this.#shared, maxAgeMs));
  }

  #scheduleTick(): void {
    const { clock } = this.#options;
    this.#tick = clock.after(TICK_MS, () => {
      const nowMs = clock.nowMs();
      for (const socket of this.#sockets) socket.tick(nowMs);
      this.#logCuts();
      this.#scheduleTick();
    });
  }

  #grown(): void {
    if (this.#isMakingRoom || !(isCrowded(this.#held) || isCrowded(this.#answers))) return;
    this.#isMakingRoom = true;
    // Deferred, because the connection that is handling a read may be among the ones to close.
    queueMicrotask(() => {
      this.#isMakingRoom = false;
      if (isCrowded(this.#held)) this.#cutLargest(this.#held, socket => socket.heldBytes, UNFINISHED);
      if (isCrowded(this.#answers)) this.#cutLargest(this.#answers, socket => socket.answerBytes, UNREAD);
    });
  }

  #gone(socket: GrpcSocket): void {
    this.#sockets.delete(socket);
    this.#maxSockets.freed(this.#sockets.size);
    this.#onClosed();
  }

  /** Closes the connections that hold the most, until the total is low enough. */
  #cutLargest({ max }: HeldBytes, bytesOf: (socket: GrpcSocket) => number, reason: string): void {
    const largestFirst = [...this.#sockets].map(socket => ({ socket, bytes: bytesOf(socket) }));
    largestFirst.sort((a, b) => b.bytes - a.bytes);
    let total = 0;
    for (const { bytes } of largestFirst) total += bytes;
    for (const { socket, bytes } of largestFirst) {
      if (total <= max * UNCROWDED) return;
      total -= bytes;
      const before = this.#cuts.get(reason) ?? { connections: 0, bytes: 0 };
      this.#cuts.set(reason, { connections: before.connections + 1, bytes: before.bytes + bytes });
      socket.cut();
    }
  }

  /** Writes one line per reason and second, regardless of the number of connections. */
  #logCuts(): void {
    for (const [reason, { connections, bytes }] of this.#cuts) {
      this.#options.logger.warning('Closed gRPC connections to free memory', { reason, connections, bytes });
    }
    this.#cuts.clear();
  }
}

function isCrowded({ held, max }: HeldBytes): boolean {
  return held > max * CROWDED;
}
