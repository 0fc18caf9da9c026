import {
  chunked,
  DECIDED,
  DECIDED_AND_CLOSED,
  END,
  type HttpCase,
  head,
  oneChunk,
  outcome,
  PROBE,
  posted,
  refused,
} from './case.ts';
import type { PeerAnswer } from './peer.ts';

function saysClose(answers: readonly PeerAnswer[]): string | null {
  const said = answers.at(-1)?.headers.get('connection') ?? 'nothing';
  return said.toLowerCase() === 'close'
    ? null
    : `the last answer says ${said} of the connection, not \`close\``;
}

function saysNoClose(answers: readonly PeerAnswer[]): string | null {
  return answers.some(({ headers }) => headers.get('connection') === 'close')
    ? 'an answer says `close`'
    : null;
}

/** The bodies of decisions are their numbers, in the order in which they were asked for. */
function inOrder(answers: readonly PeerAnswer[]): string | null {
  const numbers = answers.map(({ body }) => body).filter(body => /^\d+$/.test(body));
  return numbers.every((number, index) => number === String(index + 1)) ? null : `in the order ${numbers}`;
}

function closing(name: string, field: string): HttpCase {
  return {
    name,
    rfc: '9112 9.6',
    sends: ({ body }) => posted(body, field),
    allows: DECIDED_AND_CLOSED,
    check: saysClose,
  };
}

function lasting(name: string, fields: readonly string[]): HttpCase {
  return {
    name,
    rfc: '9112 9.3',
    sends: ({ body }) => posted(body, ...fields),
    allows: DECIDED,
    check: saysNoClose,
  };
}

const TWICE = outcome([200, 200], 'open', 2);

