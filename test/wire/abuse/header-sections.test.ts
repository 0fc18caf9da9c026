import t from 'tap';
import { type OwnServing, serveOwn } from '../../support/own-server.ts';
import { WireClient } from '../../support/wire-client.ts';
import {
  CLIENT_PREFACE,
  continuation,
  data,
  ERRORS,
  type Fields,
  FLAGS,
  fieldBlock,
  grpcFields,
  grpcMessage,
  headers,
  ping,
  prefixedInteger,
  settings,
} from '../../support/wire-frames.ts';
import { attacked, isOver, isServed, takesNoMemory } from './attack.ts';

const FIELDS = grpcFields('/s/Echo');
const END = FLAGS.endHeaders;

for (const [name, count, payload, reason] of [
  ['empty', 1_000, Buffer.alloc(0), /more than 32 CONTINUATION/],
  ['full', 20, Buffer.alloc(16_384), /more than 262144 bytes/],
] as const) {
  t.test(`a flood of ${name} CONTINUATION frames ends the connection`, async t => {
    const { client, ...serving } = await attacked(t);
    client.send(headers(1, fieldBlock(FIELDS), 0), ...Array<Buffer>(count).fill(continuation(1, payload)));
    t.equal(await client.goAway(), ERRORS.enhanceYourCalm);
    t.match(await client.goAwayText(), reason);
    await client.ended;
    await isOver(t, serving, client);
  });
}

t.test('a header section in several frames is put together', async t => {
  const { client } = await attacked(t);
  const block = fieldBlock([...FIELDS, ['x-long', 'x'.repeat(3_000)]]);
  const parts = Array.from({ length: 31 }, (_, i) => block.subarray(i * 100, (i + 1) * 100));
  const rest = continuation(1, block.subarray(3_100), END);
  client.send(headers(1, parts[0], 0), ...parts.slice(1).map(part => continuation(1, part)), rest);
  client.send(data(1, grpcMessage('on'), FLAGS.endStream));
  t.match(await client.answer(1), { fields: { 'grpc-status': '0' }, content: grpcMessage('on') });
});

t.test('a flood of header sections that are answered 431 ends the connection', async t => {
  const largeHeaders = { burst: 20, perSecond: 1, perRequest: 1 };
  const { client, ...serving } = await attacked(t, {
    limits: { connection: { largeHeaders, maxHeaderFields: 100 } },
  });
  // One octet each: a reference to the static table (RFC 7541, 6.1).
  const block = Buffer.concat([fieldBlock(FIELDS), Buffer.alloc(200, 0x80 | 19)]);
  for (let call = 0; call < 20; call++) {
    client.send(headers(2 * call + 1, block, END | FLAGS.endStream));
    t.equal((await client.answer(2 * call + 1)).fields[':status'], '431');
  }
  t.equal(await client.call(41, '/s/Echo', 'on'), '0');
  client.send(headers(43, block, END | FLAGS.endStream));
  t.equal((await client.answer(43)).fields[':status'], '431', 'a call that is answered earns one');
  client.send(headers(45, block, END | FLAGS.endStream));
  t.equal(await client.goAway(), ERRORS.enhanceYourCalm);
  t.match(await client.goAwayText(), /too many header sections beyond SETTINGS_MAX_HEADER_LIST_SIZE/);
  await client.ended;
  await isOver(t, serving, client);
});

/** The head of a call with more fields, in as many frames as it takes. */
function section(id: number, fields: Fields): Buffer {
  const block = fieldBlock([...FIELDS, ...fields]);
  const parts = Array.from({ length: Math.ceil(block.length / 16_384) }, (_, i) =>
    block.subarray(i * 16_384, (i + 1) * 16_384),
  );
  const flags = (i: number): number => (i === parts.length - 1 ? END : 0);
  return Buffer.concat(
    parts.map((part, i) => (i === 0 ? headers(id, part, flags(i)) : continuation(id, part, flags(i)))),
  );
}

