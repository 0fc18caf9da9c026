import type { Socket } from 'node:net';
import type { Clock } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { Dated, Deadlines } from '../../grpc/deadlines.ts';
import { GrpcConnection, type GrpcConnectionOptions, type Transport } from '../../grpc/grpc-connection.ts';
import type { HeldBytes } from '../../grpc/limits.ts';
import type { GrpcStatus } from '../../grpc/service.ts';
import type { ConnectionTurns, TurnTaker } from './connection-turns.ts';
import { HTTP1_ANSWER, protocolOf } from './first-bytes.ts';

/** Bytes that the system has not taken yet; above this no more is read from the peer until it has read. */
const PAUSE_BYTES = 262_144;

/** Output buffers larger than this are given back once they are empty. */
const KEEP_BYTES = 65_536;

/** Output buffers larger than this are given back every second: to grow again costs a busy connection next to nothing. */
const IDLE_OUTPUT_BYTES = 4_096;

/** Memory that output begins with. */
const OUTPUT_BYTES = 1_024;

/** How long, and for how many bytes, a peer is listened to after the last word was written. */
const LINGER_MS = 2_000;
const LINGER_BYTES = 1_048_576;

const NOTHING = new Uint8Array(0);

/** What all sockets of a server share. */
export interface GrpcSocketOptions extends GrpcConnectionOptions {
  readonly clock: Clock;
  /** How long the calls of a peer that was told may still run. 0: without end. */
  readonly ageGraceMs: number;
  /** The ages of all connections. */
  readonly ages: Deadlines;
  /** Shares the thread between the connections. */
  readonly turns: ConnectionTurns;
  /** Memory of the answers of all connections that the peers have not received yet. */
  readonly answers: HeldBytes;
  /** Called when the memory held by connections may have grown: unfinished requests, or waiting answers. */
  readonly grown: () => void;
  /** Called with what the system says of a connection that failed. */
  readonly failed: (failure: Error) => void;
  /** Called once, when the socket is gone. */
  readonly closed: (socket: GrpcSocket) => void;
}

/**
 * How a connection stands. `opening`: what the peer speaks is not known, and nothing is said before it is. `ending`: the
 * last word is written, and the peer has some time to close its end; what it still sends is read and dropped, because
 * a socket that is closed over unread bytes is reset, and the reset may destroy the last word on its way.
 */
type Phase = 'opening' | 'open' | 'ending';

/**
 * A gRPC connection on a socket. The requests of one read are handled together, and their answers are sent in one
 * write, which waits until the code triggered by the read has run. If connections bring more than the thread can do at
 * the moment, input waits for the connection's turn, and no more is read meanwhile.
 */
export class GrpcSocket implements Dated, Transport, TurnTaker {
  /** When the connection has reached its age, and then when its grace time is over; milliseconds since the epoch. */
  deadlineMs: number;
  served = 0;
  due = 0;
  order = 0;
  readonly #socket: Socket;
  readonly #options: GrpcSocketOptions;
  readonly #grpc: GrpcConnection;
  #phase: Phase = 'opening';
  /** What came while the connection is opening. */
  #first: Uint8Array = NOTHING;
  #lingered = 0;
  /** Input that waits for its turn. The socket is paused until then, so this is at most one read. */
  #input: Uint8Array = NOTHING;
  #flushDue = false;
  #draining = false;
  /** Not read from because it does not read. */
  #paused = false;
  /** Whether any input was handled since the last tick. */
  #wasRead = false;
  /** The peer was not read from since the last tick because it does not read, so it cannot be blamed for its silence. */
  #wasPaused = false;
  /** Since when the peer has not read what was written; -1 while it does. */
  #blockedSinceMs = -1;
  #cutAtMs = Number.POSITIVE_INFINITY;
  /** Memory of the answers that the peer has not received yet, as last added to the total of all connections. */
  #answerBytes = 0;

  /** @param maxAgeMs time until the peer is told to go away; infinite: never */
  constructor(socket: Socket, options: GrpcSocketOptions, maxAgeMs: number) {
    const nowMs = options.clock.nowMs();
    this.#socket = socket;
    this.#options = options;
    this.#grpc = new GrpcConnection(options, this, nowMs);
    this.deadlineMs = nowMs + maxAgeMs;
    if (this.deadlineMs !== Number.POSITIVE_INFINITY) options.ages.add(this);
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

  /** Bytes that wait for the peer: in the socket, in the output, and for its windows. */
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

  get streamCount(): number {
    return this.#grpc.streamCount;
  }

  wrote(): void {
    this.#scheduleFlush();
  }

  /** Ends every open stream of answers. */
  endStreams(status: GrpcStatus, message: string): void {
    this.#grpc.endStreams(status, message);
  }

  /** Tells the peer to open no more streams. */
  drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    this.#grpc.drain();
    this.#scheduleFlush();
  }

