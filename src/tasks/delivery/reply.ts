import type { IncomingHttpHeaders } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { DAY_MS } from '../../base/clock.ts';
import type { HistoryHttp } from '../model/task.ts';

/** The connection of a longer response is closed. */
const MAX_READ_BYTES = 64 * 1024;
/** Maximum size of a result. */
const MAX_RESULT_BYTES = 16 * 1024;
/** Maximum size of a response in the history. */
const MAX_HISTORY_BYTES = 4 * 1024;
/** Maximum nesting of a result: a reader may use a recursive function. */
const MAX_RESULT_DEPTH = 64;

/** The answer to an attempt, as far as it was read. */
export class Reply {
  /** 0 until the head of the answer is there. */
  status = 0;
  #headers: IncomingHttpHeaders = {};
  /** The first bytes of the body. */
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #readBytes = 0;

  begin(status: number, headers: IncomingHttpHeaders): void {
    this.status = status;
    this.#headers = headers;
  }

  /** Whether more is to be read. */
  add(chunk: Buffer): boolean {
    this.#readBytes += chunk.length;
    const room = MAX_RESULT_BYTES - this.#keptBytes;
    if (room > 0) {
      // A copy: a slice would hold the whole buffer that the socket was read into.
      const part = Buffer.from(chunk.subarray(0, room));
      this.#kept.push(part);
      this.#keptBytes += part.length;
    }
    return this.#readBytes <= MAX_READ_BYTES;
  }

  /** The response as the history keeps it; null before there is a response. */
  http(durationMs: number): HistoryHttp | null {
    if (this.status === 0) return null;
    const response = historyText(this.#keptAsOne().subarray(0, MAX_HISTORY_BYTES));
    return { status: this.status, durationMs, response, truncated: this.#readBytes > MAX_HISTORY_BYTES };
  }

  /** The body, where it is JSON and small enough to be kept as the result. The answer must be complete. */
  result(): string | null {
    if (this.#readBytes === 0 || this.#readBytes > MAX_RESULT_BYTES) return null;
    return isJson(this.#header('content-type')) ? jsonText(this.#keptAsOne()) : null;
  }

  /** See {@link retryAfterMs}. */
  retryAfterMs(nowMs: number): number | null {
    const text = this.#header('retry-after');
    return text === undefined ? null : retryAfterMs(text, nowMs);
  }

  get noRetry(): boolean {
    return this.#header('task-no-retry')?.trim().toLowerCase() === 'true';
  }

  /** Of several headers with one name the first. */
  #header(name: string): string | undefined {
    const value = this.#headers[name];
    return Array.isArray(value) ? value[0] : value;
  }

  #keptAsOne(): Buffer {
    if (this.#kept.length !== 1) this.#kept = [Buffer.concat(this.#kept)];
    return this.#kept[0];
  }
}

function isJson(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(contentType.trim());
}

/** Text of at most as many bytes as there were; what is not UTF-8 is replaced, and a character cut in two left out. */
function historyText(bytes: Buffer): string {
  const text = new StringDecoder('utf8').write(bytes);
  // A replacement has more bytes than what it stands for.
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(MAX_HISTORY_BYTES));
  return text.slice(0, read);
}

/** The text, when it is JSON in UTF-8; null when not. */
function jsonText(bytes: Buffer): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    JSON.parse(text);
    return depth(text) <= MAX_RESULT_DEPTH ? text.trim() : null;
  } catch {
    return null;
  }
}

/** How deep JSON is nested. */
function depth(json: string): number {
  let deepest = 0;
  let now = 0;
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (token === '[' || token === '{') deepest = Math.max(deepest, ++now);
    else if (token === ']' || token === '}') now--;
  }
  return deepest;
}

/** The longest time that a worker can put off. */
const LONGEST_MS = DAY_MS;

/** The three forms of a date in HTTP (RFC 9110, section 5.6.7). `Date.parse` alone finds a date in nearly any text. */
const DATES = [
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]+day, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
];
/** The last one does not name its zone, which is UTC. */
const DATE_WITHOUT_ZONE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/**
 * Reads `Retry-After`: seconds, or a date.
 *
 * @returns milliseconds from now, from 0 to those of a day; null when it is neither
 */
export function retryAfterMs(text: string, nowMs: number): number | null {
  const trimmed = text.trim();
  if (/^\d+$/.test(trimmed)) return Math.min(Number(trimmed) * 1000, LONGEST_MS);
  const at = dateMs(trimmed);
  return Number.isNaN(at) ? null : Math.min(Math.max(at - nowMs, 0), LONGEST_MS);
}

function dateMs(text: string): number {
  if (DATES.some(form => form.test(text))) return Date.parse(text);
  return DATE_WITHOUT_ZONE.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}
