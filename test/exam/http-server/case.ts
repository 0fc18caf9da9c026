import type { PeerAnswer } from './peer.ts';

/** Values that a case may use in its bytes. */
export interface Ask {
  /** A body for `/json` that names this case, so that the exam knows which case the decider was asked for. */
  readonly body: string;
  /** The same; the decider answers it some turns of the event loop later. */
  readonly lateBody: string;
}

/** The end of this side of the connection, in the place of bytes. */
export const END = Symbol('end');

/** The pieces to write. The server reads each of them separately. */
export type Pieces = readonly (string | typeof END)[];

/** Possible outcomes of a case; see {@link outcome}. */
export type Outcome = string;

/** Bytes that a caller sends, and what a server may make of them. */
export interface HttpCase {
  /** Name of the case, which is unique in the exam. */
  readonly name: string;
  /** The section that says what has to come of it, such as `9112 6.3`. */
  readonly rfc: string;
  /** One connection for each variant; the outcome of all must be allowed. */
  sends(ask: Ask): string | Pieces | readonly Pieces[];
  readonly allows: readonly Outcome[];
  /** The answers have no bodies. */
  readonly bodiless?: boolean;
  /** Further check of the answers of an allowed outcome. Returns what is wrong, or null. */
  check?(answers: readonly PeerAnswer[]): string | null;
}

/**
 * Statuses in order, what became of the connection, and how often a decision was asked for: `200 200 open asked 2`,
 * `400 closed`, `silent`. A connection is open when it answers one more request as it should.
 */
export function outcome(statuses: readonly number[], end: 'open' | 'closed' | 'silent', asked = 0): Outcome {
  return [...statuses, end, ...(asked === 0 ? [] : ['asked', asked])].join(' ');
}

/** Answered with one of these statuses, nothing decided, and the connection is closed. */
export function refused(...statuses: readonly number[]): readonly Outcome[] {
  return statuses.map(status => outcome([status], 'closed'));
}

/** Decided once, and the connection goes on. */
export const DECIDED: readonly Outcome[] = [outcome([200], 'open', 1)];

/** Decided once, and the connection is closed. */
export const DECIDED_AND_CLOSED: readonly Outcome[] = [outcome([200], 'closed', 1)];

/** Answered with 200 without a decision, and the connection goes on. */
export const SERVED: readonly Outcome[] = [outcome([200], 'open')];

/** Decided or refused, as the server likes, but nothing between. */
export const EITHER: readonly Outcome[] = [...DECIDED, ...refused(400)];

/** A request of these lines, without a body. */
export function head(...lines: readonly string[]): string {
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** A GET of the route that answers `probe`. */
export const PROBE = head('GET /probe HTTP/1.1', 'Host: exam');

/** A POST to `/json` with these fields beside `Host`, and these bytes behind the head. */
export function post(fields: readonly string[], behind: string): string {
  return head('POST /json HTTP/1.1', 'Host: exam', ...fields) + behind;
}

/** A POST of this body with its length, and further fields. */
export function posted(body: string, ...fields: readonly string[]): string {
  return post([...fields, `Content-Length: ${body.length}`], body);
}

/** A POST whose `Transfer-Encoding` is `chunked`, with these bytes behind the head. */
export function chunked(behind: string, ...fields: readonly string[]): string {
  return post(['Transfer-Encoding: chunked', ...fields], behind);
}

/** A body as one chunk and the last one. */
export function oneChunk(body: string): string {
  return `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
}
