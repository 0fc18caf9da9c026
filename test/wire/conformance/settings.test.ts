import t from 'tap';
import { frame, ping, settings, settingsAck, TYPE, windowUpdate } from '../../support/wire-frames.ts';
import {
  type Case,
  Conversation,
  connectionError,
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

const CASES: readonly Case[] = [
  {
    name: '6.5 SETTINGS with every parameter are accepted and acknowledged',
    says: [settings(...EVERY_PARAMETER)],
    hears: ['SETTINGS ack'],
  },
  { name: '6.5 SETTINGS without any are acknowledged', says: [settings()], hears: ['SETTINGS ack'] },
  { name: '6.5 an acknowledgement is not answered', says: [settingsAck], hears: [] },
  {
    name: '6.5 an acknowledgement with a payload is a connection error of type FRAME_SIZE_ERROR',
    says: [frame(TYPE.settings, 1, 0, Buffer.alloc(6))],
    hears: connectionError('FRAME_SIZE_ERROR'),
  },
  {
    name: '6.5 SETTINGS on a stream are a connection error of type PROTOCOL_ERROR',
    says: [frame(TYPE.settings, 0, 1, Buffer.from('000300000064', 'hex'))],
    hears: connectionError('PROTOCOL_ERROR'),
  },
  {
    name: '6.5 SETTINGS of a length that is no multiple of 6 are a connection error of type FRAME_SIZE_ERROR',
    says: [frame(TYPE.settings, 0, 0, Buffer.alloc(3))],
    hears: connectionError('FRAME_SIZE_ERROR'),
  },
  {
    name: '6.5.2 ENABLE_PUSH other than 0 and 1 is a connection error of type PROTOCOL_ERROR',
    says: [settings([ENABLE_PUSH, 2])],
    hears: connectionError('PROTOCOL_ERROR'),
  },
  {
    name: '6.5.2 INITIAL_WINDOW_SIZE above 2^31 - 1 is a connection error of type FLOW_CONTROL_ERROR',
    says: [settings([INITIAL_WINDOW_SIZE, 0x8000_0000])],
    hears: connectionError('FLOW_CONTROL_ERROR'),
  },
  {
    name: '6.5.2 MAX_FRAME_SIZE below 2^14 is a connection error of type PROTOCOL_ERROR',
    says: [settings([MAX_FRAME_SIZE, 16_383])],
    hears: connectionError('PROTOCOL_ERROR'),
  },
  {
    name: '6.5.2 MAX_FRAME_SIZE above 2^24 - 1 is a connection error of type PROTOCOL_ERROR',
    says: [settings([MAX_FRAME_SIZE, 16_777_216])],
    hears: connectionError('PROTOCOL_ERROR'),
  },
  {
    name: '6.5.2 an unknown parameter is ignored',
    says: [settings([0xff, 1]), echoCall(1, 'on')],
    hears: ['SETTINGS ack', ...echoed(1, 'on')],
  },
  {
    name: '6.5.3 values hold in the order in which they stand, so the last one wins',
    says: [settings([INITIAL_WINDOW_SIZE, 100], [INITIAL_WINDOW_SIZE, 1]), watchCall(1, 'x')],
    hears: ['SETTINGS ack', 'HEADERS 1 200/-', 'DATA 1 "\\u0000"'],
  },
  {
    name: '6.5.3 SETTINGS are acknowledged in order with other frames',
    says: [ping('before..'), settings(), ping('between.'), settings(), ping('after...')],
    hears: ['PING ack before..', 'SETTINGS ack', 'PING ack between.', 'SETTINGS ack', 'PING ack after...'],
  },
];

const serving = await serve(t);

examine(t, serving, CASES);

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