  /** The connection has reached its age, or the grace time is over. */
  expire(): void {
    if (this.#draining) {
      this.cut();
      return;
    }
    this.drain();
    const { ageGraceMs, ages, clock } = this.#options;
    if (ageGraceMs === 0) return;
    this.deadlineMs = clock.nowMs() + ageGraceMs;
    ages.add(this);
  }

  /** Closes at once. */
  cut(): void {
    this.#grpc.abort();
    this.#socket.destroy();
    this.#setInput(NOTHING);
    this.#countAnswers();
  }

  /** Does what the time asks for: silence, peers that do not read or do not go. */
  tick(nowMs: number): void {
    const { stallMs } = this.#options.limits;
    const isBlocked = this.#blockedSinceMs >= 0;
    if (nowMs >= this.#cutAtMs || (isBlocked && nowMs - this.#blockedSinceMs > stallMs)) {
      this.cut();
      return;
    }
    const wasPaused = this.#wasPaused;
    this.#wasPaused = this.#paused;
    // What the peer is late with may be in the input. A connection that has had a turn is looked at even if more input
    // waits: under load, that is always the case.
    const hadNoTurn = this.inputBytes > 0 && !this.#wasRead;
    if (wasPaused || this.#paused || hadNoTurn || this.#phase === 'ending') return;
    this.#guard(() => this.#grpc.tick(nowMs));
    this.#countAnswers();
    if (this.#grpc.output.length > 0 || this.#grpc.closed) this.#scheduleFlush();
    else if (!this.#wasRead || this.#grpc.output.bytes.length > IDLE_OUTPUT_BYTES)
      this.#grpc.output.bytes = NOTHING;
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
    const maxWork = turns.unturned;
    let taken = 0;
    if (maxWork > 0) {
      taken = this.#handle(bytes, maxWork);
      turns.did(this, this.#grpc.work);
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
    return this.#grpc.work;
  }

  #setInput(bytes: Uint8Array): void {
    this.#options.held.add(bytes.length - this.#input.length);
    this.#input = bytes;
  }

  /** Returns the number of bytes handled. */
  #handle(bytes: Uint8Array, maxWork: number): number {
    this.#wasRead = true;
    // What idle connections give back; it would grow to this in many small steps.
    if (this.#grpc.output.bytes.length === 0) this.#grpc.output.reserve(OUTPUT_BYTES);
    let taken = bytes.length;
    this.#guard(() => {
      taken = this.#grpc.receive(bytes, this.#options.clock.nowMs(), maxWork);
    });
    if (this.#grpc.output.length > 0 || this.#grpc.closed) this.#scheduleFlush();
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
      this.#grpc.output.reset();
      this.#socket.write(HTTP1_ANSWER);
      this.#end();
      return;
    }
    this.#phase = 'open';
    this.#receive(bytes);
  }

  /** What is thrown here is a defect of ours; it may cost this connection, but not the others. */
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
    const { closed } = this.#grpc;
    if (this.#phase === 'ending' || !this.#socket.writable) this.#grpc.output.reset();
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
    const out = this.#grpc.output;
    if (out.length === 0) return;
    socket.write(out.view(), this.#taken);
    const backlog = socket.writableLength;
    this.#grpc.backlogBytes = backlog;
    // What the system did not take at once is still read from this memory, so it is left to the socket.
    if (backlog > 0 || out.bytes.length > KEEP_BYTES) out.bytes = NOTHING;
    out.reset();
    if (backlog > 0) this.#block(backlog);
  }

  #end(): void {
    const { fault } = this.#grpc;
    this.#phase = 'ending';
    this.#setInput(NOTHING);
    this.#socket.end(() => this.#linger());
    this.#socket.resume();
    if (fault === null) return;
    this.#options.logger.debug('gRPC connection closed', { reason: fault.message });
    // Whoever broke the rules is not waited for until it has read everything.
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
   * The system has taken a write. Waiting for 'drain' would not do: it comes only after large amounts, while a write
   * over TLS, however small, always ends later.
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
