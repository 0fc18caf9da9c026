import t from 'tap';
import { END_BOTH, END_STREAM } from '../../support/http2-frames.ts';
import {
  data,
  type Fields,
  fieldBlock,
  grpcFields,
  grpcMessage,
  headers,
} from '../../support/wire-frames.ts';
import {
  accepted,
  Conversation,
  connectionError,
  echoBlock,
  echoCall,
  echoed,
  echoHead,
  echoMessage,
  examine,
  serve,
  streamError,
  streamErrors,
} from './conversation.ts';

/*
 * RFC 9113, 8: requests and answers, their fields, and what makes them malformed.
 */

const REQUEST = grpcFields('/s/Echo');
const TRAILERS = fieldBlock([['x-sum', '1']]);

const without = (name: string): Fields => REQUEST.filter(field => field[0] !== name);
const having = (name: string, value: string): Fields =>
  REQUEST.map(field => (field[0] === name ? [name, value] : field));
const and = (...more: Fields): Fields => [...REQUEST, ...more];

/** Requests that are malformed by the clause that stands before what is wrong with them. */
const MALFORMED: Record<string, Fields> = {
  '8.2 a name in upper case': and(['X-Test', 'ok']),
  '8.2.1 a name with a space': and(['x test', 'ok']),
  '8.2.1 a name with a colon': and(['x:test', 'ok']),
  '8.2.1 a name beyond ASCII': and(['x-t\u00e9st', 'ok']),
  '8.2.1 an empty name': and(['', 'ok']),
  '8.2.1 a value with NUL': and(['x-test', 'o\0k']),
  '8.2.1 a value with CR': and(['x-test', 'o\rk']),
  '8.2.1 a value with LF': and(['x-test', 'o\nk']),
  '8.2.1 a value that begins with a space': and(['x-test', ' ok']),
  '8.2.1 a value that ends with a tab': and(['x-test', 'ok\t']),
  '8.2.2 connection': and(['connection', 'keep-alive']),
  '8.2.2 proxy-connection': and(['proxy-connection', 'keep-alive']),
  '8.2.2 keep-alive': and(['keep-alive', '5']),
  '8.2.2 transfer-encoding': and(['transfer-encoding', 'chunked']),
  '8.2.2 upgrade': and(['upgrade', 'h2c']),
  '8.2.2 te other than trailers': having('te', 'trailers, deflate;q=0.5'),
  '8.3 an unknown pseudo-field': [[':test', 'ok'], ...REQUEST],
  '8.3 a pseudo-field of answers': [[':status', '200'], ...REQUEST],
  '8.3 a pseudo-field behind a regular field': [...without(':path'), [':path', '/s/Echo']],
  '8.3.1 an empty :path': having(':path', ''),
  '8.3.1 no :method': without(':method'),
  '8.3.1 no :scheme': without(':scheme'),
  '8.3.1 no :path': without(':path'),
  '8.3.1 :method twice': [[':method', 'POST'], ...REQUEST],
  '8.3.1 :scheme twice': [[':scheme', 'http'], ...REQUEST],
  '8.3.1 :path twice': [[':path', '/'], ...REQUEST],
  '8.3.1 :authority twice': [[':authority', 'localhost'], ...REQUEST],
  '8.3.1 a :path that begins without a slash': having(':path', 's/Echo'),
  '8.3.1 a user in :authority': having(':authority', 'user@localhost'),
  '8.5 CONNECT with :scheme and :path': having(':method', 'CONNECT'),
  '8.5 CONNECT without :authority': [[':method', 'CONNECT']],
  '8.1.1 content-length that is no number': and(['content-length', 'five']),
};

const serving = await serve(t);

for (const [name, fields] of Object.entries(MALFORMED)) {
  t.test(`${name} makes a request malformed: a stream error of type PROTOCOL_ERROR`, async t => {
    const conversation = await Conversation.open(t, serving);
    t.strictSame(
      await conversation.say(headers(1, fieldBlock(fields), END_BOTH)),
      streamError('PROTOCOL_ERROR'),
    );
    t.strictSame(
      await conversation.say(headers(3, fieldBlock(fields)), echoCall(5, 'on')),
      [...streamError('PROTOCOL_ERROR', 3), ...echoed(5, 'on')],
      'also before its end, and others are served',
    );
  });
}

const MESSAGE = grpcMessage('on');

/** A call that says how long its content is. */
const lengthHead = (length: number): Buffer => headers(1, echoBlock(['content-length', String(length)]));

streamErrors(t, serving, 'PROTOCOL_ERROR', {
  '8.1 a second header section without END_STREAM': [echoHead(1), data(1, MESSAGE), headers(1, TRAILERS)],
  '8.1 a pseudo-field among trailers': [
    echoHead(1),
    data(1, MESSAGE),
    headers(1, fieldBlock([[':method', 'POST']]), END_BOTH),
  ],
  '8.2 a name in upper case among trailers': [
    echoHead(1),
    data(1, MESSAGE),
    headers(1, fieldBlock([['X-Sum', '1']]), END_BOTH),
  ],
  '8.1.1 content-length other than the length of one DATA frame': [
    lengthHead(1),
    data(1, MESSAGE, END_STREAM),
  ],
  '8.1.1 content-length below the sum of several DATA frames': [
    lengthHead(5),
    data(1, MESSAGE.subarray(0, 4)),
    data(1, MESSAGE.subarray(4), END_STREAM),
  ],
  '8.1.1 content-length above the sum of several DATA frames': [
    lengthHead(50),
    data(1, MESSAGE.subarray(0, 4)),
    data(1, MESSAGE.subarray(4), END_STREAM),
  ],
  '8.1.1 content-length above 0 without DATA': [headers(1, echoBlock(['content-length', '1']), END_BOTH)],
});

accepted(t, serving, {
  '8.1.1 content-length that is the length of the content': [
    lengthHead(MESSAGE.length),
    data(1, MESSAGE.subarray(0, 4)),
    data(1, MESSAGE.subarray(4), END_STREAM),
  ],
  '8.2.2 te: trailers': [headers(1, fieldBlock(having('te', 'trailers'))), echoMessage(1, 'on')],
});

examine(t, serving, {
  '8.1 a request of HEADERS and DATA is answered': [[echoCall(1, 'on')], echoed(1, 'on')],
  '8.1 a request with trailers is answered': [
    [headers(1, echoBlock(['trailer', 'x-sum'])), data(1, MESSAGE), headers(1, TRAILERS, END_BOTH)],
    echoed(1, 'on'),
  ],
  '10.5.1 a header section of too many fields is answered 431': [
    [
      headers(1, echoBlock(...Array.from({ length: 1_000 }, (_, i) => [`x-${i}`, ''] as const)), END_BOTH),
      echoCall(3, 'on'),
    ],
    ['HEADERS 1 431/- END_STREAM', ...echoed(3, 'on')],
  ],
  '8 HTTP/2 that is broken below is no request': [
    [echoHead(1), headers(0, TRAILERS, END_BOTH)],
    connectionError('PROTOCOL_ERROR', 1),
  ],
});
