import type { Test } from 'tap';
import { ByteWriter } from '../../../src/base/bytes.ts';
import { systemClock } from '../../../src/base/clock.ts';
import type { Decider, DecisionReply } from '../../../src/decision/decider.ts';
import { jsonToRequest } from '../../../src/messages/json-request.ts';
import { TEXT_PAGE, textAnswer } from '../../../src/transports/http/answer.ts';
import { type HttpEngine, HttpListener } from '../../../src/transports/http/listener.ts';
import { jsonRoute } from '../../../src/transports/http/routes/decision-routes.ts';
import { jsonNotFound, type Route } from '../../../src/transports/http/routes.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { type Ask, END, type HttpCase, type Outcome, outcome, type Pieces, PROBE } from './case.ts';
import { HttpPeer, type PeerAnswer } from './peer.ts';

/** How long a server may take that should do something. */
const PATIENCE_MS = 10_000;

/** How long is waited where a server is known to do nothing, or may do nothing. */
const IMPATIENCE_MS = 300;

const LATE = 'late-';

/** The outcome of one connection. */
export interface Observed {
  readonly outcome: Outcome;
  /** Other problems, or null. */
  readonly wrong: string | null;
}

/** Counts what it is asked by the domain of the request. The answer is how often that domain has been asked for. */
class CountingDecider implements Decider {
  readonly #asked = new Map<string, number>();

  decide(request: Uint8Array, _format: 'json' | 'protobuf', reply: DecisionReply): void {
    const key = Buffer.from(request).toString('latin1');
    const count = this.timesAsked(key) + 1;
    this.#asked.set(key, count);
    const answer = (): void => reply.answered(Buffer.from(String(count)), false);
    if (!key.includes(LATE)) answer();
    else setImmediate(() => setImmediate(() => setImmediate(answer)));
  }

  timesAsked(key: string): number {
    return this.#asked.get(key) ?? 0;
  }

  /** Requests that no case has asked for. */
  others(keys: ReadonlySet<string>): string[] {
    return [...this.#asked.keys()].filter(key => !keys.has(key));
  }
}

/** A server with some routes, and what it is asked to decide. */
export class HttpExaminee {
  readonly #server: HttpListener;
  readonly #decider: CountingDecider;
  readonly #keys = new Set<string>();
  #cases = 0;

  static async start(t: Test, engine: HttpEngine): Promise<HttpExaminee> {
    const decider = new CountingDecider();
    const log = new KeepingLogger();
    const routes = [jsonRoute(decider, log), ...ROUTES];
    const server = new HttpListener({
      name: 'http',
      engine,
      host: '127.0.0.1',
      port: 0,
      settings: { host: 'HOST', port: 'PORT', sharing: 'by SHARE_PORTS' },
      routes,
      unknown: jsonNotFound(routes),
      drainMs: 0,
      clock: systemClock,
      log,
    });
    await server.start();
    t.teardown(() => server.stop());
    return new HttpExaminee(server, decider);
  }

  private constructor(server: HttpListener, decider: CountingDecider) {
    this.#server = server;
    this.#decider = decider;
  }

  /** Requests that reached the decider and that nobody has sent. */
  get invented(): string[] {
    return this.#decider.others(this.#keys);
  }

