import t from 'tap';
import { END_STREAM, paddedData } from '../../support/http2-frames.ts';
import { data, frame, grpcMessage, settings, TYPE, windowUpdate } from '../../support/wire-frames.ts';
import {
  Conversation,
  connectionError,
  connectionErrors,
  echoCall,
  echoed,
  echoHead,
  examine,
  serve,
  silentCall,
  streamError,
  streamErrors,
  watchCall,
} from './conversation.ts';

/*
 * RFC 9113, 6.9: flow control.
 */

const INITIAL_WINDOW_SIZE = 4;
const LARGEST = 0x7fff_ffff;

const serving = await serve(t);

connectionErrors(t, serving, ['PROTOCOL_ERROR', 0], {
  '6.9 WINDOW_UPDATE by 0 on the connection': [windowUpdate(0, 0)],
});

streamErrors(t, serving, 'PROTOCOL_ERROR', {
  '6.9 WINDOW_UPDATE by 0 on a stream': [silentCall(1), windowUpdate(1, 0)],
});

connectionErrors(t, serving, ['FRAME_SIZE_ERROR', 0], {
  '6.9 WINDOW_UPDATE of another length than 4': [frame(TYPE.windowUpdate, 0, 0, Buffer.alloc(3))],
});

connectionErrors(t, serving, ['FRAME_SIZE_ERROR', 1], {
  '6.9 WINDOW_UPDATE of another length on a stream': [
    silentCall(1),
    frame(TYPE.windowUpdate, 0, 1, Buffer.alloc(5)),
  ],
});

connectionErrors(t, serving, ['FLOW_CONTROL_ERROR', 0], {
  '6.9.1 a connection window above 2^31 - 1': [windowUpdate(0, LARGEST), windowUpdate(0, LARGEST)],
});

connectionErrors(t, serving, ['FLOW_CONTROL_ERROR', 1], {
  '6.9.2 a window that the initial size brings above 2^31 - 1': [
    silentCall(1),
    windowUpdate(1, 1),
    settings([INITIAL_WINDOW_SIZE, LARGEST]),
  ],
});

examine(t, serving, {
  '6.9 WINDOW_UPDATE by 0 on a stream that is closed is an error of type PROTOCOL_ERROR': [
    [echoCall(1, 'on'), windowUpdate(1, 0)],
    [...echoed(1, 'on'), ...connectionError('PROTOCOL_ERROR', 1)],
  ],
  '6.9.1 a stream window above 2^31 - 1 is a stream error of type FLOW_CONTROL_ERROR': [
    [echoHead(1), windowUpdate(1, LARGEST), windowUpdate(1, LARGEST), echoCall(3, 'on')],
    [...streamError('FLOW_CONTROL_ERROR'), ...echoed(3, 'on')],
  ],
  '6.9.1 windows of 2^31 - 1 are accepted': [
    [windowUpdate(0, LARGEST - 65_535), echoHead(1), windowUpdate(1, LARGEST - 65_535), echoCall(3, 'on')],
    echoed(3, 'on'),
  ],
});

/** A call whose answer is ten octets: a prefix of five, and `12345`. */
const TEN = watchCall(1, '12345');
const PREFIX = '\\u0000\\u0000\\u0000\\u0000\\u0005';

t.test('6.9.1 no more is sent than the window of a stream allows', async t => {
  const conversation = await Conversation.open(t, serving, [INITIAL_WINDOW_SIZE, 1]);
  t.strictSame(await conversation.say(TEN), ['HEADERS 1 200/-', 'DATA 1 "\\u0000"']);
  t.strictSame(await conversation.say(windowUpdate(1, 2)), ['DATA 1 "\\u0000\\u0000"']);
  t.strictSame(await conversation.say(windowUpdate(0, 100)), [], 'that of the connection does not help');
  t.strictSame(await conversation.say(windowUpdate(1, 100)), ['DATA 1 "\\u0000\\u000512345"']);
});

