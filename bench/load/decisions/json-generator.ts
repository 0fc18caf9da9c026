import autocannon, { type CannonRequest } from 'autocannon';
import { answerBench } from '../../support/control-channel.ts';
import type { GeneratorAnswers, Load, LoadTotals } from '../../support/generator.ts';
import { CALL_NUMBERS, CallNumbers } from '../../support/grpc-load/call-numbers.ts';
import { LatencyHistogram } from '../../support/latency-histogram.ts';
import { type LoadWindow, LoadWindows } from '../../support/load-window.ts';
import { checkRequestOf, jsonBodyOf, type Pattern } from './patterns.ts';

/** A process that puts load on `/json` or `/check` with autocannon: a connection for each call that is open at a time. */
export interface JsonLoad extends Load {
  readonly pattern: Pattern;
  readonly front: 'json' | 'check';
  /** The HTTP status that every answer has to have. */
  readonly expectedStatus: number;
}

/** Longer than any load. */
const DURATION_S = 86_400;
const TIMEOUT_S = 10;
const STOP_CHECK_MS = 20;
/** Requests that a connection has in turn, at most: autocannon keeps the bytes of all of them. */
const MOST_BODIES = CALL_NUMBERS;

class RunningJsonLoad {
  readonly #histogram = new LatencyHistogram();
  readonly #windows: LoadWindows;
  readonly #cannon: ReturnType<typeof autocannon>;
  readonly #sent = Promise.withResolvers<number>();
  #answered = 0;
  #fault = '';

  constructor({
    port,
    connections,
    streamsPerConnection,
    pattern,
    front,
    expectedStatus,
    watched,
  }: JsonLoad) {
    const numbers = new CallNumbers();
    const clients = connections * streamsPerConnection;
    const isCounted = pattern.descriptors.flat().some(([, value]) => typeof value !== 'string');
    const bodies = isCounted ? Math.ceil(MOST_BODIES / clients) : 1;
    const next = (): CannonRequest =>
      front === 'json'
        ? { body: jsonBodyOf(pattern, numbers.next()) }
        : checkRequestOf(pattern, numbers.next());
    this.#sent.promise.catch(() => {});
    this.#cannon = autocannon(
      {
        url: `http://127.0.0.1:${port}/${front}`,
        ...(front === 'json' && { method: 'POST', headers: { 'content-type': 'application/json' } }),
        connections: clients,
        duration: DURATION_S,
        timeout: TIMEOUT_S,
        sampleInt: STOP_CHECK_MS,
        setupClient: client => client.setRequests(Array.from({ length: bodies }, next)),
      },
      (failure, result) => {
        if (failure === null) this.#sent.resolve(result.requests.sent);
        else this.#sent.reject(failure);
      },
    );
    this.#cannon.on('response', (_client, status, _bytes, responseMs) => {
      this.#answered++;
      this.#histogram.record(responseMs);
      if (Number(status) !== expectedStatus)
        this.#fault ||= `a request was answered with status ${status} and not ${expectedStatus}`;
    });
    this.#cannon.on('reqError', failure => {
      this.#fault ||= `a request failed: ${failure.message}`;
    });
    this.#windows = new LoadWindows(watched, this.#histogram);
  }

  mark(): LoadWindow {
    this.#throwFault();
    return this.#windows.mark();
  }

  /** autocannon does not wait for the last answers, so some requests were counted whose answers are not. */
  async finish(): Promise<LoadTotals> {
    this.#cannon.stop();
    const begun = await this.#sent.promise;
    this.#throwFault();
    return { answered: this.#answered, begun };
  }

  #throwFault(): void {
    if (this.#fault === '') return;
    this.#cannon.stop();
    throw new Error(this.#fault);
  }
}

let running: RunningJsonLoad | null = null;

function current(): RunningJsonLoad {
  if (running === null) throw new Error('no load has been started');
  return running;
}

const answers: GeneratorAnswers<JsonLoad> = {
  start: async load => {
    running = new RunningJsonLoad(load);
  },
  mark: () => current().mark(),
  finish: () => current().finish(),
};

answerBench(null, answers);
