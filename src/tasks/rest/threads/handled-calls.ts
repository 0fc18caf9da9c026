import type { Logger } from '../../../base/logger.ts';
import { Problem } from '../checks/problem.ts';
import type { RestHandler, RestHead, RestRequest, RestResponse } from '../http/http.ts';
import { problemOf, problemResponse } from '../http/problem-answer.ts';
import { requestIdOf } from '../http/request-headers.ts';
import { EarlyVerdict } from './early-limits.ts';
import type { AnswerMessage, CallMessage, TurnToRestThread } from './messages.ts';

/** Receives the progress of the calls of a REST thread. */
export interface HandledCallsOut {
  admitted(call: number): void;
  waits(call: number): void;
  answered(answer: AnswerMessage): void;
}

const NO_BODY = new Uint8Array(0);
/** Longer bodies are encoded here, because the thread with the connections decides, too. */
const TEXT_LENGTH = 4_096;

/** Runs in a REST thread. Passes each call that the thread received to the handler as a request. */
export class HandledCalls {
  readonly #handler: RestHandler;
  readonly #out: HandledCallsOut;
  readonly #log: Logger;
  readonly #requests = new Map<number, SentRequest>();
  readonly #encoder = new TextEncoder();
  #idle: (() => void) | null = null;

  constructor(handler: RestHandler, out: HandledCallsOut, log: Logger) {
    this.#handler = handler;
    this.#out = out;
    this.#log = log;
  }

  heard({ calls, earlyVerdicts, bodies, gone }: TurnToRestThread): void {
    for (const message of calls) {
      const { number } = message;
      const request = new SentRequest(message, {
        admitted: () => this.#out.admitted(number),
        waits: () => this.#out.waits(number),
      });
      this.#requests.set(number, request);
      void this.#handle(number, request);
    }
    for (const [number, verdict] of earlyVerdicts) this.#requests.get(number)?.askedLimit?.heard(verdict);
    for (const [number, body] of bodies) this.#requests.get(number)?.received(body);
    for (const number of gone) this.#requests.get(number)?.callerGone();
  }

  /** Resolves when no calls are in progress. */
  finished(): Promise<void> {
    if (this.#requests.size === 0) return Promise.resolve();
    return new Promise(resolve => {
      this.#idle = resolve;
    });
  }

  async #handle(number: number, request: SentRequest): Promise<void> {
    const { status, headers, body: text, encoded } = await this.#answerTo(request);
    this.#requests.delete(number);
    const body = encoded ?? (text.length < TEXT_LENGTH ? text : this.#encoder.encode(text));
    this.#out.answered({ number, status, headers, body });
    if (this.#requests.size === 0) this.#idle?.();
  }

  /** A handler that rejects is a bug. The caller still gets a response, and the call is removed. */
  async #answerTo(request: SentRequest): Promise<RestResponse> {
    try {
      return await this.#handler.handle(request);
    } catch (thrown) {
      const requestId = requestIdOf(request, () => 'none');
      return problemResponse(problemOf(thrown, requestId, this.#log), requestId);
    }
  }
}

interface RequestEvents {
  admitted(): void;
  waits(): void;
}

class SentRequest implements RestRequest {
  readonly method: RestHead['method'];
  readonly host: RestHead['host'];
  readonly path: RestHead['path'];
  readonly query: RestHead['query'];
  readonly headers: RestHead['headers'];
  readonly remoteAddress: RestHead['remoteAddress'];
  readonly tenantAsk?: NonNullable<RestHead['tenantAsk']>;
  body: Uint8Array;
  readonly takeBody?: () => Promise<void>;
  readonly askedLimit: EarlyVerdict | null;
  readonly #events: RequestEvents;
  #coming: PromiseWithResolvers<void> | null = null;
  #gone: AbortController | null = null;
  #isGone = false;

  constructor({ head, body, limit }: CallMessage, events: RequestEvents) {
    this.method = head.method;
    this.host = head.host;
    this.path = head.path;
    this.query = head.query;
    this.headers = head.headers;
    this.remoteAddress = head.remoteAddress;
    if (head.tenantAsk !== undefined) this.tenantAsk = head.tenantAsk;
    this.body = joined(body ?? []);
    this.askedLimit = limit === 'unknown_caller' ? null : new EarlyVerdict(limit);
    this.#events = events;
    if (body === null) this.takeBody = () => this.#take();
  }

  /** Created on first access, because only long polls need it. */
  get gone(): AbortSignal {
    if (this.#gone === null) {
      this.#gone = new AbortController();
      if (this.#isGone) this.#gone.abort();
      else this.#events.waits();
    }
    return this.#gone.signal;
  }

  received(pieces: readonly Uint8Array[]): void {
    this.body = joined(pieces);
    this.#coming?.resolve();
  }

  callerGone(): void {
    this.#isGone = true;
    this.#gone?.abort();
    this.#coming?.reject(new Problem('interrupted', 'The caller disconnected before the body was received.'));
  }

  #take(): Promise<void> {
    if (this.#coming === null) {
      this.#coming = Promise.withResolvers<void>();
      this.#events.admitted();
    }
    return this.#coming.promise;
  }
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  if (pieces.length === 0) return NO_BODY;
  return pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
}
