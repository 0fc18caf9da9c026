import t from 'tap';
import { ERROR } from '../../../../src/http2/faults.ts';
import { END_BOTH, END_STREAM, goAway, pushPromise } from '../../../support/http2-frames.ts';
import { Http2Peer, requestBlock } from '../../../support/http2-peer.ts';
import {
  continuation,
  data,
  fieldBlock,
  frame,
  headers,
  priority,
  rstStream,
  TYPE,
  windowUpdate,
} from '../../../support/wire-frames.ts';

const TRAILERS = fieldBlock([['x-sum', '1']]);

/** Every frame that can name a stream, for stream `id`. */
const EVENTS = {
  HEADERS: (id: number) => headers(id, requestBlock()),
  'HEADERS, END_STREAM': (id: number) => headers(id, TRAILERS, END_BOTH),
  DATA: (id: number) => data(id, Buffer.from('x')),
  'DATA, END_STREAM': (id: number) => data(id, Buffer.from('x'), END_STREAM),
  PRIORITY: (id: number) => priority(id),
  'PRIORITY of 4 octets': (id: number) => frame(TYPE.priority, 0, id, Buffer.alloc(4)),
  RST_STREAM: (id: number) => rstStream(id),
  WINDOW_UPDATE: (id: number) => windowUpdate(id, 1),
  'WINDOW_UPDATE by 0': (id: number) => windowUpdate(id, 0),
  CONTINUATION: (id: number) => continuation(id, TRAILERS),
  PUSH_PROMISE: (id: number) => pushPromise(id, 2, requestBlock()),
} as const;
type Event = keyof typeof EVENTS;

interface State {
  /** The stream that is brought into the state, and then gets the event. */
  readonly id: number;
  readonly reach: (peer: Http2Peer) => void;
  /** Frames that the client receives, and calls of the handler, for each event. */
  readonly outcomes: Readonly<Record<Event, readonly string[]>>;
}

const IGNORED: readonly string[] = [];

/** A connection error; `aborted` are the streams that it takes along. */
const fatal = (lastStream: number, code: string, ...aborted: readonly number[]) => [
  `GOAWAY ${lastStream} ${code}`,
  ...aborted.map(id => `aborted ${id} ${code}`),
];
const reset = (id: number, code: string) => [`RST_STREAM ${id} ${code}`, `aborted ${id} ${code}`];

/** RFC 9113, 5.1: a closed stream of which the client has nothing left to send. */
const CLOSED: State['outcomes'] = {
  HEADERS: fatal(1, 'STREAM_CLOSED'),
  'HEADERS, END_STREAM': fatal(1, 'STREAM_CLOSED'),
  DATA: fatal(1, 'STREAM_CLOSED'),
  'DATA, END_STREAM': fatal(1, 'STREAM_CLOSED'),
  PRIORITY: IGNORED,
  'PRIORITY of 4 octets': fatal(1, 'FRAME_SIZE_ERROR'),
  RST_STREAM: IGNORED,
  WINDOW_UPDATE: IGNORED,
  'WINDOW_UPDATE by 0': fatal(1, 'PROTOCOL_ERROR'),
  CONTINUATION: fatal(1, 'PROTOCOL_ERROR'),
  PUSH_PROMISE: fatal(1, 'PROTOCOL_ERROR'),
};

/** RFC 9113, 5.1: a closed stream on which frames of the client may have been in flight when the server closed it. */
const CLOSED_BY_US: State['outcomes'] = {
  ...CLOSED,
  HEADERS: IGNORED,
  'HEADERS, END_STREAM': IGNORED,
  DATA: IGNORED,
  'DATA, END_STREAM': IGNORED,
};

/**
 * RFC 9113, 5.1 and RFC 7540, 5.1: a stream that the client reset before it had ended its request. Frames that it had
 * queued may follow, and are a stream error: the other calls of the connection go on.
 */
const RESET_BY_CLIENT: State['outcomes'] = {
  ...CLOSED,
  HEADERS: ['RST_STREAM 1 STREAM_CLOSED'],
  'HEADERS, END_STREAM': ['RST_STREAM 1 STREAM_CLOSED'],
  DATA: ['RST_STREAM 1 STREAM_CLOSED'],
  'DATA, END_STREAM': ['RST_STREAM 1 STREAM_CLOSED'],
};

