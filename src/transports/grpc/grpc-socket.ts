import type { Socket } from 'node:net';
import type { Clock } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { Dated, Deadlines } from '../../grpc/deadlines.ts';
import { GrpcConnection, type GrpcConnectionOptions, type Transport } from '../../grpc/grpc-connection.ts';
import type { HeldBytes } from '../../grpc/limits.ts';
import { GRPC_STATUS, type GrpcStatus } from '../../grpc/service.ts';
import { peerAddress } from '../tcp-address.ts';
import type { ConnectionTurns, TurnTaker } from './connection-turns.ts';
import { http1Answer, protocolOf } from './first-bytes.ts';
import { MOVING_MESSAGE } from './server.ts';

/** Maximum number of written bytes that the system has not accepted. Above it, reading from the peer stops. */
const PAUSE_BYTES = 262_144;

/** Larger output buffers are freed when they are empty. */
const KEEP_BYTES = 65_536;

/** Larger output buffers are freed every second. Growing them again costs a busy connection almost nothing. */
const IDLE_OUTPUT_BYTES = 4_096;

/** Initial size of an output buffer. */
const OUTPUT_BYTES = 1_024;

/** Limits of time and bytes for reading from a peer after the last frame was written. */
const LINGER_MS = 2_000;
const LINGER_BYTES = 1_048_576;

const NOTHING = new Uint8Array(0);

/** Shared by all sockets of a server. */
export interface GrpcSocketOptions extends GrpcConnectionOptions {
  readonly clock: Clock;
  /** Maximum time for calls of a connection that has reached its age. 0: no limit. */
  readonly ageGraceMs: number;
  /** Times at which connections reach their age. */
  readonly ages: Deadlines;
  /** Shares the thread between the connections. */
  readonly turns: ConnectionTurns;
  /** Memory of the answers of all connections that the peers have not received yet. */
  readonly answers: HeldBytes;
  /** Called when the memory held by connections may have grown: unfinished requests, or waiting answers. */
  readonly grown: () => void;
  /** Called with the system's error when a connection fails. */
  readonly failed: (failure: Error) => void;
  /** Called once, when the socket has closed. */
  readonly closed: (socket: GrpcSocket) => void;
}

/**
 * State of a connection. `opening`: the protocol of the peer is not known yet, and nothing is written. `ending`: the
 * last frame has been written, and the peer has some time to close the connection. Its input is read and discarded,
 * because closing a socket with unread input sends a reset, which can overtake the last frame.
 */
type Phase = 'opening' | 'open' | 'ending';

/**
 * A gRPC connection on a socket. The requests of one read are handled together, and their answers are sent in one
 * write, which waits until the code triggered by the read has run. If connections bring more than the thread can do at
 * the moment, input waits for the connection's turn, and no more is read meanwhile.
 */
export class GrpcSocket implements Dated, Transport, TurnTaker {
  /** When the connection reaches its age, and afterwards when its grace time ends; milliseconds since the epoch. */
  deadlineMs = Number.POSITIVE_INFINITY;
  served = 0;
  due = 0;
  order = 0;
  readonly #socket: Socket;
  readonly #options: GrpcSocketOptions;
  readonly #grpc: GrpcConnection;
  readonly #http2: GrpcConnection['connection'];
  readonly #maxAgeMs: number;
  #phase: Phase = 'opening';
  /** Input that arrived while the connection is opening. */
  #first: Uint8Array = NOTHING;
  #lingered = 0;
  /** Input that waits for its turn. The socket is paused until then, so this is at most one read. */
  #input: Uint8Array = NOTHING;
  #flushDue = false;
  #draining = false;
  /** Reading is stopped because the peer does not read. */
  #paused = false;
  /** Work since the last tick, and in the second before it. */
  #work = 0;
  #recentWork = 0;
  /** Whether any input was handled since the last tick. */
  #wasRead = false;
  /** Reading was stopped since the last tick, so the peer is not responsible for missing input. */
  #wasPaused = false;
  /** Since when the peer has not read what was written; -1 while it reads. */
  #blockedSinceMs = -1;
  #cutAtMs = Number.POSITIVE_INFINITY;
  /** Memory of the answers that the peer has not received yet, as last added to the total of all connections. */
  #answerBytes = 0;

