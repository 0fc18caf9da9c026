import type { ReadHeader, RestResponse } from '../../../src/tasks/rest/http/http.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { showsSecret } from '../steps/random-secrets.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import type { SimulatedTime } from './simulated-time.ts';
import type { Troubles } from './troubles.ts';

/** A call of the interface, as somebody makes it who may not get an answer. */
export interface CallRequest {
  readonly method: string;
  /** `acme.tasks.test`, or `accounts.tasks.test` for the operator. */
  readonly host: string;
  /** Path and query. */
  readonly target: string;
  readonly token: string | null;
  readonly body?: unknown;
  readonly idempotencyKey?: string | undefined;
  /** How long an answer is waited for. */
  readonly patienceMs?: number;
}

export interface CallAnswer {
  readonly status: number;
  /** When a process got the request that was answered. */
  readonly atMs: number;
  // biome-ignore lint/suspicious/noExplicitAny: a body of JSON, which checks compare
  readonly json: any;
}

interface CallerParts {
  readonly seed: number;
  readonly time: SimulatedTime;
  readonly troubles: Troubles;
  readonly delayMs: number;
  readonly processes: () => readonly SimulatedProcess[];
}

const PATIENCE_MS = 15_000;
const AGAIN_MS = 300;
const MOST_TRIES = 40;

/** Those who call the interface. They ask until they are answered, each time any of the processes. */
export class Callers {
  readonly #parts: CallerParts;
  /** Answers that nobody may get: `500`, for example. */
  readonly wrong: string[] = [];
  /** Answers with the value of a secret that the caller had chosen. */
  readonly shown: string[] = [];
  /** How often each route answered with each status. */
  readonly answers = new Map<string, number>();
  /** The processes of calls that have no answer yet; without those that wait for tasks. */
  readonly #waiting = new Set<{ readonly process: SimulatedProcess }>();

  constructor(parts: CallerParts) {
    this.#parts = parts;
  }

  /** Whether a process works on a call, even if nobody waits for its answer. */
  get areBusy(): boolean {
    return [...this.#waiting].some(({ process }) => process.isAlive);
  }

  /** Asks until there is an answer that is not a fault of the service; null if there was none for long. */
  async ask(request: CallRequest, salt: number, tries = MOST_TRIES): Promise<CallAnswer | null> {
    const random = new SeededRandom(this.#parts.seed * 104_729 + salt);
    for (let turn = 0; turn < tries; turn++) {
      const answer = await this.#once(request, random);
      if (answer !== null && !isToRepeat(answer)) return answer;
      await this.#parts.time.passed(AGAIN_MS + random.below(AGAIN_MS));
    }
    return null;
  }

  async #once(request: CallRequest, random: SeededRandom): Promise<CallAnswer | null> {
    const { time, processes, troubles } = this.#parts;
    const serving = processes().filter(({ isServing }) => isServing);
    if (serving.length === 0) return null;
    const process = random.pick(serving);
    const lost =
      random.below(100) < troubles.lossPercent ? random.pick(['request', 'answer'] as const) : null;
    const { promise, resolve } = Promise.withResolvers<CallAnswer | null>();
    const gone = new AbortController();
    const patience = time.after(request.patienceMs ?? PATIENCE_MS, () => {
      gone.abort();
      resolve(null);
    });
    if (lost !== 'request') {
      time.after(this.#wayMs(random), () => {
        if (!process.isServing) return resolve(null);
        const waiting = { process };
        const atMs = time.nowMs();
        if (!request.target.endsWith('/leases')) this.#waiting.add(waiting);
        void process.handle(restRequest(request, gone.signal)).then(response => {
          this.#waiting.delete(waiting);
          if (!process.isAlive) return;
          const answer = this.#noted(request, response, atMs);
          if (lost === null) time.after(this.#wayMs(random), () => resolve(answer));
        });
      });
    }
    const answer = await promise;
    patience.cancel();
    return answer;
  }

  #noted({ method, target }: CallRequest, { status, body }: RestResponse, atMs: number): CallAnswer {
    const json = body === '' ? null : JSON.parse(body);
    const route = target.split('?')[0].replaceAll(/[a-z]{3}_[0-9A-Z]{26}|[0-9a-f]{32}/g, ':id');
    const name = `${method} ${route} ${status}`;
    this.answers.set(name, (this.answers.get(name) ?? 0) + 1);
    if (status === 500) this.wrong.push(`${method} ${target} was answered with 500: ${body.slice(0, 300)}`);
    if (showsSecret(body))
      this.shown.push(`${method} ${target} was answered with a secret: ${body.slice(0, 300)}`);
    return { status, json, atMs };
  }

  #wayMs(random: SeededRandom): number {
    return random.below(this.#parts.delayMs + 1);
  }
}

function isToRepeat({ status, json }: CallAnswer): boolean {
  return status >= 500 || json?.code === 'idempotency_in_progress';
}

function restRequest({ method, host, target, token, body, idempotencyKey }: CallRequest, gone: AbortSignal) {
  const [path, query = ''] = target.split('?');
  const headers: Partial<Record<ReadHeader, string>> = {
    ...(token !== null && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  };
  return {
    ...{ method, host, path, query, headers, gone },
    remoteAddress: '192.0.2.1',
    body: body === undefined ? new Uint8Array(0) : Buffer.from(JSON.stringify(body)),
  };
}
