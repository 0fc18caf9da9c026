import { DECIDED, EITHER, type HttpCase, head, outcome, post, posted, refused } from './case.ts';

/** A decision with one more line among its fields. */
function withLine(name: string, rfc: string, text: string, allows: HttpCase['allows']): HttpCase {
  return { name, rfc, allows, sends: ({ body }) => posted(body, text) };
}

/** A decision request with these fields and a `Content-Length`. */
function withHost(name: string, fields: readonly string[], allows: HttpCase['allows']): HttpCase {
  return {
    name,
    rfc: '9112 3.2',
    allows,
    sends: ({ body }) => head('POST /json HTTP/1.1', ...fields, `Content-Length: ${body.length}`) + body,
  };
}

/** Two requests that differ in the value of a field. */
function differing(name: string, ...values: readonly [string, string]): HttpCase {
  return {
    name,
    rfc: '9110 5.5',
    sends: () => values.map(value => head('GET /field HTTP/1.1', 'Host: exam', `X-Key: ${value}`)),
    allows: [outcome([200, 200], 'open')],
    check: ([first, second]) => (first.body === second.body ? `both are ${first.body}` : null),
  };
}

/** `Host` and the syntax of fields (RFC 9112, 3.2 and 5; RFC 9110, 5). */
export const fieldCases: readonly HttpCase[] = [
  withHost('no Host', ['Accept: */*'], refused(400)),
  withHost('two Host fields', ['Host: exam', 'Host: other'], refused(400)),
  withHost('two equal Host fields', ['Host: exam', 'Host: exam'], refused(400)),
  withHost('second Host behind other fields', ['Host: exam', 'Accept: */*', 'hOST: other'], refused(400)),
  withHost('Host with a port', ['Host: exam:8080'], DECIDED),
  withHost('Host that is an IPv6 address', ['Host: [::1]:8080'], DECIDED),
  withHost('empty Host', ['Host:'], DECIDED),
  withHost('Host with a space', ['Host: exam other'], refused(400)),
  withHost('Host with a path', ['Host: exam/path'], refused(400)),
  withHost('Host with user information', ['Host: user@exam'], refused(400)),
  {
    name: 'no field at all',
    rfc: '9112 3.2',
    sends: () => 'GET /probe HTTP/1.1\r\n\r\n',
    allows: refused(400),
  },
  {
    name: 'two Host fields on a route without a body',
    rfc: '9112 3.2',
    sends: () => head('GET /probe HTTP/1.1', 'Host: exam', 'Host: other'),
    allows: refused(400),
  },
  {
    name: 'two Host fields on an unknown path',
    rfc: '9112 3.2',
    sends: () => head('GET /nowhere HTTP/1.1', 'Host: exam', 'Host: other'),
    allows: refused(400),
  },
  withLine('space before the colon', '9112 5.1', 'X-Field : value', refused(400)),
  withLine('tab before the colon', '9112 5.1', 'X-Field\t: value', refused(400)),
  withLine('line without a colon', '9112 5', 'X-Field', refused(400)),
  withLine('empty field name', '9112 5, 9110 5.1', ': value', refused(400)),
  withLine('field name with a parenthesis', '9110 5.1', 'X-(Field: value', refused(400)),
  withLine('field name with a byte beyond ASCII', '9110 5.1', 'X-Fi\xe9ld: value', refused(400)),
  withLine('field name with a NUL', '9110 5.1', 'X-Fi\0eld: value', refused(400)),
  withLine(
    'field name of every character that a token may have',
    '9110 5.6.2',
    "!#$%&'*+-.^_`|~09azAZ: v",
    DECIDED,
  ),
  withLine('folded value', '9112 5.2', 'X-Field: one\r\n two', EITHER),
  withLine('value folded with a tab', '9112 5.2', 'X-Field: one\r\n\ttwo', EITHER),
  {
    name: 'space before the first field',
    rfc: '9112 2.2',
    sends: ({ body }) =>
      head('POST /json HTTP/1.1', ' X-Field: value', 'Host: exam', `Content-Length: ${body.length}`) + body,
    allows: EITHER,
  },
  withLine('value with a NUL', '9110 5.5', 'X-Field: one\0two', EITHER),
  withLine('value with a bare CR', '9112 2.2, 9110 5.5', 'X-Field: one\rtwo', EITHER),
  withLine('value with a control character', '9110 5.5', 'X-Field: one\x01two', EITHER),
  withLine('value with a DEL', '9110 5.5', 'X-Field: one\x7ftwo', EITHER),
  withLine('value with a tab', '9110 5.5', 'X-Field: one\ttwo', DECIDED),
  withLine('value with bytes beyond ASCII', '9110 5.5', 'X-Field: \xe9\xff', DECIDED),
  differing('values that differ in their last bytes, beyond ASCII', 'order-\xe4', 'order-\xf6'),
  differing('values that differ in their first bytes, beyond ASCII', '\xe4-order', '\xf6-order'),
  differing('values that differ by a last byte beyond ASCII', 'order-', 'order-\x80'),
  withLine('empty value', '9110 5.5', 'X-Field:', DECIDED),
  withLine('spaces and tabs around a value', '9112 5.1', 'X-Field: \t value \t ', DECIDED),
  withLine('no space before a value', '9112 5.1', 'X-Field:value', DECIDED),
  {
    name: 'names of fields in any case',
    rfc: '9110 5.1',
    sends: ({ body }) =>
      head('POST /json HTTP/1.1', 'hOST: exam', `cONTENT-lENGTH: ${body.length}`, 'X-y: z') + body,
    allows: DECIDED,
  },
  {
    name: 'bare LF at the end of a field',
    rfc: '9112 2.2',
    sends: ({ body }) => posted(body, 'X-Field: value').replace('value\r\n', 'value\n'),
    allows: EITHER,
  },
  {
    name: 'bare LF at the end of the request line',
    rfc: '9112 2.2',
    sends: ({ body }) => posted(body).replace('1.1\r\n', '1.1\n'),
    allows: EITHER,
  },
  {
    name: 'bare LF at the end of every line',
    rfc: '9112 2.2',
    sends: ({ body }) => posted(body).replaceAll('\r\n', '\n'),
    allows: EITHER,
  },
  {
    name: 'bare CR at the end of the fields',
    rfc: '9112 2.2',
    sends: ({ body }) => posted(body).replace('\r\n\r\n', '\r\n\rx'),
    allows: refused(400),
  },
  {
    name: 'call to switch to HTTP/2',
    rfc: '9110 7.8',
    sends: ({ body }) =>
      posted(body, 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'),
    allows: DECIDED,
  },
  {
    name: 'call to switch to a web socket',
    rfc: '9110 7.8',
    sends: () =>
      head(
        'GET /probe HTTP/1.1',
        'Host: exam',
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      ),
    allows: [outcome([200], 'open')],
  },
  {
    name: 'fields that a request may repeat',
    rfc: '9110 5.3',
    sends: ({ body }) => post(['Accept: a/b', 'Accept: c/d', `Content-Length: ${body.length}`], body),
    allows: DECIDED,
  },
];