  /** @param maxAgeMs time from the first bytes of the peer until it gets GOAWAY; infinite: never */
  constructor(socket: Socket, options: GrpcSocketOptions, maxAgeMs: number) {
    this.#socket = socket;
    this.#options = options;
    this.#maxAgeMs = maxAgeMs;
    this.#grpc = new GrpcConnection(options, this, options.clock.nowMs());
    this.#http2 = this.#grpc.connection;
    options.turns.enter(this);
    socket.setNoDelay(true);
    socket.on('data', chunk => this.#read(chunk));
    socket.on('error', options.failed);
    socket.on('close', () => {
      options.ages.remove(this);
      this.#setInput(NOTHING);
      this.#grpc.abort();
      this.#countAnswers();
      options.closed(this);
    });
  }

  get peer(): string {
    return peerAddress(this.#socket);
  }

  /** Bytes that wait for the peer: in the socket, in the output buffer, and for flow control windows. */
  get queuedBytes(): number {
    return this.#grpc.queuedBytes;
  }

  /** Memory of the answers that the peer has not received yet. */
  get answerBytes(): number {
    return this.#answerBytes;
  }

  /** Bytes of unfinished requests, and of input that waits for its turn. */
  get heldBytes(): number {
    return this.#grpc.heldBytes + this.inputBytes;
  }

  /** Bytes of input that waits for its turn. */
  get inputBytes(): number {
    return this.#input.length;
  }

  /** Work that the connection caused in the last full second. */
  get recentWork(): number {
    return this.#recentWork;
  }

  get streamCount(): number {
    return this.#http2.streamCount;
  }

  wrote(): void {
    this.#scheduleFlush();
  }

  /** Ends all open streaming responses. */
  endStreams(status: GrpcStatus, message: string): void {
    this.#grpc.endStreams(status, message);
  }

  /** Sends GOAWAY: the peer opens no more streams. */
  drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    // From now on, only the grace time counts: the age would end calls in flight.
    this.#options.ages.remove(this);
    this.#http2.drain();
    this.#scheduleFlush();
  }

  /** Whether the peer can be asked to reconnect: it is known to speak gRPC, and was not asked yet. */
  get mayMove(): boolean {
    return this.#phase === 'open' && !this.#draining;
  }

  /** Called when the connection has reached its age, or when the grace time is over. */
  expire(): void {
    if (this.#draining) {
      this.cut();
      return;
    }
    this.drain();
    // Behind GOAWAY, so that the client opens the next stream elsewhere. Other calls end by themselves.
    this.#grpc.endBidiStreams(GRPC_STATUS.unavailable, MOVING_MESSAGE);
    const { ageGraceMs, ages, clock } = this.#options;
    if (ageGraceMs === 0) return;
    this.deadlineMs = clock.nowMs() + ageGraceMs;
    ages.add(this);
  }

  /** Closes the connection immediately. */
  cut(): void {
    this.#grpc.abort();
    this.#socket.destroy();
    this.#setInput(NOTHING);
    this.#countAnswers();
  }

  /** Called every second. Enforces timeouts: silent peers, peers that do not read, and peers that do not disconnect. */
  tick(nowMs: number): void {
    this.#recentWork = this.#work;
    this.#work = 0;
    const { stallMs } = this.#options.limits;
    const isBlocked = this.#blockedSinceMs >= 0;
    if (nowMs >= this.#cutAtMs || (isBlocked && nowMs - this.#blockedSinceMs > stallMs)) {
      this.cut();
      return;
    }
    const wasPaused = this.#wasPaused;
    this.#wasPaused = this.#paused;
    // Overdue input may be among the input that waits. A connection that has had a turn is checked even if more input
    // waits, because under load more input always waits.
    const hadNoTurn = this.inputBytes > 0 && !this.#wasRead;
    if (wasPaused || this.#paused || hadNoTurn || this.#phase === 'ending') return;
    this.#guard(() => this.#grpc.tick(nowMs));
    this.#countAnswers();
    if (this.#http2.output.length > 0 || this.#http2.closed) this.#scheduleFlush();
    else if (!this.#wasRead || this.#http2.output.bytes.length > IDLE_OUTPUT_BYTES)
      this.#http2.output.bytes = NOTHING;
    this.#wasRead = false;
  }

  #read(chunk: Buffer): void {
    if (this.#phase === 'open') this.#receive(chunk);
    else if (this.#phase === 'opening') this.#open(chunk);
    else this.#drop(chunk);
  }

  #drop(chunk: Buffer): void {
    this.#lingered += chunk.length;
    if (this.#lingered > LINGER_BYTES) this.#socket.destroy();
  }

  #receive(bytes: Uint8Array): void {
    const { turns } = this.#options;
    const maxWork = turns.immediateWork;
    let taken = 0;
    if (maxWork > 0) {
      taken = this.#handle(bytes, maxWork);
      turns.did(this, this.#http2.work);
    }
    if (taken === bytes.length) return;
    this.#socket.pause();
    this.#setInput(bytes.subarray(taken));
    this.#options.grown();
    turns.add(this);
  }

  /** Handles input that has waited. */
  take(maxWork: number): number {
    // The connection may have been closed while its input waited.
    if (this.inputBytes === 0) return 0;
    const input = this.#input;
    this.#setInput(input.subarray(this.#handle(input, maxWork)));
    if (this.inputBytes === 0 && !this.#paused) this.#socket.resume();
    return this.#http2.work;
  }

  #setInput(bytes: Uint8Array): void {
    this.#options.held.add(bytes.length - this.#input.length);
    this.#input = bytes;
  }

  /** Returns the number of bytes handled. */
  #handle(bytes: Uint8Array, maxWork: number): number {
    this.#wasRead = true;
    // The buffer of an idle connection has been freed. Without this, it would grow in many small steps.
    if (this.#http2.output.bytes.length === 0) this.#http2.output.reserve(OUTPUT_BYTES);
    let taken = bytes.length;
    this.#guard(() => {
      taken = this.#grpc.receive(bytes, this.#options.clock.nowMs(), maxWork);
    });
    this.#work += this.#http2.work;
    if (this.#http2.output.length > 0 || this.#http2.closed) this.#scheduleFlush();
    this.#options.grown();
    return taken;
  }

  #open(chunk: Buffer): void {
    const bytes = this.#first.length === 0 ? chunk : Buffer.concat([this.#first, chunk]);
    const protocol = protocolOf(bytes);
    this.#first = protocol === 'undecided' ? bytes : NOTHING;
    if (protocol === 'undecided') return;
    if (protocol === 'http1') {
      this.#grpc.abort();
      this.#http2.output.reset();
      this.#socket.write(http1Answer('This port speaks gRPC, which is HTTP/2 with prior knowledge.'));
      this.#end();
      return;
    }
    this.#phase = 'open';
    this.#startAge();
    this.#receive(bytes);
  }

  /**
   * The time until the peer speaks does not count. Some clients miss a GOAWAY that arrives together with the first
   * SETTINGS, and their next call fails.
   */
  #startAge(): void {
    const { ages, clock } = this.#options;
    if (this.#draining || this.#maxAgeMs === Number.POSITIVE_INFINITY) return;
    this.deadlineMs = clock.nowMs() + this.#maxAgeMs;
    ages.add(this);
  }

  /** An exception is a bug. It closes this connection and leaves the others alone. */
  #guard(run: () => void): void {
    try {
      run();
    } catch (thrown) {
      const error = asError(thrown);
      this.#options.logger.error(
        'gRPC connection failed inside the server (this is a bug; please report it)',
        {
          error: error.stack ?? error.message,
        },
      );
      this.cut();
    }
  }

  #scheduleFlush(): void {
    if (this.#flushDue) return;
    this.#flushDue = true;
    queueMicrotask(this.#flush);
  }

  readonly #flush = (): void => {
    this.#flushDue = false;
    const { closed } = this.#http2;
    if (this.#phase === 'ending' || !this.#socket.writable) this.#http2.output.reset();
    else if (this.#phase === 'open' || closed) {
      this.#write();
      if (closed) this.#end();
    }
    this.#countAnswers();
  };

  #countAnswers(): void {
    // The memory of a closed connection has already been released.
    const bytes = this.#socket.destroyed ? 0 : this.#grpc.answerMemory;
    const more = bytes - this.#answerBytes;
    if (more === 0) return;
    this.#answerBytes = bytes;
    this.#options.answers.add(more);
    if (more > 0) this.#options.grown();
  }

  #write(): void {
    const socket = this.#socket;
    const out = this.#http2.output;
    if (out.length === 0) return;
    socket.write(out.view(), this.#taken);
    const backlog = socket.writableLength;
    this.#grpc.backlogBytes = backlog;
    // The socket still reads from this memory what the system has not accepted.
    if (backlog > 0 || out.bytes.length > KEEP_BYTES) out.bytes = NOTHING;
    out.reset();
    if (backlog > 0) this.#block(backlog);
  }

  #end(): void {
    const { fault } = this.#http2;
    this.#phase = 'ending';
    this.#setInput(NOTHING);
    this.#socket.end(() => this.#linger());
    this.#socket.resume();
    if (fault === null) return;
    this.#options.logger.debug('gRPC connection closed', { reason: fault.message });
    // A peer that violated the protocol does not get unlimited time to read.
    this.#linger();
  }

  #linger(): void {
    this.#cutAtMs = Math.min(this.#cutAtMs, this.#options.clock.nowMs() + LINGER_MS);
  }

  #block(backlog: number): void {
    if (this.#blockedSinceMs < 0) this.#blockedSinceMs = this.#options.clock.nowMs();
    if (backlog <= PAUSE_BYTES || this.#paused || this.#phase === 'ending') return;
    this.#paused = true;
    this.#wasPaused = true;
    this.#socket.pause();
  }

  /**
   * Called when the system has accepted a write. The 'drain' event is not enough: it follows large writes only, but
   * over TLS even a small write completes later.
   */
  readonly #taken = (): void => {
    const backlog = this.#socket.writableLength;
    this.#grpc.backlogBytes = backlog;
    this.#countAnswers();
    if (this.#blockedSinceMs >= 0) this.#blockedSinceMs = backlog === 0 ? -1 : this.#options.clock.nowMs();
    if (!this.#paused || backlog > PAUSE_BYTES) return;
    this.#paused = false;
    if (this.inputBytes === 0) this.#socket.resume();
  };
}
