import t from 'tap';
import { goAway } from '../../support/http2-frames.ts';
import { WireClient } from '../../support/wire-client.ts';
import { CLIENT_PREFACE, frame, ping, settings, settingsAck, TYPE } from '../../support/wire-frames.ts';
import { Conversation, connectionError, echoCall, echoed, echoHead, serve } from './conversation.ts';

/*
 * RFC 9113, 3: starting HTTP/2.
 */

const serving = await serve(t);

t.test('3.4 the first frame of the server is SETTINGS, which are not an acknowledgement', async t => {
  const conversation = await Conversation.connect(t, serving);
  const [first] = await conversation.say(CLIENT_PREFACE, settings());
  t.match(first, /^SETTINGS {/);
});

t.test('3.4 the preface of the client is accepted, and its SETTINGS acknowledged', async t => {
  const conversation = await Conversation.connect(t, serving);
  const heard = await conversation.say(CLIENT_PREFACE, settings([4, 65_535]));
  t.match(heard, [/^SETTINGS {/, /^SETTINGS ack$/]);
});

t.test('3.4 a client may send requests before it has heard the SETTINGS of the server', async t => {
  const conversation = await Conversation.connect(t, serving);
  const heard = await conversation.say(CLIENT_PREFACE, settings(), echoCall(1, 'early'), settingsAck);
  t.strictSame(heard.slice(1), ['SETTINGS ack', ...echoed(1, 'early')]);
});

t.test('3.4 a preface that comes octet by octet is accepted', async t => {
  const client = await WireClient.connect(t, serving.server.address);
  for (const octet of Buffer.concat([CLIENT_PREFACE, settings()])) {
    await new Promise(resolve => client.socket.write(Buffer.of(octet), resolve));
  }
  await client.frame(({ type, flags }) => type === TYPE.settings && flags === 1);
});

/** What is no preface, though some of it begins like one. */
const INVALID: Record<string, Buffer> = {
  'text that is none': Buffer.from('INVALID CONNECTION PREFACE\r\n\r\n'),
  'a preface in lower case': Buffer.from('pri * http/2.0\r\n\r\nsm\r\n\r\n'),
  'a preface whose last octet differs': Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\r'),
  'a preface whose second line differs': Buffer.from('PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n'),
  'frames without a preface': Buffer.concat([settings(), ping()]),
};

for (const [name, bytes] of Object.entries(INVALID)) {
  t.test(`3.4 ${name} ends the connection`, async t => {
    const conversation = await Conversation.connect(t, serving);
    const heard = await conversation.sayLast(bytes);
    t.equal(heard.at(-1), 'end');
    t.notMatch(heard.join(), /SETTINGS ack/);
    for (const said of heard) t.match(said, /^SETTINGS {|^GOAWAY 0 PROTOCOL_ERROR$|^end$/);
  });
}

/** Frames that are not SETTINGS of the client. */
const NOT_SETTINGS: Record<string, Buffer> = {
  DATA: frame(TYPE.data, 0, 1),
  HEADERS: echoHead(1),
  PRIORITY: frame(TYPE.priority, 0, 1, Buffer.alloc(5)),
  RST_STREAM: frame(TYPE.rstStream, 0, 1, Buffer.alloc(4)),
  PUSH_PROMISE: frame(TYPE.pushPromise, 0, 1, Buffer.alloc(4)),
  PING: ping(),
  GOAWAY: goAway(0, 'NO_ERROR'),
  WINDOW_UPDATE: frame(TYPE.windowUpdate, 0, 0, Buffer.of(0, 0, 0, 1)),
  CONTINUATION: frame(TYPE.continuation, 4, 1),
  'an acknowledgement of SETTINGS': settingsAck,
  'a frame of an unknown type': frame(0x42, 0, 0),
};

for (const [name, first] of Object.entries(NOT_SETTINGS)) {
  t.test(`3.4 ${name} as the first frame is a connection error of type PROTOCOL_ERROR`, async t => {
    const conversation = await Conversation.connect(t, serving);
    const [, ...heard] = await conversation.say(CLIENT_PREFACE, first, settings());
    t.strictSame(heard, connectionError('PROTOCOL_ERROR'));
  });
}
