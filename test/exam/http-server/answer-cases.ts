import { type HttpCase, head, outcome } from './case.ts';
import type { PeerAnswer } from './peer.ts';

function get(path: string, method = 'GET'): () => string {
  return () => head(`${method} ${path} HTTP/1.1`, 'Host: exam');
}

const lengthOf = ({ headers }: PeerAnswer): string | undefined => headers.get('content-length');

/** Header fields and bodies of answers (RFC 9110, 6.6, 8.6, 9.3.2, 15; RFC 9112, 6). */
export const answerCases: readonly HttpCase[] = [
  {
    name: 'answer to GET',
    rfc: '9110 6.6.1, 8.3, 8.6',
    sends: get('/probe'),
    allows: [outcome([200], 'open')],
    check: ([answer]) => {
      if (lengthOf(answer) !== '5' || answer.body !== 'probe') return 'not `probe`, with its length';
      if (Number.isNaN(Date.parse(answer.headers.get('date') ?? ''))) return 'no `Date`';
      return answer.headers.get('content-type') === 'text/plain; charset=utf-8' ? null : 'no `Content-Type`';
    },
  },
  {
    name: 'answer to HEAD',
    rfc: '9110 9.3.2',
    sends: get('/probe', 'HEAD'),
    bodiless: true,
    allows: [outcome([200], 'open')],
    check: ([answer]) => (lengthOf(answer) === '5' ? null : `length ${lengthOf(answer)}, not that of GET`),
  },
  {
    name: 'two HEAD in one read',
    rfc: '9110 9.3.2',
    sends: () => get('/probe', 'HEAD')().repeat(2),
    bodiless: true,
    allows: [outcome([200, 200], 'open')],
  },
  {
    name: 'answer without content',
    rfc: '9110 15.3.5, 8.6',
    sends: get('/none'),
    allows: [outcome([204], 'open')],
    check: ([answer]) =>
      lengthOf(answer) === undefined && !answer.headers.has('transfer-encoding')
        ? null
        : 'a 204 with a length',
  },
  {
    name: 'answer that says that nothing was modified',
    rfc: '9110 15.4.5, 8.6',
    sends: () => [get('/unchanged')(), get('/probe')()],
    allows: [outcome([304, 200], 'open')],
    check: ([answer]) =>
      lengthOf(answer) === undefined && !answer.headers.has('transfer-encoding')
        ? null
        : 'a 304 with a length',
  },
  {
    name: 'answer to HEAD of an unknown path',
    rfc: '9110 9.3.2',
    sends: get('/nowhere', 'HEAD'),
    bodiless: true,
    allows: [outcome([404], 'open')],
  },
  {
    name: 'answer whose length is not known when it begins',
    rfc: '9112 7.1',
    sends: get('/long'),
    allows: [outcome([200], 'open')],
    check: ([answer]) =>
      answer.headers.get('transfer-encoding') === 'chunked' && answer.body.length === 100_000
        ? null
        : `${answer.body.length} bytes of 100000`,
  },
  {
    name: 'HEAD of an answer whose length is not known when it begins',
    rfc: '9110 9.3.2',
    sends: get('/long', 'HEAD'),
    bodiless: true,
    allows: [outcome([200], 'open')],
  },
  {
    name: 'answers one after the other, with and without content',
    rfc: '9112 6.3',
    sends: () => [get('/none')(), get('/probe')(), get('/none')(), get('/probe')()],
    allows: [outcome([204, 200, 204, 200], 'open')],
  },
  {
    name: 'request in the read of one whose answer takes several turns',
    rfc: '9112 9.3.2',
    sends: () => get('/long')() + get('/probe')(),
    allows: [outcome([200, 200], 'open')],
  },
  {
    name: 'request in a read behind one whose answer takes several turns',
    rfc: '9112 9.3.2',
    sends: () => [get('/long')(), get('/probe')()],
    allows: [outcome([200, 200], 'open')],
  },
  {
    name: 'answer that does not say which software wrote it',
    rfc: '9110 17.12',
    sends: get('/probe'),
    allows: [outcome([200], 'open')],
    check: ([answer]) => (answer.headers.has('uwebsockets') ? 'it names the library' : null),
  },
];
