import t, { type Test } from 'tap';
import type { ConnectionLimits } from '../../../src/http2/connection/limits.ts';
import { connectionsDownTo, serveOwn } from '../../support/own-server.ts';
import { WireClient } from '../../support/wire-client.ts';
import {
  data,
  ERRORS,
  type Frame,
  fieldBlock,
  frame,
  grpcFields,
  headers,
  PARAMETER,
  ping,
  priority,
  rstStream,
  settings,
  settingsAck,
  TYPE,
  windowUpdate,
} from '../../support/wire-frames.ts';
import { attacked, isOver, takesNoMemory } from './attack.ts';

interface Flood {
  /** What is sent once, before the flood. */
  readonly before?: Buffer;
  /** The frame that comes again and again. */
  readonly each: Buffer;
  readonly reason: RegExp;
}

const OPEN_REQUEST = headers(1, fieldBlock(grpcFields('/s/Echo')));
const RESET_REQUEST = Buffer.concat([OPEN_REQUEST, rstStream(1)]);
const CONTROL = /too many .*PING, SETTINGS/;
const IDLE = /too many empty DATA or WINDOW_UPDATE/;
const SMALL = /too many very small DATA frames/;
const LATE = /too many frames on closed streams/;

const FLOODS: Record<string, Flood> = {
  PING: { each: ping(), reason: CONTROL },
  'PING answers': { each: frame(TYPE.ping, 1, 0, Buffer.alloc(8)), reason: CONTROL },
  SETTINGS: { each: settings(), reason: CONTROL },
  'SETTINGS answers': { each: settingsAck, reason: CONTROL },
  'SETTINGS of many parameters': {
    each: settings(...Array.from({ length: 2_000 }, (_, i) => [PARAMETER.initialWindowSize, i] as const)),
    reason: CONTROL,
  },
  PRIORITY: { each: priority(1), reason: CONTROL },
  'unknown frames': { each: frame(0x77, 0, 0), reason: CONTROL },
  GOAWAY: { before: OPEN_REQUEST, each: frame(TYPE.goAway, 0, 0, Buffer.alloc(8)), reason: CONTROL },
  'empty DATA': { before: OPEN_REQUEST, each: data(1), reason: IDLE },
  'padded DATA without data': {
    before: OPEN_REQUEST,
    each: data(1, Buffer.from([3, 0, 0, 0]), 0x8),
    reason: IDLE,
  },
  'WINDOW_UPDATE of the connection': { each: windowUpdate(0, 1), reason: IDLE },
  'WINDOW_UPDATE of a stream': { before: OPEN_REQUEST, each: windowUpdate(1, 1), reason: IDLE },
  'small DATA': {
    before: Buffer.concat([OPEN_REQUEST, data(1, Buffer.from([0, 0, 1, 0, 0]))]),
    each: data(1, Buffer.from('x')),
    reason: SMALL,
  },
  'small DATA on a stream that is answered': {
    before: headers(1, fieldBlock(grpcFields('/s/None'))),
    each: data(1, Buffer.from('x')),
    reason: LATE,
  },
  'small DATA on a stream that the peer has reset': {
    before: RESET_REQUEST,
    each: data(1, Buffer.from('x')),
    reason: LATE,
  },
  'trailers on a stream that the peer has reset': {
    before: RESET_REQUEST,
    each: headers(1, fieldBlock([['x-sum', '1']])),
    reason: LATE,
  },
};

const BURST = 50;
const terms = { burst: BURST, perSecond: 1, perRequest: 1 };
const connection: Partial<ConnectionLimits> = {
  control: terms,
  idleFrames: terms,
  lateFrames: terms,
  smallData: terms,
};

function times(count: number, each: Buffer): Buffer {
  return Buffer.concat(Array<Buffer>(count).fill(each));
}

/** A GOAWAY for a fault; a peer that takes its leave gets one without. */
function isBlame({ type, payload }: Frame): boolean {
  return type === TYPE.goAway && payload.readUInt32BE(4) !== ERRORS.noError;
}

async function attack(t: Test, { before, each }: Flood, limits: Partial<ConnectionLimits>) {
  const { client, ...serving } = await attacked(t, { limits: { connection: limits } });
  if (before !== undefined) client.send(before);
  return { serving, clock: serving.clock, client, flood: (count: number) => client.send(times(count, each)) };
}

for (const [name, flood] of Object.entries(FLOODS)) {
  t.test(`a flood of ${name} ends its connection with ENHANCE_YOUR_CALM, and no other`, async t => {
    const { serving, client, ...attacker } = await attack(t, flood, connection);
    attacker.flood(2 * BURST);
    const { payload } = await client.frame(isBlame);
    t.equal(payload.readUInt32BE(4), ERRORS.enhanceYourCalm);
    t.match(payload.toString(), flood.reason);
    await client.ended;
    await isOver(t, serving, client);
  });

  t.test(`${name} within the allowance is put up with`, async t => {
    const { clock, client, ...attacker } = await attack(t, flood, connection);
    attacker.flood(BURST - 10);
    await client.settled();
    clock.advance(20_000);
    attacker.flood(10);
    await client.settled();
    t.notOk(client.frames.some(isBlame));
  });
}

t.test('SETTINGS that move the windows of all streams are earned by time alone', async t => {
  const windowChanges = { burst: 10, perSecond: 1, perRequest: 0 };
  const { client, clock } = await attack(t, { each: settings(), reason: CONTROL }, { windowChanges });
  const change = (size: number): Buffer => settings([PARAMETER.initialWindowSize, size]);
  let id = 1;
  const calls = async (count: number, framesOf: (call: number) => Buffer): Promise<void> => {
    for (let call = 0; call < count; call++, id += 2) {
      client.send(framesOf(call));
      t.equal(await client.call(id, '/s/Echo'), '0');
    }
  };
  await calls(20, () => change(65_535));
  t.notOk(client.frames.some(isBlame), 'what changes nothing costs nothing');
  await calls(10, call => change(1_000 + call));
  clock.advance(5_000);
  await calls(5, call => change(2_000 + call));
  client.send(change(3_000));
  t.equal(await client.goAway(), ERRORS.enhanceYourCalm);
  t.match(await client.goAwayText(), /too many changes of SETTINGS_INITIAL_WINDOW_SIZE/);
});

t.test('requests earn the frames that honest clients send with them', async t => {
  const { client } = await attack(t, { each: ping(), reason: CONTROL }, connection);
  for (let i = 0; i < 4 * BURST; i++) {
    client.send(ping(), windowUpdate(0, 1));
    t.equal(await client.call(2 * i + 1, '/s/Echo', 'on'), '0');
  }
});

t.test('with the limits of production, a flood of any kind leaves the memory as it was', async t => {
  const { server } = await serveOwn(t);
  const attack = async (): Promise<void> => {
    for (const { each, before } of Object.values(FLOODS)) {
      const client = await WireClient.open(t, server.address);
      client.send(before ?? Buffer.alloc(0), times(each.length > 1_000 ? 600 : 3_000, each));
      await client.ended;
      client.socket.destroy();
      client.frames.length = 0;
      client.received.length = 0;
      await connectionsDownTo(server, 0);
    }
  };
  await takesNoMemory(t, attack, 5);
});
