import type { Load, LoadTotals } from '../generator.ts';
import { LatencyHistogram } from '../latency-histogram.ts';
import { type LoadWindow, LoadWindows } from '../load-window.ts';
import { CallConnection, type CallObserver } from './call-connection.ts';
import { CallNumbers } from './call-numbers.ts';
import { Pacer } from './pacer.ts';
import { RequestFrames, type RequestTemplate } from './request-frames.ts';

export interface GrpcLoad extends Load {
  readonly template: RequestTemplate;
  /** The overall code that every answer has to have. */
  readonly expectedCode: number;
  /** Calls a second, whether or not answers come; null for a call to follow when one is answered. */
  readonly callsPerSecond: number | null;
  /**
   * With `callsPerSecond`: calls are sent one at a time, at equal intervals. Otherwise, due calls are sent once per
   * millisecond.
   */
  readonly apart?: boolean;
}

/** How long the last answers may take. */
const LAST_ANSWERS_MS = 10_000;

/** A load on a gRPC server, from this process. */
export class RunningGrpcLoad implements CallObserver {
  readonly #load: GrpcLoad;
  readonly #connections: CallConnection[];
  readonly #open: () => CallConnection;
  /** Connections that the server asked to leave, with the ones that took their place. */
  readonly #left = new Map<CallConnection, CallConnection>();
  readonly #histogram = new LatencyHistogram();
  readonly #windows: LoadWindows;
  #ends = false;
  #answered = 0;
  #fault = '';
  #onQuiet: () => void = () => {};
  #pacing: NodeJS.Timeout | undefined;
  /** The connection that gets the next paced call. */
  #turn = 0;

  private constructor(load: GrpcLoad) {
    this.#load = load;
    this.#windows = new LoadWindows(load.watched, this.#histogram);
    const frames = new RequestFrames(load.template);
    const numbers = new CallNumbers(load.template.callsPerNumber);
    this.#open = () => new CallConnection({ port: load.port, frames, numbers, observer: this });
    this.#connections = Array.from({ length: load.connections }, this.#open);
  }

  /** Connects and begins. */
  static async start(load: GrpcLoad): Promise<RunningGrpcLoad> {
    const running = new RunningGrpcLoad(load);
    try {
      await Promise.all(running.#connections.map(connection => connection.ready));
    } catch (failure) {
      running.#close();
      throw failure;
    }
    running.#windows.mark();
    if (load.callsPerSecond === null) running.#fill();
    else if (load.apart === true) running.#paceApart(load.callsPerSecond);
    else running.#pace(new Pacer(load.callsPerSecond, performance.now()));
    return running;
  }

  mark(): LoadWindow {
    this.#throwFault();
    return this.#windows.mark();
  }

  async finish(): Promise<LoadTotals> {
    this.#ends = true;
    clearTimeout(this.#pacing);
    const quiet = new Promise<void>(resolve => {
      this.#onQuiet = resolve;
    });
    const timer = setTimeout(() => {
      this.onFault(`${this.#pending()} calls had no answer after ${LAST_ANSWERS_MS / 1_000} s`);
    }, LAST_ANSWERS_MS);
    this.#noteQuiet();
    await quiet;
    clearTimeout(timer);
    this.#close();
    this.#throwFault();
    return { answered: this.#answered, begun: this.#answered };
  }

  onAnswer(code: number, startedMs: number, nowMs: number): void {
    this.#answered++;
    this.#histogram.record(nowMs - startedMs);
    if (code !== this.#load.expectedCode)
      this.onFault(`a call was answered with overall code ${code} and not ${this.#load.expectedCode}`);
  }

  onRead(connection: CallConnection, answered: number, nowMs: number): void {
    if (this.#ends) this.#noteQuiet();
    else if (this.#load.callsPerSecond === null) this.#presentOf(connection).begin(answered, nowMs);
  }

  onGoAway(connection: CallConnection): void {
    const next = this.#open();
    this.#left.set(connection, next);
    this.#connections[this.#connections.indexOf(connection)] = next;
    for (const startedMs of connection.takeHeld()) next.begin(1, startedMs);
  }

  onFault(text: string): void {
    this.#fault ||= text;
    this.#ends = true;
    clearTimeout(this.#pacing);
    this.#onQuiet();
  }

  #fill(): void {
    const nowMs = performance.now();
    for (const connection of this.#connections) connection.begin(this.#load.streamsPerConnection, nowMs);
  }

  #pace(pacer: Pacer): void {
    const tick = (): void => {
      pacer.due(performance.now(), (calls, startedMs) => this.#spread(calls, startedMs));
      if (!this.#ends) this.#pacing = setTimeout(tick, 1);
    };
    tick();
  }

  /** Timers have a resolution of one millisecond, so the thread sleeps between two polls of its sockets. */
  #paceApart(callsPerSecond: number): void {
    const pacer = new Pacer(callsPerSecond, performance.now(), 1_000 / callsPerSecond);
    const never = new Int32Array(new SharedArrayBuffer(4));
    const tick = (): void => {
      if (this.#ends) return;
      const leftMs = pacer.nextMs - performance.now();
      if (leftMs > 0) Atomics.wait(never, 0, 0, leftMs);
      pacer.due(performance.now(), (calls, startedMs) => this.#spread(calls, startedMs));
      setImmediate(tick);
    };
    tick();
  }

  /** Begins calls on all connections alike. */
  #spread(calls: number, startedMs: number): void {
    const count = this.#connections.length;
    const each = Math.floor(calls / count);
    const more = calls % count;
    for (let i = 0; i < count; i++) {
      const share = each + (i < more ? 1 : 0);
      if (share > 0) this.#connections[(this.#turn + i) % count].begin(share, startedMs);
    }
    this.#turn = (this.#turn + more) % count;
  }

  /** The connection that calls use in place of one that the server asked to leave. */
  #presentOf(connection: CallConnection): CallConnection {
    const next = this.#left.get(connection);
    return next === undefined ? connection : this.#presentOf(next);
  }

  #pending(): number {
    const all = [...this.#connections, ...this.#left.keys()];
    return all.reduce((sum, connection) => sum + connection.pending, 0);
  }

  #noteQuiet(): void {
    if (this.#fault !== '' || this.#pending() === 0) this.#onQuiet();
  }

  #close(): void {
    for (const connection of [...this.#connections, ...this.#left.keys()]) connection.close();
  }

  #throwFault(): void {
    if (this.#fault === '') return;
    this.#close();
    throw new Error(this.#fault);
  }
}
