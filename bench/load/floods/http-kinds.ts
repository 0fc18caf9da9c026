import { FLOOD_DOMAIN } from './kinds.ts';

/** What one kind of flooder sends to an HTTP port. */
export interface HttpFloodKind {
  readonly name: string;
  /** Default: the port of `/json`. */
  readonly port?: 'debug';
  /** Bytes that are repeated: one request or several. */
  readonly each: () => Buffer;
  /**
   * When the bytes are sent. `one`: after the answer to the previous ones. `full`: as fast as the socket accepts them;
   * answers are read and discarded. `unread`: the same, without reading answers. `new`: each on a new connection.
   */
  readonly pace: 'one' | 'full' | 'unread' | 'new';
}

function post(body: string): Buffer {
  const bytes = Buffer.from(body);
  const head = `POST /json HTTP/1.1\r\nHost: flood\r\nContent-Length: ${bytes.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), bytes]);
}

function body(key: string, values: readonly string[]): string {
  const descriptors = values.map(value => ({ entries: [{ key, value }] }));
  return JSON.stringify({ domain: FLOOD_DOMAIN, descriptors });
}

const times = (count: number, bytes: Buffer): Buffer => Buffer.concat(Array(count).fill(bytes));
const always =
  (bytes: Buffer): (() => Buffer) =>
  () =>
    bytes;

const manyValues = (text: string): string[] => Array.from({ length: 4_000 }, (_, i) => `${text}${i}`);
const ONE = post(body('user', ['ann']));
const MANY = post(body('user', manyValues('u')));
const LONGEST = body('user', manyValues('u'.padEnd(1_000, 'x')));

const FIELDS = Array.from({ length: 60 }, (_, i) => `X-Field-${i}: ${'v'.repeat(200)}\r\n`).join('');
const LARGE_HEAD = Buffer.from(`GET /healthcheck HTTP/1.1\r\nHost: flood\r\n${FIELDS}\r\n`);
const TOO_LARGE_HEAD = Buffer.from(
  `GET /healthcheck HTTP/1.1\r\nHost: flood\r\nX: ${'v'.repeat(120_000)}\r\n\r\n`,
);

const CHUNKED = 'POST /json HTTP/1.1\r\nHost: flood\r\nTransfer-Encoding: chunked\r\n\r\n';
const OCTETS = [...body('user', manyValues('u'))].map(octet => `1\r\n${octet}\r\n`).join('');
const IN_OCTETS = Buffer.from(`${CHUNKED}${OCTETS}0\r\n\r\n`);

/** Returns a string that no other call of the run uses. */
let named = 0;
const newNames = (): Buffer => post(body('named', manyValues(`h${(named++).toString(36)}-`)));

const get = (path: string): Buffer => Buffer.from(`GET ${path} HTTP/1.1\r\nHost: flood\r\n\r\n`);

export const HTTP_FLOOD_KINDS: readonly HttpFloodKind[] = [
  { name: 'one call at a time', each: always(ONE), pace: 'one' },
  { name: 'pipelined calls', each: always(times(400, ONE)), pace: 'full' },
  { name: 'calls of 4000 descriptors', each: always(MANY), pace: 'one' },
  { name: 'pipelined 4000 descriptors', each: always(MANY), pace: 'full' },
  { name: 'calls of 4000 new metric names', each: newNames, pace: 'one' },
  { name: 'calls of 4 MB', each: always(post(LONGEST)), pace: 'one' },
  { name: 'invalid JSON', each: always(times(800, post('{'))), pace: 'full' },
  { name: 'invalid JSON at the end of 4 MB', each: always(post(`${LONGEST}x`)), pace: 'one' },
  { name: '404', each: always(times(2_000, get('/nope'))), pace: 'full' },
  { name: '405', each: always(times(2_000, get('/json'))), pace: 'full' },
  { name: 'large heads', each: always(times(5, LARGE_HEAD)), pace: 'full' },
  { name: '431', each: always(TOO_LARGE_HEAD), pace: 'full' },
  { name: 'chunks of one octet', each: always(IN_OCTETS), pace: 'one' },
  { name: 'chunks without end', each: always(Buffer.from(CHUNKED + OCTETS)), pace: 'full' },
  { name: 'connections', each: always(ONE), pace: 'new' },
  { name: 'answers that nobody reads', each: always(MANY), pace: 'unread' },
  { name: '/stats that nobody reads', port: 'debug', each: always(get('/stats')), pace: 'unread' },
];
