import { DECIDED, type HttpCase, head, outcome, post, posted, refused, SERVED } from './case.ts';

const HOST = 'Host: exam';

/** A request line alone, for the route that answers GET with 200. */
function line(text: string): () => string {
  return () => head(text, HOST);
}

/** The request line and the target (RFC 9112, 3). */
export const requestLineCases: readonly HttpCase[] = [
  {
    name: 'target in origin form',
    rfc: '9112 3.2.1',
    sends: line('GET /probe?a=b&c=%20/?x HTTP/1.1'),
    allows: SERVED,
  },
  {
    name: 'target in absolute form',
    rfc: '9112 3.2.2',
    sends: line('GET http://exam/probe HTTP/1.1'),
    allows: SERVED,
  },
  {
    name: 'target in absolute form with a query and another host than the field',
    rfc: '9112 3.2.2',
    sends: line('GET http://other.example:8080/probe?a=b HTTP/1.1'),
    allows: SERVED,
  },
  {
    name: 'decision with its target in absolute form',
    rfc: '9112 3.2.2',
    sends: ({ body }) =>
      head('POST http://exam/json HTTP/1.1', HOST, `Content-Length: ${body.length}`) + body,
    allows: DECIDED,
  },
  {
    name: 'OPTIONS *',
    rfc: '9112 3.2.4',
    sends: line('OPTIONS * HTTP/1.1'),
    allows: [200, 204, 405, 501].flatMap(status => [outcome([status], 'open'), outcome([status], 'closed')]),
  },
  {
    name: 'asterisk for another method',
    rfc: '9112 3.2.4',
    sends: line('GET * HTTP/1.1'),
    allows: [...refused(400), outcome([404], 'open'), outcome([400], 'open')],
  },
  {
    name: 'CONNECT with an authority',
    rfc: '9112 3.2.3, 9110 9.3.6',
    sends: line('CONNECT exam.example:443 HTTP/1.1'),
    allows: [...refused(400, 405, 501), outcome([405], 'open'), outcome([501], 'open')],
  },
  {
    name: 'target without a slash',
    rfc: '9112 3',
    sends: line('GET probe HTTP/1.1'),
    allows: [...refused(400), outcome([400], 'open'), outcome([404], 'open')],
  },
  {
    name: 'target with a fragment',
    rfc: '9112 3.2.1',
    sends: line('GET /probe#part HTTP/1.1'),
    allows: [...refused(400), outcome([400], 'open'), outcome([404], 'open')],
  },
  {
    name: 'target with a NUL',
    rfc: '9112 3',
    sends: line('GET /pro\0be HTTP/1.1'),
    allows: refused(400),
  },
  {
    name: 'target with a space',
    rfc: '9112 3',
    sends: line('GET /pro be HTTP/1.1'),
    allows: refused(400),
  },
  {
    name: 'bytes beyond ASCII in the target',
    rfc: '9112 3.2, 3986 2',
    sends: line('GET /prob\xe9 HTTP/1.1'),
    allows: [...refused(400), outcome([400], 'open'), outcome([404], 'open')],
  },
  {
    name: 'method that nobody knows',
    rfc: '9110 9.1',
    sends: ({ body }) => head('BREW /json HTTP/1.1', HOST, `Content-Length: ${body.length}`) + body,
    allows: [...refused(405, 501), outcome([405], 'open'), outcome([501], 'open')],
  },
  {
    name: 'method in lower case',
    rfc: '9110 9.1',
    sends: ({ body }) => head('post /json HTTP/1.1', HOST, `Content-Length: ${body.length}`) + body,
    allows: [...refused(400, 405, 501), outcome([405], 'open'), outcome([501], 'open')],
  },
  {
    name: 'method with a character that no token has',
    rfc: '9110 9.1, 5.6.2',
    sends: ({ body }) => head('PO(ST /json HTTP/1.1', HOST, `Content-Length: ${body.length}`) + body,
    allows: [...refused(400, 405, 501), outcome([405], 'open'), outcome([501], 'open')],
  },
  {
    name: 'HTTP/1.0 without a Host',
    rfc: '9110 2.5, 9112 9.3',
    sends: () => head('GET /probe HTTP/1.0', 'Accept: */*'),
    allows: [outcome([200], 'closed')],
  },
  {
    name: 'HTTP/1.0 without any field',
    rfc: '9110 2.5, 9112 9.3',
    sends: () => 'GET /probe HTTP/1.0\r\n\r\n',
    allows: [outcome([200], 'closed')],
  },
  {
    name: 'HTTP/1.0 with keep-alive',
    rfc: '9112 9.3, C.2.2',
    sends: () => head('GET /probe HTTP/1.0', HOST, 'Connection: keep-alive'),
    allows: [outcome([200], 'closed'), outcome([200], 'open')],
    check: ([answer]) =>
      // Without the field the caller would wait for the end of the connection (9112 C.2.2).
      ['close', 'keep-alive'].includes((answer.headers.get('connection') ?? '').toLowerCase())
        ? null
        : 'neither `Connection: keep-alive` nor `close`',
  },
  {
    name: 'decision over HTTP/1.0',
    rfc: '9110 2.5, 9112 9.3',
    sends: ({ body }) => head('POST /json HTTP/1.0', `Content-Length: ${body.length}`) + body,
    allows: [outcome([200], 'closed', 1)],
  },
  {
    name: 'HTTP/1.2',
    rfc: '9110 2.5',
    sends: line('GET /probe HTTP/1.2'),
    allows: SERVED,
  },
  {
    name: 'HTTP/2.0 as the version of a request line',
    rfc: '9110 15.6.6',
    sends: line('GET /probe HTTP/2.0'),
    allows: refused(400, 505),
  },
  {
    name: 'the preface of HTTP/2',
    rfc: '9113 3.4, 9110 15.6.6',
    sends: () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    allows: refused(400, 505),
  },
  {
    name: 'HTTP/0.9',
    rfc: '9112 3',
    sends: () => 'GET /probe\r\n\r\n',
    allows: refused(400, 505),
  },
  {
    name: 'version in lower case',
    rfc: '9112 2.3',
    sends: line('GET /probe http/1.1'),
    allows: refused(400, 505),
  },
  {
    name: 'version with two digits',
    rfc: '9112 2.3',
    sends: line('GET /probe HTTP/1.10'),
    allows: refused(400, 505),
  },
  {
    name: 'two spaces in the request line',
    rfc: '9112 3',
    sends: line('GET  /probe HTTP/1.1'),
    allows: [...refused(400), ...SERVED],
  },
  {
    name: 'tab in the request line',
    rfc: '9112 3',
    sends: line('GET\t/probe HTTP/1.1'),
    allows: [...refused(400), ...SERVED],
  },
  {
    name: 'space at the end of the request line',
    rfc: '9112 3',
    sends: line('GET /probe HTTP/1.1 '),
    allows: [...refused(400), ...SERVED],
  },
  {
    name: 'space before the request line',
    rfc: '9112 3',
    sends: line(' GET /probe HTTP/1.1'),
    allows: [...refused(400), ...SERVED],
  },
  {
    name: 'empty line before a request',
    rfc: '9112 2.2',
    sends: ({ body }) => `\r\n${posted(body)}`,
    allows: DECIDED,
  },
  {
    name: 'empty line behind a body, before the next request',
    rfc: '9112 2.2',
    sends: ({ body }) => [`${posted(body)}\r\n`],
    allows: DECIDED,
  },
  {
    name: 'bytes that are no HTTP',
    rfc: '9112 3',
    sends: () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n',
    allows: refused(400),
  },
  {
    name: 'request behind one that is malformed',
    rfc: '9112 2.2, 11.2',
    sends: ({ body }) => head('GET /pro be HTTP/1.1', HOST) + posted(body),
    allows: refused(400),
  },
  {
    name: 'unknown path',
    rfc: '9110 15.5.5',
    sends: line('GET /nowhere HTTP/1.1'),
    allows: [outcome([404], 'open')],
  },
  {
    name: 'other method than that of the path',
    rfc: '9110 15.5.6',
    sends: () => post([], '').replace('POST', 'GET'),
    allows: [outcome([405], 'open')],
    check: ([answer]) => (answer.headers.get('allow') === 'POST' ? null : 'no `Allow: POST`'),
  },
  {
    name: 'HEAD of a path that serves POST',
    rfc: '9110 15.5.6',
    sends: () => post([], '').replace('POST', 'HEAD'),
    bodiless: true,
    allows: [outcome([405], 'open')],
    check: ([answer]) => (answer.headers.get('allow') === 'POST' ? null : 'no `Allow: POST`'),
  },
  {
    name: 'DELETE with a body of a path that serves GET',
    rfc: '9110 15.5.6',
    sends: ({ body }) => posted(body).replace('POST /json', 'DELETE /probe'),
    allows: [outcome([405], 'open'), outcome([405], 'closed')],
    check: ([answer]) => (answer.headers.get('allow') === 'GET, HEAD' ? null : 'no `Allow: GET, HEAD`'),
  },
];
