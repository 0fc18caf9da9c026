import {
  DECIDED,
  DECIDED_AND_CLOSED,
  EITHER,
  type HttpCase,
  head,
  oneChunk,
  outcome,
  post,
  posted,
  refused,
} from './case.ts';

/** A POST of a whole body whose `Content-Length` is this text. */
function withLength(name: string, text: (length: number) => string, allows: HttpCase['allows']): HttpCase {
  return {
    name,
    rfc: '9112 6.3',
    allows,
    sends: ({ body }) => post([`Content-Length:${text(body.length)}`], body),
  };
}

/** A POST of a chunked body under these fields. */
function withCoding(name: string, fields: readonly string[], allows: HttpCase['allows']): HttpCase {
  return { name, rfc: '9112 6.1, 6.3', allows, sends: ({ body }) => post(fields, oneChunk(body)) };
}

const UNKNOWN_CODING = refused(400, 501);

/** Where a body ends: `Content-Length` and `Transfer-Encoding` (RFC 9112, 6). */
export const lengthCases: readonly HttpCase[] = [
  withLength('length with leading zeros', length => ` 000${length}`, DECIDED),
  withLength('length with a plus', length => ` +${length}`, refused(400)),
  withLength('length with a minus', length => ` -${length}`, refused(400)),
  withLength('length in hexadecimal', length => ` 0x${length.toString(16)}`, refused(400)),
  withLength('length with a fraction', length => ` ${length}.0`, refused(400)),
  withLength('length with an exponent', length => ` ${length}e0`, refused(400)),
  withLength('length that is a word', () => ' abc', refused(400)),
  withLength('empty length', () => '', refused(400)),
  withLength('length of two numbers', length => ` ${length} ${length}`, refused(400)),
  withLength('length as a list of equal numbers', length => ` ${length}, ${length}`, EITHER),
  withLength('length as a list of different numbers', length => ` ${length}, 1`, refused(400)),
  withLength('length in other digits', () => ' \xb2\xb3', refused(400)),
  withLength('length with a byte beyond ASCII', length => ` ${length}\xa0`, refused(400)),
  withCoding('coding with a byte beyond ASCII', ['Transfer-Encoding: \xa0chunked'], UNKNOWN_CODING),
  withLength('length beyond 64 bits', () => ' 36893488147419103232', refused(400, 413)),
  withLength('length beyond what a double counts', () => ' 99999999999999999', refused(400, 413)),
  {
    name: 'length that is a word, on a route without a body',
    rfc: '9112 6.3',
    sends: () => head('GET /probe HTTP/1.1', 'Host: exam', 'Content-Length: abc'),
    allows: refused(400),
  },
  {
    name: 'empty length, on a route without a body',
    rfc: '9112 6.3',
    sends: ({ body }) => head('GET /probe HTTP/1.1', 'Host: exam', 'Content-Length:') + posted(body),
    allows: refused(400),
  },
  {
    name: 'length repeated with equal values',
    rfc: '9112 6.3',
    sends: ({ body }) => posted(body, `Content-Length: ${body.length}`),
    allows: EITHER,
  },
  {
    name: 'lengths that differ, the larger one first',
    rfc: '9112 6.3',
    sends: ({ body }) => posted(body, `Content-Length: ${body.length + 1}`),
    allows: refused(400),
  },
  {
    name: 'lengths that differ, the smaller one first',
    rfc: '9112 6.3',
    sends: ({ body }) => posted(body, 'Content-Length: 1'),
    allows: refused(400),
  },
  {
    name: 'lengths that differ, with other fields between',
    rfc: '9112 6.3',
    sends: ({ body }) => posted(body, 'content-length: 0', 'Accept: */*', 'X-Field: value'),
    allows: refused(400),
  },
  {
    name: 'lengths that differ, on a route without a body',
    rfc: '9112 6.3',
    sends: () => head('GET /probe HTTP/1.1', 'Host: exam', 'Content-Length: 0', 'Content-Length: 5'),
    allows: refused(400),
  },
  {
    name: 'neither length nor coding',
    rfc: '9112 6.3',
    sends: () => post([], ''),
    allows: [outcome([400], 'open'), ...refused(400, 411)],
  },
  {
    name: 'length of 0',
    rfc: '9112 6.3',
    sends: () => posted(''),
    allows: [outcome([400], 'open'), ...refused(400)],
  },
  {
    name: 'body of a GET that looks like a request',
    rfc: '9112 6.3, 11.2',
    sends: ({ body }) => {
      const inside = posted(body);
      return head('GET /probe HTTP/1.1', 'Host: exam', `Content-Length: ${inside.length}`) + inside;
    },
    allows: [outcome([200], 'open'), outcome([200], 'closed')],
  },
  {
    name: 'chunked body of a GET that looks like a request',
    rfc: '9112 6.3, 11.2',
    sends: ({ body }) =>
      head('GET /probe HTTP/1.1', 'Host: exam', 'Transfer-Encoding: chunked') + oneChunk(posted(body)),
    allows: [outcome([200], 'open'), outcome([200], 'closed')],
  },
  withCoding('chunked', ['Transfer-Encoding: chunked'], DECIDED),
  withCoding('chunked in upper case, with spaces around', ['Transfer-Encoding:  CHUNKED '], DECIDED),
  withCoding(
    'chunked behind an empty member of the list',
    ['Transfer-Encoding: , chunked'],
    [...DECIDED, ...UNKNOWN_CODING],
  ),
  withCoding('coding xchunked', ['Transfer-Encoding: xchunked'], UNKNOWN_CODING),
  withCoding('coding chunkedx', ['Transfer-Encoding: chunkedx'], UNKNOWN_CODING),
  withCoding('coding chunked twice in one field', ['Transfer-Encoding: chunked, chunked'], UNKNOWN_CODING),
  withCoding(
    'coding chunked in two fields',
    ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'],
    UNKNOWN_CODING,
  ),
  withCoding('coding gzip before chunked', ['Transfer-Encoding: gzip, chunked'], UNKNOWN_CODING),
  withCoding('coding gzip behind chunked', ['Transfer-Encoding: chunked, gzip'], UNKNOWN_CODING),
  withCoding('coding gzip alone', ['Transfer-Encoding: gzip'], UNKNOWN_CODING),
  withCoding('coding identity', ['Transfer-Encoding: identity'], UNKNOWN_CODING),
  withCoding(
    'coding identity and then chunked, in two fields',
    ['Transfer-Encoding: identity', 'Transfer-Encoding: chunked'],
    UNKNOWN_CODING,
  ),
  withCoding(
    'coding chunked and then identity, in two fields',
    ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'],
    UNKNOWN_CODING,
  ),
  withCoding('coding chunked with a parameter', ['Transfer-Encoding: chunked;q=1'], UNKNOWN_CODING),
  withCoding('coding chunked in quotes', ['Transfer-Encoding: "chunked"'], UNKNOWN_CODING),
  withCoding('coding with a vertical tab before chunked', ['Transfer-Encoding: \x0bchunked'], UNKNOWN_CODING),
  withCoding('empty coding', ['Transfer-Encoding:'], UNKNOWN_CODING),
  withCoding(
    'chunked in a field with a space before its colon',
    ['Transfer-Encoding : chunked'],
    refused(400),
  ),
  {
    name: 'coding xchunked on a route without a body',
    rfc: '9112 6.1',
    sends: ({ body }) =>
      head('GET /probe HTTP/1.1', 'Host: exam', 'Transfer-Encoding: xchunked') + oneChunk(body),
    allows: UNKNOWN_CODING,
  },
  {
    name: 'chunked and a length',
    rfc: '9112 6.1, 6.3',
    sends: ({ body }) =>
      post(['Transfer-Encoding: chunked', `Content-Length: ${body.length}`], oneChunk(body)),
    allows: [...refused(400), ...DECIDED_AND_CLOSED],
  },
  {
    name: 'a length and chunked',
    rfc: '9112 6.1, 6.3',
    sends: ({ body }) => post(['Content-Length: 5', 'Transfer-Encoding: chunked'], oneChunk(body)),
    allows: [...refused(400), ...DECIDED_AND_CLOSED],
  },
  {
    name: 'chunked over HTTP/1.0',
    rfc: '9112 6.1',
    sends: ({ body }) =>
      head('POST /json HTTP/1.0', 'Host: exam', 'Transfer-Encoding: chunked') + oneChunk(body),
    allows: [...refused(400, 501), ...DECIDED_AND_CLOSED],
  },
];
