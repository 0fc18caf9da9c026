import t from 'tap';
import { frame, ping, settings, settingsAck, TYPE, windowUpdate } from '../../support/wire-frames.ts';
import {
  Conversation,
  connectionErrors,
  echoCall,
  echoed,
  examine,
  serve,
  watchCall,
} from './conversation.ts';

/*
 * RFC 9113, 6.5: SETTINGS.
 */

const HEADER_TABLE_SIZE = 1;
const ENABLE_PUSH = 2;
const INITIAL_WINDOW_SIZE = 4;
const MAX_FRAME_SIZE = 5;

const EVERY_PARAMETER = [
  [HEADER_TABLE_SIZE, 4_096],
  [ENABLE_PUSH, 1],
  [3, 100],
  [INITIAL_WINDOW_SIZE, 65_535],
  [MAX_FRAME_SIZE, 16_384],
  [6, 100],
] as const;

const serving = await serve(t);

connectionErrors(t, serving, ['FRAME_SIZE_ERROR', 0], {
  '6.5 an acknowledgement with a payload': [frame(TYPE.settings, 1, 0, Buffer.alloc(6))],
  '6.5 SETTINGS of a length that is no multiple of 6': [frame(TYPE.settings, 0, 0, Buffer.alloc(3))],
});

connectionErrors(t, serving, ['PROTOCOL_ERROR', 0], {
  '6.5 SETTINGS on a stream': [frame(TYPE.settings, 0, 1, Buffer.from('000300000064', 'hex'))],
  '6.5.2 ENABLE_PUSH other than 0 and 1': [settings([ENABLE_PUSH, 2])],
  '6.5.2 MAX_FRAME_SIZE below 2^14': [settings([MAX_FRAME_SIZE, 16_383])],
  '6.5.2 MAX_FRAME_SIZE above 2^24 - 1': [settings([MAX_FRAME_SIZE, 16_777_216])],
});

connectionErrors(t, serving, ['FLOW_CONTROL_ERROR', 0], {
  '6.5.2 INITIAL_WINDOW_SIZE above 2^31 - 1': [settings([INITIAL_WINDOW_SIZE, 0x8000_0000])],
});

examine(t, serving, {
  '6.5 SETTINGS with every parameter are accepted and acknowledged': [
    [settings(...EVERY_PARAMETER)],
    ['SETTINGS ack'],
  ],
  '6.5 SETTINGS without any are acknowledged': [[settings()], ['SETTINGS ack']],
  '6.5 an acknowledgement is not answered': [[settingsAck], []],
  '6.5.2 an unknown parameter is ignored': [
    [settings([0xff, 1]), echoCall(1, 'on')],
    ['SETTINGS ack', ...echoed(1, 'on')],
  ],
  '6.5.3 values hold in the order in which they stand, so the last one wins': [
    [settings([INITIAL_WINDOW_SIZE, 100], [INITIAL_WINDOW_SIZE, 1]), watchCall(1, 'x')],
    ['SETTINGS ack', 'HEADERS 1 200/-', 'DATA 1 "\\u0000"'],
  ],
  '6.5.3 SETTINGS are acknowledged in order with other frames': [
    [ping('before..'), settings(), ping('between.'), settings(), ping('after...')],
    ['PING ack before..', 'SETTINGS ack', 'PING ack between.', 'SETTINGS ack', 'PING ack after...'],
  ],
});

t.test('6.5.2 a window that the client sets to 0 holds back data, not the head', async t => {
  const conversation = await Conversation.open(t, serving, [INITIAL_WINDOW_SIZE, 0]);
  t.strictSame(await conversation.say(watchCall(1, 'x')), ['HEADERS 1 200/-']);
  t.strictSame(await conversation.say(windowUpdate(1, 1)), ['DATA 1 "\\u0000"']);
});

t.test('4.3.1 a smaller table of the client is confirmed before the next block refers to it', async t => {
  const conversation = await Conversation.open(t, serving, [HEADER_TABLE_SIZE, 0]);
  t.strictSame(await conversation.say(echoCall(1, 'on')), echoed(1, 'on'));
  const block = conversation.client.frames.find(({ type }) => type === TYPE.headers)?.payload;
  t.equal(block?.[0], 0x20, 'a table size update to 0 (RFC 7541, 6.3)');
});
