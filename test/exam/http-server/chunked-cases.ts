import {
  type Ask,
  chunked,
  DECIDED,
  EITHER,
  END,
  type HttpCase,
  oneChunk,
  outcome,
  refused,
} from './case.ts';

/** A body whose chunks are these bytes. */
function chunks(
  name: string,
  bytes: (ask: Ask) => string,
  allows: HttpCase['allows'],
  rfc = '9112 7.1',
): HttpCase {
  return { name, rfc, allows, sends: ask => chunked(bytes(ask)) };
}

/** A body in one chunk whose size line is this text. */
function sizeLine(
  name: string,
  text: (hex: string) => string,
  allows: HttpCase['allows'],
  rfc = '9112 7.1',
): HttpCase {
  return chunks(name, ({ body }) => `${text(body.length.toString(16))}\r\n${body}\r\n0\r\n\r\n`, allows, rfc);
}

/** The chunked coding in every odd form (RFC 9112, 7.1). */
export const chunkedCases: readonly HttpCase[] = [
  chunks(
    'very many chunks of one byte',
    ({ body }) => `${[...body, ...' '.repeat(5_000)].map(byte => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`,
    [...DECIDED, ...refused(400, 413)],
  ),
  chunks(
    'body in chunks of one byte',
    ({ body }) => `${[...body].map(byte => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`,
    DECIDED,
  ),
  sizeLine('chunk size in upper case', hex => hex.toUpperCase(), DECIDED),
  sizeLine('chunk size with leading zeros', hex => `0000${hex}`, DECIDED),
  sizeLine('chunk size with very many leading zeros', hex => `${'0'.repeat(40)}${hex}`, EITHER),
  chunks(
    'last chunk of several zeros',
    ({ body }) => oneChunk(body).replace('\r\n0\r\n', '\r\n000\r\n'),
    DECIDED,
  ),
  sizeLine('chunk extension', hex => `${hex};name=value`, DECIDED, '9112 7.1.1'),
  sizeLine('chunk extension without a value', hex => `${hex};name`, DECIDED, '9112 7.1.1'),
  sizeLine('chunk extension in quotes', hex => `${hex};name="a;b\\"c"`, DECIDED, '9112 7.1.1'),
  sizeLine('chunk extension of hexadecimal digits', hex => `${hex};a=b`, DECIDED, '9112 7.1.1'),
  sizeLine('chunk extension with spaces around', hex => `${hex} ; name = value`, EITHER, '9112 7.1.1'),
  sizeLine(
    'chunk extension of 64 KiB',
    hex => `${hex};${'x'.repeat(65_536)}`,
    [...DECIDED, ...refused(400, 413, 431)],
    '9112 7.1.1',
  ),
  chunks(
    'extension of the last chunk',
    ({ body }) => oneChunk(body).replace('\r\n0\r\n', '\r\n0;name=value\r\n'),
    DECIDED,
    '9112 7.1.1',
  ),
  sizeLine('chunk size with a space behind', hex => `${hex} `, EITHER),
  sizeLine('chunk size with a space before', hex => ` ${hex}`, EITHER),
  sizeLine('chunk size with a minus', hex => `-${hex}`, refused(400)),
  sizeLine('chunk size with a plus', hex => `+${hex}`, refused(400)),
  sizeLine('chunk size with 0x', hex => `0x${hex}`, refused(400)),
  sizeLine('chunk size with the digit g', hex => `${hex}g`, refused(400)),
  sizeLine('chunk size with a colon', hex => `:${hex}`, refused(400)),
  sizeLine('empty chunk size', () => '', refused(400)),
  sizeLine('chunk size beyond 64 bits', hex => `1${'0'.repeat(15)}${hex}`, refused(400, 413)),
  sizeLine('chunk size beyond what a double counts', () => 'fffffffffffffff', refused(400, 413)),
  sizeLine('chunk size of 32 bits', () => 'ffffffff', refused(400, 413)),
  sizeLine('chunk size with a NUL', hex => `${hex}\0`, refused(400)),
  chunks('bare LF behind a chunk size', ({ body }) => oneChunk(body).replace('\r\n', '\n'), refused(400)),
  chunks('bare CR behind a chunk size', ({ body }) => oneChunk(body).replace('\r\n', '\r'), refused(400)),
  chunks('bare LF behind a chunk', ({ body }) => oneChunk(body).replace('\r\n0', '\n0'), refused(400)),
  chunks('nothing behind a chunk', ({ body }) => oneChunk(body).replace('\r\n0', '0'), refused(400)),
  chunks(
    'other bytes than CRLF behind a chunk',
    ({ body }) => oneChunk(body).replace('\r\n0', 'xx0'),
    refused(400),
  ),
  chunks(
    'chunk that is longer than its size',
    ({ body }) => `${(body.length - 4).toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    refused(400),
  ),
  chunks('other bytes than CRLF at the end', ({ body }) => `${oneChunk(body).slice(0, -2)}xx`, refused(400)),
  {
    name: 'trailer',
    rfc: '9112 7.1.2',
    sends: ({ body }) => chunked(`${oneChunk(body).slice(0, -2)}X-Sum: 1\r\n\r\n`),
    allows: DECIDED,
  },
  {
    name: 'trailer that is announced',
    rfc: '9112 7.1.2, 9110 6.6.2',
    sends: ({ body }) =>
      chunked(`${oneChunk(body).slice(0, -2)}X-Sum: 1\r\nX-Other: 2\r\n\r\n`, 'Trailer: X-Sum, X-Other'),
    allows: DECIDED,
  },
  {
    name: 'trailer in a read of its own',
    rfc: '9112 7.1.2',
    sends: ({ body }) => [chunked(oneChunk(body).slice(0, -2)), 'X-Sum: 1\r\n\r\n'],
    allows: DECIDED,
  },
  {
    name: 'trailer with a length and a Host',
    rfc: '9112 7.1.2, 9110 6.5.1',
    sends: ({ body }) => chunked(`${oneChunk(body).slice(0, -2)}Content-Length: 5\r\nHost: other\r\n\r\n`),
    allows: EITHER,
  },
  {
    name: 'trailer that looks like a request',
    rfc: '9112 7.1.2, 11.2',
    sends: ({ body }) =>
      chunked(
        `${oneChunk(body).slice(0, -2)}x:POST /json HTTP/1.1\r\nHost: exam\r\nContent-Length: ${body.length}\r\n\r\n`,
      ) + body,
    // The trailer is followed by an invalid request line.
    allows: [outcome([200, 400], 'closed', 1), ...refused(400)],
  },
  {
    name: 'trailer of 64 KiB',
    rfc: '9112 7.1.2',
    sends: ({ body }) => chunked(`${oneChunk(body).slice(0, -2)}X-Sum: ${'x'.repeat(65_536)}\r\n\r\n`),
    allows: [...DECIDED, ...refused(400, 413, 431)],
  },
  {
    name: 'chunked body that never ends, and then the end of the connection',
    rfc: '9112 8',
    sends: ({ body }) => [chunked(oneChunk(body).slice(0, -5)), END],
    allows: [outcome([], 'closed'), ...refused(400)],
  },
];
