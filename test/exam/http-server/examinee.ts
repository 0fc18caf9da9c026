import type { Test } from 'tap';
import { ByteWriter } from '../../../src/base/bytes.ts';
import { jsonToRequest } from '../../../src/messages/json-request.ts';
import { type Ask, END, type HttpCase, type Outcome, outcome, type Pieces, PROBE } from './case.ts';
import { type CountRequest, LATE } from './exam-listener.ts';
import { HttpPeer, type PeerAnswer } from './peer.ts';

/** How long a server may take that should do something. */
const PATIENCE_MS = 10_000;

/** How long is waited where a server is known to do nothing, or may do nothing. */
const IMPATIENCE_MS = 300;

/** The outcome of one connection. */
export interface Observed {
  readonly outcome: Outcome;
  /** Other problems, or null. */
  readonly wrong: string | null;
}

/** Opens the port of the exam until the test ends. @returns the port number */
export type ServeExam = (t: Test, count: CountRequest) => Promise<number>;

/** A server with some routes, and what it is asked to decide. */
export class HttpExaminee {
  #port = 0;
  /** How often the decider was asked for what. */
  readonly #asked = new Map<string, number>();
  readonly #keys = new Set<string>();
  #cases = 0;

  static async start(t: Test, serve: ServeExam): Promise<HttpExaminee> {
    const examinee = new HttpExaminee();
    examinee.#port = await serve(t, key => examinee.#count(key));
    return examinee;
  }

  /** Requests that reached the decider and that nobody has sent. */
  get invented(): string[] {
    return [...this.#asked.keys()].filter(key => !this.#keys.has(key));
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

  #count(key: string): number {
    const count = this.#timesAsked(key) + 1;
    this.#asked.set(key, count);
    return count;
  }

  #timesAsked(key: string): number {
    return this.#asked.get(key) ?? 0;
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
    const peer = await HttpPeer.open(this.#port, httpCase.bodiless);
    try {
      await send(peer, pieces);
      const end = await endOf(peer, httpCase.allows, known);
      const asked = keys.reduce((sum, key) => sum + this.#timesAsked(key), 0);
      const statuses = peer.answers.map(({ status }) => status);
      const came = outcome(statuses, end, asked);
      const wrong = httpCase.allows.includes(came) ? faultOf(peer.answers, httpCase) : null;
      return { outcome: came, wrong };
    } finally {
      peer.destroy();
    }
  }
}

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
    const { error, type, detail } = JSON.parse(body);
    return type === 'about:blank'
      ? typeof detail === 'string'
      : typeof error.code === 'string' && typeof error.message === 'string';
  } catch {
    return false;
  }
}
