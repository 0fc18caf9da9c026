import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { Pacer } from '../../support/grpc-load/pacer.ts';
import { LatencyHistogram } from '../../support/latency-histogram.ts';
import { type LoadWindow, LoadWindows } from '../../support/load-window.ts';
import { AnswerScanner } from './answer-scanner.ts';
import { FLOOD_DOMAIN } from './kinds.ts';

const BODY = JSON.stringify({
  domain: FLOOD_DOMAIN,
  descriptors: [{ entries: [{ key: 'user', value: 'honest' }] }],
});
const CALL = `POST /json HTTP/1.1\r\nHost: honest\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;

/** A call that takes longer counts as failed. */
const PATIENCE_MS = 10_000;

/**
 * Calls `/json` at a steady pace on one connection, one call after the other. The latency of a delayed call is measured
 * from the time when it was due.
 */
export class HonestHttpClient {
  readonly #socket: Socket;
  readonly #pid: number;
  readonly #histogram = new LatencyHistogram();
  readonly #ownCpu = new LatencyHistogram();
  readonly #windows: LoadWindows;
  readonly #pacer: Pacer;
  readonly #pacing: NodeJS.Timeout;
  /** Due times of the unanswered calls. The first of them has been sent. */
  readonly #due: number[] = [];
  #cpuAtCall = 0;
  #fault = '';

  constructor(port: number, pid: number, callsPerSecond: number) {
    this.#pid = pid;
    this.#windows = new LoadWindows({ service: pid }, this.#histogram);
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket = socket;
    const scanner = new AnswerScanner(status => this.#answered(status));
    socket.on('data', chunk => scanner.read(chunk));
    socket.on('error', failure => this.#fail(failure.message));
    socket.on('close', () => this.#fail('the connection was closed'));
    this.#pacer = new Pacer(callsPerSecond, performance.now());
    this.#pacing = setInterval(() => this.#look(), 1);
  }

  /**
   * Ends a measurement window and starts the next one.
   * @throws Error if a call had no answer or a wrong answer
   */
  mark(): LoadWindow & { readonly mainCpuP99Ms: number } {
    if (this.#fault !== '') throw new Error(this.#fault);
    const mainCpuP99Ms = this.#ownCpu.summary().p99Ms;
    this.#ownCpu.reset();
    return { ...this.#windows.mark(), mainCpuP99Ms };
  }

  stop(): void {
    clearInterval(this.#pacing);
    this.#socket.removeAllListeners('close').destroy();
  }

  #look(): void {
    const nowMs = performance.now();
    this.#pacer.due(nowMs, (calls, startedMs) => {
      for (let i = 0; i < calls; i++) {
        this.#due.push(startedMs);
        if (this.#due.length === 1) this.#call();
      }
    });
    if (nowMs - (this.#due[0] ?? nowMs) > PATIENCE_MS)
      this.#fail(`no answer within ${PATIENCE_MS / 1_000} s`);
  }

  #call(): void {
    this.#cpuAtCall = mainThreadCpuMs(this.#pid);
    this.#socket.write(CALL);
  }

  #answered(status: number): void {
    if (status !== 200) {
      this.#fail(`a call was answered ${status}`);
      return;
    }
    this.#histogram.record(performance.now() - (this.#due.shift() ?? 0));
    this.#ownCpu.record(mainThreadCpuMs(this.#pid) - this.#cpuAtCall);
    if (this.#due.length > 0) this.#call();
  }

  #fail(text: string): void {
    this.#fault ||= text;
    this.stop();
  }
}

/** CPU time of the first thread of a process. It does not grow while other processes use the core. */
function mainThreadCpuMs(pid: number): number {
  if (process.platform !== 'linux') return Number.NaN;
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1').split(' ')[0]) / 1e6;
}