const STATES: Readonly<Record<string, State>> = {
  idle: {
    id: 1,
    reach: () => {},
    outcomes: {
      HEADERS: ['request 1 /s/m'],
      'HEADERS, END_STREAM': ['RST_STREAM 1 PROTOCOL_ERROR'], // a request of nothing but x-sum is malformed
      DATA: fatal(0, 'PROTOCOL_ERROR'),
      'DATA, END_STREAM': fatal(0, 'PROTOCOL_ERROR'),
      PRIORITY: IGNORED,
      'PRIORITY of 4 octets': fatal(0, 'FRAME_SIZE_ERROR'),
      RST_STREAM: fatal(0, 'PROTOCOL_ERROR'),
      WINDOW_UPDATE: fatal(0, 'PROTOCOL_ERROR'),
      'WINDOW_UPDATE by 0': fatal(0, 'PROTOCOL_ERROR'),
      CONTINUATION: fatal(0, 'PROTOCOL_ERROR'),
      PUSH_PROMISE: fatal(0, 'PROTOCOL_ERROR'),
    },
  },
  'of an even id, which would be ours': {
    id: 2,
    reach: peer => peer.request(3, END_BOTH),
    outcomes: {
      HEADERS: fatal(3, 'PROTOCOL_ERROR', 3),
      'HEADERS, END_STREAM': fatal(3, 'PROTOCOL_ERROR', 3),
      DATA: fatal(3, 'PROTOCOL_ERROR', 3),
      'DATA, END_STREAM': fatal(3, 'PROTOCOL_ERROR', 3),
      PRIORITY: IGNORED,
      'PRIORITY of 4 octets': fatal(3, 'FRAME_SIZE_ERROR', 3),
      RST_STREAM: fatal(3, 'PROTOCOL_ERROR', 3),
      WINDOW_UPDATE: fatal(3, 'PROTOCOL_ERROR', 3),
      'WINDOW_UPDATE by 0': fatal(3, 'PROTOCOL_ERROR', 3),
      CONTINUATION: fatal(3, 'PROTOCOL_ERROR', 3),
      PUSH_PROMISE: fatal(3, 'PROTOCOL_ERROR', 3),
    },
  },
  open: {
    id: 1,
    reach: peer => peer.request(1),
    outcomes: {
      HEADERS: reset(1, 'PROTOCOL_ERROR'), // a second section has to be the last (RFC 9113, 8.1)
      'HEADERS, END_STREAM': ['data 1 "" end'],
      DATA: ['data 1 "x"'],
      'DATA, END_STREAM': ['data 1 "x" end'],
      PRIORITY: IGNORED,
      'PRIORITY of 4 octets': reset(1, 'FRAME_SIZE_ERROR'),
      RST_STREAM: ['aborted 1 CANCEL'],
      WINDOW_UPDATE: IGNORED,
      'WINDOW_UPDATE by 0': reset(1, 'PROTOCOL_ERROR'),
      CONTINUATION: fatal(1, 'PROTOCOL_ERROR', 1),
      PUSH_PROMISE: fatal(1, 'PROTOCOL_ERROR', 1),
    },
  },
  'half closed by the client': {
    id: 1,
    reach: peer => peer.request(1, END_BOTH),
    outcomes: {
      HEADERS: reset(1, 'STREAM_CLOSED'),
      'HEADERS, END_STREAM': reset(1, 'STREAM_CLOSED'),
      DATA: reset(1, 'STREAM_CLOSED'),
      'DATA, END_STREAM': reset(1, 'STREAM_CLOSED'),
      PRIORITY: IGNORED,
      'PRIORITY of 4 octets': reset(1, 'FRAME_SIZE_ERROR'),
      RST_STREAM: ['aborted 1 CANCEL'],
      WINDOW_UPDATE: IGNORED,
      'WINDOW_UPDATE by 0': reset(1, 'PROTOCOL_ERROR'),
      CONTINUATION: fatal(1, 'PROTOCOL_ERROR', 1),
      PUSH_PROMISE: fatal(1, 'PROTOCOL_ERROR', 1),
    },
  },
  'closed by END_STREAM of both': {
    id: 1,
    reach: peer => {
      peer.request(1, END_BOTH);
      peer.answer(1, 'content');
    },
    outcomes: CLOSED,
  },
  'closed by RST_STREAM of the client': {
    id: 1,
    reach: peer => {
      peer.request(1);
      peer.send(rstStream(1));
    },
    outcomes: RESET_BY_CLIENT,
  },
  'closed by RST_STREAM of the client, and answered with ours': {
    id: 1,
    reach: peer => {
      peer.request(1);
      peer.send(rstStream(1), data(1, Buffer.from('x')));
    },
    outcomes: CLOSED_BY_US,
  },
  'closed by RST_STREAM of the client, and ended by it after that': {
    id: 1,
    reach: peer => {
      peer.request(1);
      peer.send(rstStream(1), data(1, Buffer.from('x'), END_STREAM));
    },
    outcomes: CLOSED,
  },
  'closed by RST_STREAM of the client after it had ended it': {
    id: 1,
    reach: peer => {
      peer.request(1, END_BOTH);
      peer.send(rstStream(1));
    },
    outcomes: CLOSED,
  },
  'closed by our RST_STREAM after the client had ended it': {
    id: 1,
    reach: peer => {
      peer.request(1, END_BOTH);
      peer.connection.reset(peer.stream(1), ERROR.internalError);
    },
    outcomes: CLOSED,
  },
  'closed by an error of the client at its end': {
    id: 1,
    reach: peer => {
      peer.send(headers(1, requestBlock(['content-length', '1'])));
      peer.send(data(1, Buffer.from('too long'), END_STREAM));
    },
    outcomes: CLOSED,
  },
  'closed by an error in its trailers': {
    id: 1,
    reach: peer => {
      peer.send(headers(1, requestBlock()), headers(1, fieldBlock([['X-UPPER', '']]), END_BOTH));
    },
    outcomes: CLOSED,
  },
  'closed by our RST_STREAM': {
    id: 1,
    reach: peer => {
      peer.request(1);
      peer.connection.reset(peer.stream(1), ERROR.internalError);
    },
    outcomes: CLOSED_BY_US,
  },
  'closed by our RST_STREAM for an error of the client': {
    id: 1,
    reach: peer => peer.send(headers(1, requestBlock(['X-UPPER', '']))),
    outcomes: CLOSED_BY_US,
  },
  'closed by an answer before the end of the request': {
    id: 1,
    reach: peer => {
      peer.request(1);
      peer.answer(1, 'content');
    },
    outcomes: CLOSED_BY_US,
  },
  'closed by our RST_STREAM, and ended by the client since': {
    id: 1,
    reach: peer => {
      peer.request(1);
      peer.connection.reset(peer.stream(1), ERROR.internalError);
      peer.send(data(1, Buffer.from('x'), END_STREAM));
    },
    outcomes: CLOSED,
  },
  'closed by our RST_STREAM, and by one of the client since': {
    id: 1,
    reach: peer => {
      peer.request(1);
      peer.connection.reset(peer.stream(1), ERROR.internalError);
      peer.send(rstStream(1));
    },
    outcomes: RESET_BY_CLIENT,
  },
  'closed because a higher one was opened': {
    id: 1,
    reach: peer => peer.request(3, END_BOTH),
    outcomes: {
      HEADERS: fatal(3, 'PROTOCOL_ERROR', 3), // an unexpected stream (RFC 9113, 5.1.1)
      'HEADERS, END_STREAM': fatal(3, 'PROTOCOL_ERROR', 3),
      DATA: fatal(3, 'STREAM_CLOSED', 3),
      'DATA, END_STREAM': fatal(3, 'STREAM_CLOSED', 3),
      PRIORITY: IGNORED,
      'PRIORITY of 4 octets': fatal(3, 'FRAME_SIZE_ERROR', 3),
      RST_STREAM: IGNORED,
      WINDOW_UPDATE: IGNORED,
      'WINDOW_UPDATE by 0': fatal(3, 'PROTOCOL_ERROR', 3),
      CONTINUATION: fatal(3, 'PROTOCOL_ERROR', 3),
      PUSH_PROMISE: fatal(3, 'PROTOCOL_ERROR', 3),
    },
  },
  'opened above the last one that GOAWAY named': {
    id: 3,
    reach: peer => {
      peer.request(1, END_BOTH);
      peer.send(goAway(0, 'NO_ERROR'), headers(3, requestBlock()));
    },
    outcomes: {
      HEADERS: IGNORED,
      'HEADERS, END_STREAM': IGNORED,
      DATA: IGNORED,
      'DATA, END_STREAM': IGNORED,
      PRIORITY: IGNORED,
      'PRIORITY of 4 octets': fatal(1, 'FRAME_SIZE_ERROR', 1),
      RST_STREAM: IGNORED,
      WINDOW_UPDATE: IGNORED,
      'WINDOW_UPDATE by 0': fatal(1, 'PROTOCOL_ERROR', 1),
      CONTINUATION: fatal(1, 'PROTOCOL_ERROR', 1),
      PUSH_PROMISE: fatal(1, 'PROTOCOL_ERROR', 1),
    },
  },
};

for (const [name, { id, reach, outcomes }] of Object.entries(STATES)) {
  t.test(`a stream that is ${name} (RFC 9113, 5.1)`, async t => {
    for (const [event, expected] of Object.entries(outcomes)) {
      const peer = Http2Peer.open();
      reach(peer);
      peer.take();
      peer.handler.take();
      const said = peer.send(EVENTS[event as Event](id));
      t.strictSame([...said, ...peer.handler.take()], expected, event);
      t.equal(peer.connection.closed, expected[0]?.startsWith('GOAWAY') ?? false, `${event}: closed`);
    }
  });
}