/** Persistence, pipelining, half-closed connections, `Expect` (RFC 9112, 9; RFC 9110, 10.1.1). */
export const connectionCases: readonly HttpCase[] = [
  closing('Connection: close', 'Connection: close'),
  closing('Connection: close in upper case', 'CONNECTION: CLOSE'),
  closing('close among other options', 'Connection: te, close'),
  closing('close before other options', 'Connection: close, te'),
  closing('close in a second field', 'Connection: te\r\nConnection: close'),
  lasting('no Connection', []),
  lasting('Connection: keep-alive', ['Connection: keep-alive']),
  lasting('option of five characters that is not close', ['Connection: x-abc']),
  {
    name: 'close on a route without a body',
    rfc: '9112 9.6',
    sends: () => head('GET /probe HTTP/1.1', 'Host: exam', 'Connection: close'),
    allows: [outcome([200], 'closed')],
    check: saysClose,
  },
  {
    name: 'close on an unknown path',
    rfc: '9112 9.6',
    sends: () => head('GET /nowhere HTTP/1.1', 'Host: exam', 'Connection: close'),
    allows: [outcome([404], 'closed')],
    check: saysClose,
  },
  {
    name: 'close on a HEAD',
    rfc: '9112 9.6',
    bodiless: true,
    sends: () => head('HEAD /probe HTTP/1.1', 'Host: exam', 'Connection: close'),
    allows: [outcome([200], 'closed')],
    check: saysClose,
  },
  {
    name: 'request behind one that says close',
    rfc: '9112 9.6',
    sends: ({ body }) => posted(body, 'Connection: close') + posted(body),
    allows: DECIDED_AND_CLOSED,
    check: saysClose,
  },
  {
    name: 'request behind one that says close and is answered later',
    rfc: '9112 9.6',
    sends: ({ lateBody }) => posted(lateBody, 'Connection: close') + posted(lateBody),
    allows: DECIDED_AND_CLOSED,
    check: saysClose,
  },
  {
    name: 'two requests in one read',
    rfc: '9112 9.3.2',
    sends: ({ body }) => posted(body) + posted(body),
    allows: [TWICE],
    check: inOrder,
  },
  {
    name: 'ten requests in one read',
    rfc: '9112 9.3.2',
    sends: ({ body }) => posted(body).repeat(10),
    allows: [
      outcome(
        Array.from({ length: 10 }, () => 200),
        'open',
        10,
      ),
    ],
    check: inOrder,
  },
  {
    name: 'chunked requests in one read',
    rfc: '9112 9.3.2',
    sends: ({ body }) => chunked(oneChunk(body)).repeat(3),
    allows: [outcome([200, 200, 200], 'open', 3)],
    check: inOrder,
  },
  {
    name: 'requests without and with a body in one read',
    rfc: '9112 9.3.2',
    sends: ({ body }) => PROBE + posted(body) + PROBE + chunked(oneChunk(body)) + PROBE,
    allows: [outcome([200, 200, 200, 200, 200], 'open', 2)],
    check: inOrder,
  },
  {
    name: 'two requests, the second in two reads',
    rfc: '9112 9.3.2',
    sends: ({ body }) => [posted(body) + posted(body).slice(0, 30), posted(body).slice(30)],
    allows: [TWICE],
    check: inOrder,
  },
  {
    name: 'request in the read of one that is answered later',
    rfc: '9112 9.3.2',
    sends: ({ lateBody }) => posted(lateBody) + posted(lateBody),
    allows: [TWICE],
    check: inOrder,
  },
  {
    name: 'quick request in the read of one that is answered later',
    rfc: '9112 9.3.2',
    sends: ({ lateBody }) => posted(lateBody) + PROBE,
    allows: [outcome([200, 200], 'open', 1)],
    check: ([first]) => (first.body === 'probe' ? 'the second request was answered first' : null),
  },
  {
    name: 'request in a read behind one that is answered later',
    rfc: '9112 9.3.2',
    sends: ({ lateBody }) => [posted(lateBody), posted(lateBody)],
    allows: [TWICE],
    check: inOrder,
  },
  {
    name: 'request behind one whose body is refused',
    rfc: '9112 9.3.2',
    sends: ({ body }) => posted('{"domain":') + posted(body),
    allows: [outcome([400, 200], 'open', 1)],
  },
  {
    name: 'caller that closes its side behind the request',
    rfc: '9112 9.6',
    sends: ({ body }) => [posted(body), END],
    allows: DECIDED_AND_CLOSED,
  },
  {
    name: 'caller that closes its side while it waits',
    rfc: '9112 9.6',
    sends: ({ lateBody }) => [posted(lateBody), END],
    allows: DECIDED_AND_CLOSED,
  },
  {
    name: 'caller that closes its side in the middle of its body',
    rfc: '9112 8',
    sends: ({ body }) => [posted(body).slice(0, -3), END],
    allows: [outcome([], 'closed'), ...refused(400)],
  },
  {
    name: 'caller that closes its side in the middle of its fields',
    rfc: '9112 8',
    sends: ({ body }) => [posted(body).slice(0, 40), END],
    allows: [outcome([], 'closed'), ...refused(400)],
  },
  {
    name: 'caller that waits for leave to send its body',
    rfc: '9110 10.1.1',
    sends: ({ body }) => {
      const whole = posted(body, 'Expect: 100-continue');
      return [whole.slice(0, -body.length), body];
    },
    allows: [outcome([100, 200], 'open', 1)],
  },
  {
    name: 'leave asked for in other letters',
    rfc: '9110 10.1.1',
    sends: ({ body }) => {
      const whole = posted(body, 'Expect: 100-Continue');
      return [whole.slice(0, -body.length), body];
    },
    allows: [outcome([100, 200], 'open', 1)],
  },
  {
    name: 'leave asked for with the body behind it',
    rfc: '9110 10.1.1',
    sends: ({ body }) => posted(body, 'Expect: 100-continue'),
    allows: [outcome([100, 200], 'open', 1), ...DECIDED],
  },
  {
    name: 'leave asked for a body that is too large',
    rfc: '9110 10.1.1, 15.5.14',
    sends: () => head('POST /json HTTP/1.1', 'Host: exam', 'Expect: 100-continue', 'Content-Length: 5000000'),
    allows: refused(413),
    check: saysClose,
  },
  {
    name: 'expectation that nobody knows',
    rfc: '9110 10.1.1',
    sends: ({ body }) => posted(body, 'Expect: the-unexpected'),
    allows: [...DECIDED, ...refused(417), outcome([417], 'open')],
  },
];
