import type { Departure } from './exam.ts';

/**
 * The parser drops bytes from 0x80 on from both ends of a value wherever the type `char` of C++ is signed: everywhere
 * but on Linux on ARM.
 */
const DROPS_BYTES = process.platform !== 'linux' || !process.arch.startsWith('arm');

/** Outcomes that are due to the parser of uWebSockets.js, in the order of `docs/http.md`. */
export const UWS_DEPARTURES: readonly Departure[] = [
  {
    limit: 'Chunk extensions',
    outcome: '400 closed',
    cases: [
      'chunk extension',
      'chunk extension without a value',
      'chunk extension in quotes',
      'extension of the last chunk',
    ],
  },
  { limit: 'Chunk extensions', outcome: 'silent', cases: ['chunk extension of hexadecimal digits'] },
  ...(DROPS_BYTES
    ? [
        {
          limit: 'Bytes beyond ASCII around a value',
          outcome: '200 open asked 1',
          cases: ['length with a byte beyond ASCII', 'coding with a byte beyond ASCII'],
        },
        {
          limit: 'Bytes beyond ASCII around a value',
          outcome: '200 200 open: both are "order-"',
          cases: [
            'values that differ in their last bytes, beyond ASCII',
            'values that differ by a last byte beyond ASCII',
          ],
        },
        {
          limit: 'Bytes beyond ASCII around a value',
          outcome: '200 200 open: both are "-order"',
          cases: ['values that differ in their first bytes, beyond ASCII'],
        },
      ]
    : []),
  { limit: 'Empty lines before a request', outcome: 'silent', cases: ['empty line before a request'] },
  {
    limit: 'Empty lines before a request',
    outcome: '200 silent asked 1',
    cases: ['empty line behind a body, before the next request'],
  },
  {
    limit: 'Malformed chunks',
    outcome: '400 silent',
    cases: ['chunk size with a space before', 'empty chunk size'],
  },
  {
    limit: 'Malformed chunks',
    outcome: 'silent',
    cases: [
      'chunk size with the digit g',
      'chunk size with a colon',
      'chunk size beyond what a double counts',
      'chunk size of 32 bits',
      'bare CR behind a chunk size',
    ],
  },
  {
    limit: 'Malformed chunks',
    outcome: '200 open asked 1',
    cases: [
      'chunk size with a NUL',
      'bare LF behind a chunk size',
      'bare LF behind a chunk',
      'nothing behind a chunk',
      'other bytes than CRLF behind a chunk',
      'other bytes than CRLF at the end',
    ],
  },
  {
    limit: 'Malformed fields',
    outcome: 'silent',
    cases: [
      'no field at all',
      'space before the colon',
      'tab before the colon',
      'line without a colon',
      'field name with a parenthesis',
      'field name with a byte beyond ASCII',
      'field name with a NUL',
      'folded value',
      'value folded with a tab',
      'space before the first field',
      'value with a NUL',
      'value with a bare CR',
      'value with a control character',
      'bare LF at the end of a field',
      'bare CR at the end of the fields',
      'coding with a vertical tab before chunked',
      'chunked in a field with a space before its colon',
    ],
  },
  { limit: 'Malformed fields', outcome: '400 405 silent', cases: ['empty field name'] },
  {
    limit: 'Malformed request lines',
    outcome: '505 closed',
    cases: [
      'target with a NUL',
      'target with a space',
      'two spaces in the request line',
      'tab in the request line',
      'space at the end of the request line',
      'space before the request line',
      'bytes that are no HTTP',
      'request behind one that is malformed',
      'bare LF at the end of the request line',
      'bare LF at the end of every line',
    ],
  },
  { limit: 'Malformed request lines', outcome: 'silent', cases: ['HTTP/0.9'] },
  {
    limit: 'HTTP versions other than 1.1',
    outcome: '505 closed',
    cases: [
      'HTTP/1.0 without a Host',
      'HTTP/1.0 without any field',
      'HTTP/1.0 with keep-alive',
      'decision over HTTP/1.0',
      'HTTP/1.2',
      'chunked over HTTP/1.0',
    ],
  },
  {
    limit: 'Pipelining behind a slow answer',
    outcome: 'closed asked 1',
    cases: [
      'request behind one that says close and is answered later',
      'request in the read of one that is answered later',
      'quick request in the read of one that is answered later',
    ],
  },
  {
    limit: 'Pipelining behind a slow answer',
    outcome: 'closed',
    cases: [
      'request in the read of one whose answer takes several turns',
      'request in a read behind one whose answer takes several turns',
    ],
  },
  {
    limit: 'Split request lines',
    outcome: '505 closed',
    cases: ['request in two reads, divided in its request line', 'request in reads of one byte'],
  },
  {
    limit: 'Targets that do not begin with a slash',
    outcome: '505 closed',
    cases: [
      'target in absolute form',
      'target in absolute form with a query and another host than the field',
      'decision with its target in absolute form',
      'OPTIONS *',
      'asterisk for another method',
      'CONNECT with an authority',
      'target without a slash',
    ],
  },
  {
    limit: 'Other spellings of Expect',
    outcome: '200 open asked 1',
    cases: ['leave asked for in other letters'],
  },
  {
    limit: 'Expect with a body that is too large',
    outcome: '100 413 closed',
    cases: ['leave asked for a body that is too large'],
  },
  {
    limit: 'Connection options of five letters',
    outcome: '200 closed asked 1',
    cases: ['option of five characters that is not close'],
  },
  {
    limit: 'Requests after Connection: close',
    outcome: '200 200 open asked 2',
    cases: ['request behind one that says close'],
  },
  {
    limit: 'Pipelining behind a slow answer',
    outcome: 'closed',
    cases: ['chunked requests in one read', 'empty length, on a route without a body'],
  },
  {
    limit: 'Pipelining behind a slow answer',
    outcome: 'closed asked 1',
    cases: ['requests without and with a body in one read'],
  },
  {
    limit: 'Trailers',
    outcome: '505 closed',
    cases: ['trailer', 'trailer that is announced', 'trailer with a length and a Host', 'trailer of 64 KiB'],
  },
  { limit: 'Trailers', outcome: '200 505 closed asked 1', cases: ['trailer in a read of its own'] },
  { limit: 'Trailers', outcome: 'closed', cases: ['trailer that looks like a request'] },
  {
    limit: 'Chunks larger than the largest body',
    outcome: 'silent',
    cases: ['chunk that says to be larger than the largest size'],
  },
];