  /** The distinct outcomes of the variants of a case. `known`: the known deviating outcome. */
  async observe(httpCase: HttpCase, known: string | undefined): Promise<Observed[]> {
    const variants = Array.isArray(httpCase.sends(this.#ask())) ? this.#variants(httpCase) : 1;
    const seen = new Map<string, Observed>();
    for (let variant = 0; variant < variants; variant++) {
      const observed = await this.#observeOne(httpCase, variant, known);
      seen.set(`${observed.outcome} ${observed.wrong}`, observed);
    }
    return [...seen.values()];
  }

  #variants(httpCase: HttpCase): number {
    const sent = httpCase.sends(this.#ask());
    return typeof sent !== 'string' && Array.isArray(sent[0]) ? sent.length : 1;
  }

  #ask(): Ask {
    const id = String(++this.#cases).padStart(6, '0');
    const body = (domain: string) =>
      `{"domain":"${domain}","descriptors":[{"entries":[{"key":"exam","value":"a"}]}]}`;
    return { body: body(`case-${id}`), lateBody: body(`${LATE}${id}`) };
  }

  async #observeOne(httpCase: HttpCase, variant: number, known: string | undefined): Promise<Observed> {
    const ask = this.#ask();
    const keys = [ask.body, ask.lateBody].map(requestOf);
    for (const key of keys) this.#keys.add(key);
    const pieces = piecesOf(httpCase.sends(ask), variant);
    const peer = await HttpPeer.open(this.#server.port, httpCase.bodiless);
    try {
      await send(peer, pieces);
      const end = await endOf(peer, httpCase.allows, known);
      const asked = keys.reduce((sum, key) => sum + this.#decider.timesAsked(key), 0);
      const statuses = peer.answers.map(({ status }) => status);
      const came = outcome(statuses, end, asked);
      const wrong = httpCase.allows.includes(came) ? faultOf(peer.answers, httpCase) : null;
      return { outcome: came, wrong };
    } finally {
      peer.destroy();
    }
  }
}

const ROUTES: readonly Route[] = [
  {
    path: '/probe',
    method: 'GET',
    help: 'shows that the connection is in step',
    handle: exchange => exchange.answer(textAnswer('probe')),
  },
  {
    path: '/none',
    method: 'GET',
    help: 'has no content',
    handle: exchange => exchange.answer({ status: '204 No Content', contentType: '', body: '' }),
  },
  {
    path: '/long',
    method: 'GET',
    help: 'is made while it is read',
    handle: exchange => {
      const pieces = Array.from({ length: 1_000 }, () => 'x'.repeat(100));
      exchange.stream(TEXT_PAGE, pieces).catch(thrown => exchange.fail(thrown));
    },
  },
];

/** The bytes that the decider gets for a body of `/json`, as text. */
function requestOf(body: string): string {
  const writer = new ByteWriter();
  jsonToRequest(Buffer.from(body), writer);
  return Buffer.from(writer.view()).toString('latin1');
}

function piecesOf(sent: ReturnType<HttpCase['sends']>, variant: number): Pieces {
  if (typeof sent === 'string') return [sent];
  return (Array.isArray(sent[0]) ? sent[variant] : sent) as Pieces;
}

async function send(peer: HttpPeer, pieces: Pieces): Promise<void> {
  for (const piece of pieces) {
    if (piece === END) peer.end();
    else await peer.write([piece]);
  }
}

/** Waits for the answers of an expected outcome, and finds out what has become of the connection. */
async function endOf(
  peer: HttpPeer,
  allows: readonly Outcome[],
  known: Outcome | undefined,
): Promise<'open' | 'closed' | 'silent'> {
  const expected = known === undefined ? allows : [known];
  const all = [...allows, ...expected];
  const sequences = new Set(all.map(each => statusesOf(each)));
  const boundMs = expected.some(each => each.includes('silent')) ? IMPATIENCE_MS : PATIENCE_MS;
  const came = (): boolean => peer.answers.length > 0 && sequences.has(statusText(peer));
  await peer.until(() => peer.closed || came(), boundMs);
  if (peer.closed) return 'closed';
  if (peer.answers.length === 0) return 'silent';
  if (!all.some(each => each.includes('open'))) {
    await peer.until(() => peer.closed, boundMs);
    if (peer.closed) return 'closed';
  }
  const before = peer.answers.length;
  await peer.write([PROBE]);
  await peer.until(() => peer.closed || peer.answers.length > before, boundMs);
  if (peer.answers.at(-1)?.body === 'probe' || peer.answers.length === before + 1) {
    const { status } = peer.answers[before];
    if (status === 200 && !peer.closed) {
      peer.answers.length = before;
      return 'open';
    }
  }
  return peer.closed ? 'closed' : 'silent';
}

function statusesOf(expected: Outcome): string {
  return /^(?:\d{3} )*/.exec(expected)?.[0] ?? '';
}

function statusText(peer: HttpPeer): string {
  return peer.answers.map(({ status }) => `${status} `).join('');
}

/** Returns what is wrong with the answers of an allowed outcome, or null. */
function faultOf(answers: readonly PeerAnswer[], { check }: HttpCase): string | null {
  const page = answers.find(({ status, body }) => status >= 400 && body !== '' && !isError(body));
  if (page !== undefined) return `an error that is no JSON: ${page.body.slice(0, 20)}`;
  return check?.(answers) ?? null;
}

/** The errors of the service, and the pages of uWebSockets.js, which are written before a handler sees the request. */
function isError(body: string): boolean {
  if (body.startsWith('<h1>')) return true;
  try {
    const { error } = JSON.parse(body);
    return typeof error.code === 'string' && typeof error.message === 'string';
  } catch {
    return false;
  }
}