t.test('6.9.1 no more is sent than the window of the connection allows', async t => {
  const conversation = await Conversation.open(t, serving, [INITIAL_WINDOW_SIZE, 1_000_000]);
  const long = echoCall(1, 'x'.repeat(16_379));
  const calls = [long, echoCall(3, 'x'.repeat(16_379)), echoCall(5, 'x'.repeat(16_379))];
  await conversation.say(...calls, echoCall(7, 'x'.repeat(16_373)));
  t.strictSame(await conversation.say(watchCall(9, '12345')), ['HEADERS 9 200/-', `DATA 9 "${PREFIX}"`]);
  t.strictSame(await conversation.say(windowUpdate(9, 100)), [], 'that of the stream does not help');
  t.strictSame(await conversation.say(windowUpdate(0, 2)), ['DATA 9 "12"']);
  t.strictSame(await conversation.say(windowUpdate(0, 3)), ['DATA 9 "345"']);
});

t.test('6.9.1 more data than the window of a stream: stream error of type FLOW_CONTROL_ERROR', async t => {
  const conversation = await Conversation.open(t, await serve(t, { streamWindow: 100 }));
  t.strictSame(await conversation.say(echoCall(1, 'x'.repeat(95))), [
    'HEADERS 1 200/-',
    'DATA 1 100 octets',
    'HEADERS 1 -/0 END_STREAM',
  ]);
  t.strictSame(await conversation.say(echoCall(3, 'x'.repeat(96))), streamError('FLOW_CONTROL_ERROR', 3));
  t.strictSame(
    await conversation.say(echoHead(5), paddedData(5, grpcMessage('x'.repeat(50)).toString('latin1'), 45)),
    streamError('FLOW_CONTROL_ERROR', 5),
    'padding counts',
  );
});

t.test('6.9.2 a larger initial size concerns streams that are open', async t => {
  const conversation = await Conversation.open(t, serving, [INITIAL_WINDOW_SIZE, 0]);
  t.strictSame(await conversation.say(TEN), ['HEADERS 1 200/-']);
  t.strictSame(await conversation.say(settings([INITIAL_WINDOW_SIZE, 1])), [
    'SETTINGS ack',
    'DATA 1 "\\u0000"',
  ]);
});

t.test('6.9.2 a window below zero is kept account of', async t => {
  const conversation = await Conversation.open(t, serving, [INITIAL_WINDOW_SIZE, 3]);
  t.strictSame(await conversation.say(TEN), ['HEADERS 1 200/-', 'DATA 1 "\\u0000\\u0000\\u0000"']);
  t.strictSame(await conversation.say(settings([INITIAL_WINDOW_SIZE, 2])), ['SETTINGS ack']);
  t.strictSame(await conversation.say(windowUpdate(1, 1)), [], 'that brings it to 0');
  t.strictSame(await conversation.say(windowUpdate(1, 1)), ['DATA 1 "\\u0000"']);
});

t.test('6.9.2 the connection window does not change with the initial size', async t => {
  const conversation = await Conversation.open(t, serving, [INITIAL_WINDOW_SIZE, 0]);
  t.strictSame(await conversation.say(settings([INITIAL_WINDOW_SIZE, LARGEST])), ['SETTINGS ack']);
  const heard = await conversation.say(echoCall(1, 'x'.repeat(16_379)), echoCall(3, 'on'));
  t.strictSame(heard.slice(3), echoed(3, 'on'));
});

t.test('6.9 padding counts, and so does data on a stream that was reset: the window comes back', async t => {
  const conversation = await Conversation.open(t, serving);
  const { client } = conversation;
  const granted = (): number =>
    client.frames
      .filter(({ type, stream }) => type === TYPE.windowUpdate && stream === 0)
      .reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0);
  const before = granted();
  await conversation.say(echoHead(1), data(1, Buffer.from('not a message'), 0));
  const flood = Array.from({ length: 200 }, () => data(1, Buffer.alloc(16_384)));
  t.strictSame(await conversation.say(...flood), []);
  t.ok(granted() - before >= 2 * 1_048_576, 'more than half of what was ignored');
  t.strictSame(
    await conversation.say(data(1, Buffer.alloc(0), END_STREAM), echoCall(3, 'on')),
    echoed(3, 'on'),
  );
});