t.test('64 KiB of metadata are accepted, in one field or in a thousand', async t => {
  const { client } = await attacked(t);
  const one: Fields = [['x-long', 'x'.repeat(65_536)]];
  const many: Fields = Array.from({ length: 990 }, (_, i) => [`x-${i}`, 'x'.repeat(60)]);
  for (const [i, fields] of [one, many].entries()) {
    client.send(section(2 * i + 1, fields), data(2 * i + 1, grpcMessage('on'), FLAGS.endStream));
    t.match(await client.answer(2 * i + 1), { fields: { 'grpc-status': '0' }, content: grpcMessage('on') });
  }
});

t.test('how much metadata is accepted can be set', async t => {
  const { client } = await attacked(t, { options: { maxMetadataBytes: 9_000 } });
  client.send(section(1, [['x-long', 'x'.repeat(9_000)]]));
  t.match((await client.answer(1)).fields, { ':status': '431' });
  client.send(section(3, [['x-long', 'x'.repeat(8_000)]]), data(3, grpcMessage('on'), FLAGS.endStream));
  t.match((await client.answer(3)).fields, { 'grpc-status': '0' });
});

t.test('metadata counts as held until the message has come, so that it cannot fill the memory', async t => {
  const { client, server } = await attacked(t, {
    limits: { calls: { maxHeldBytes: 1_048_576 } },
  });
  const large: Fields = [['x-long', 'x'.repeat(100_000)]];
  const ids = Array.from({ length: 12 }, (_, i) => 2 * i + 1);
  for (const id of ids) client.send(section(id, large));
  await client.settled();
  t.ok(server.heldBytes > 900_000 && server.heldBytes < 1_100_000, `${server.heldBytes} bytes`);
  t.match((await client.answer(23)).fields, { 'grpc-status': '8', 'grpc-message': /too many unfinished/ });
  client.send(...ids.slice(0, 8).map(id => data(id, grpcMessage(), FLAGS.endStream)));
  for (const id of ids.slice(0, 8)) t.equal((await client.answer(id)).fields['grpc-status'], '0');
  t.ok(server.heldBytes < 250_000, `what is complete is not counted: ${server.heldBytes} bytes are left`);
});

const TOO_LARGE: Record<string, Fields> = {
  'a field that is too long': [['x-long', 'x'.repeat(131_072)]],
  'fields that are too long together': Array.from({ length: 300 }, (_, i) => [`x-${i}`, 'x'.repeat(500)]),
  'too many fields': Array.from({ length: 1_001 }, (_, i) => [`x-${i}`, '']),
};

for (const [name, fields] of Object.entries(TOO_LARGE)) {
  t.test(`${name}: 431, and the connection goes on`, async t => {
    const { client, server } = await attacked(t);
    client.send(section(1, fields));
    t.match((await client.answer(1)).fields, { ':status': '431' });
    client.send(data(1, grpcMessage(), FLAGS.endStream));
    t.equal(await client.call(3, '/s/Echo'), '0');
    t.equal(server.streamCount, 0);
  });
}

/** A block that names one entry of the dynamic table again and again: few octets that stand for many. */
function bomb(times: number): Buffer {
  const name = Buffer.from('x-bomb');
  const value = Buffer.alloc(3_900, 'x');
  const entry = [
    Buffer.from([0x40]),
    prefixedInteger(name.length, 7, 0),
    name,
    prefixedInteger(value.length, 7, 0),
    value,
  ];
  return Buffer.concat([fieldBlock(FIELDS), ...entry, Buffer.alloc(times, 0x80 | 62)]);
}

t.test('an HPACK bomb is answered 431 and expands to nothing', async t => {
  const { client, ...serving } = await attacked(t);
  const { server } = serving;
  const once = bomb(12_000);
  t.ok(once.length < 16_384, 'one frame');
  let id = 1;
  const attack = async (): Promise<void> => {
    for (let bombs = 0; bombs < 10; bombs++, id += 2) {
      client.send(headers(id, once, END | FLAGS.endStream));
      t.equal((await client.answer(id)).fields[':status'], '431');
      client.frames.length = 0;
      client.received.length = 0;
    }
  };
  await takesNoMemory(t, attack, 10, 1_048_576);
  t.equal(await client.call(1_001, '/s/Echo'), '0', 'the table followed');
  t.equal(server.streamCount, 0);
  await isServed(t, serving);
});

t.test('a block that cannot be decoded ends the connection', async t => {
  const { client, ...serving } = await attacked(t);
  client.send(headers(1, Buffer.from([0x80 | 126])));
  t.equal(await client.goAway(), ERRORS.compressionError);
  await client.ended;
  await isOver(t, serving, client);
});

/** Sends the next octets every second of the server's time until the connection ends; returns the seconds. */
async function trickle(
  { clock }: OwnServing,
  client: WireClient,
  next: (second: number) => Uint8Array,
): Promise<number> {
  let isOver = false;
  client.ended.then(() => {
    isOver = true;
  });
  let second = 0;
  for (; !isOver && second < 1_000; second++) {
    client.send(next(second));
    for (let turn = 0; turn < 5; turn++) await new Promise(resolve => setImmediate(resolve));
    clock.advance(1_000);
  }
  return second;
}

const BLOCK = fieldBlock([...FIELDS, ['x-long', 'x'.repeat(2_000)]]);
const WHOLE = headers(1, BLOCK, END);

const TRICKLES: Record<string, { begin: Buffer; next: (second: number) => Uint8Array }> = {
  'a header section, a frame each second': {
    begin: headers(1, BLOCK.subarray(0, 1), 0),
    next: second => continuation(1, BLOCK.subarray(second + 1, second + 2)),
  },
  'a header section, an octet each second': {
    begin: WHOLE.subarray(0, 9),
    next: second => WHOLE.subarray(second + 9, second + 10),
  },
  'a frame header, an octet in three seconds': {
    begin: Buffer.alloc(0),
    next: second => WHOLE.subarray(second / 3, second % 3 === 0 ? second / 3 + 1 : second / 3),
  },
  'a PING, an octet in two seconds': {
    begin: ping().subarray(0, 4),
    next: second => Buffer.alloc(second % 2),
  },
};

for (const [name, { begin, next }] of Object.entries(TRICKLES)) {
  t.test(`a peer that trickles ${name} is given up in time`, async t => {
    const { client, ...serving } = await attacked(t, { limits: { connection: { headersMs: 10_000 } } });
    client.send(begin);
    const seconds = await trickle(serving, client, next);
    t.ok(seconds >= 10 && seconds <= 16, `after ${seconds} s`);
    t.equal(await client.goAway(), ERRORS.enhanceYourCalm);
    await client.ended;
    await isOver(t, serving, client);
  });
}

const OPENINGS: Record<string, { begin: Buffer; next: (second: number) => Uint8Array }> = {
  nothing: { begin: Buffer.alloc(0), next: () => Buffer.alloc(0) },
  'a preface, an octet each second': {
    begin: Buffer.alloc(0),
    next: second => CLIENT_PREFACE.subarray(second, second + 1),
  },
  'a preface without SETTINGS': { begin: CLIENT_PREFACE, next: () => Buffer.alloc(0) },
  'SETTINGS, an octet each second': {
    begin: CLIENT_PREFACE,
    next: second => settings().subarray(second, second < 8 ? second + 1 : second),
  },
  'a line of HTTP/1.1, an octet each second': { begin: Buffer.from('GET /'), next: () => Buffer.from('x') },
};

for (const [name, { begin, next }] of Object.entries(OPENINGS)) {
  t.test(`a peer that begins with ${name} is given up in time`, async t => {
    const serving = await serveOwn(t, { limits: { connection: { headersMs: 10_000 } } });
    const client = await WireClient.connect(t, serving.server.address);
    client.send(begin);
    const seconds = await trickle(serving, client, next);
    t.ok(seconds >= 10 && seconds <= 13, `after ${seconds} s`);
    await client.ended;
    await isOver(t, serving, client);
  });
}

t.test('a peer that does not acknowledge our SETTINGS is given up in time', async t => {
  const serving = await serveOwn(t, { limits: { connection: { settingsMs: 20_000 } } });
  const client = await WireClient.connect(t, serving.server.address);
  client.send(CLIENT_PREFACE, settings());
  const seconds = await trickle(serving, client, () => Buffer.alloc(0));
  t.ok(seconds >= 20 && seconds <= 23, `after ${seconds} s`);
  t.equal(await client.goAway(), ERRORS.settingsTimeout);
  await client.ended;
  await isOver(t, serving, client);
});
