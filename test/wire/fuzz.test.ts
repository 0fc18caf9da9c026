import t, { type Test } from 'tap';
import { HpackDecoder } from '../../src/http2/hpack/decoder.ts';
import { Conversations } from '../support/conversations.ts';
import { GrpcClient, openHttp2 } from '../support/grpc-client.ts';
import { InMemory } from '../support/in-memory.ts';
import { heldMemory } from '../support/memory.ts';
import { connectionsDownTo, serveOwn, silent } from '../support/own-server.ts';
import { Recording } from '../support/recording.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { WireClient } from '../support/wire-client.ts';
import {
  CLIENT_PREFACE,
  data,
  FLAGS,
  FrameReader,
  fieldBlock,
  frame,
  grpcCall,
  grpcFields,
  grpcMessage,
  headers,
  settings,
  settingsAck,
  TYPE,
} from '../support/wire-frames.ts';

const PATHS = ['/s/Echo', '/s/Hold', '/s/Refuse', '/s/Large', '/s/Watch', '/s/Talk', '/s/None'];

/** What real clients say while they make calls of all kinds. */
async function recordings(t: Test): Promise<Buffer[]> {
  const { server } = await serveOwn(t, {
    unary: { '/s/Hold': silent },
    streaming: { '/s/Watch': () => {} },
    bidi: { '/s/Talk': new Conversations().method },
  });
  const recording = await Recording.open(t, server.address);
  const grpc = new GrpcClient(recording.address);
  const calls = PATHS.slice(0, 4).map((path, i) =>
    grpc.unary(path, `call ${i}`.repeat(i), { deadline: Date.now() + 200 }),
  );
  const watch = grpc.stream('/s/Watch');
  const talk = grpc.talk('/s/Talk');
  for (const message of ['a', '', 'x'.repeat(20_000)]) await talk.ask(message);
  await grpc.unary('/s/Echo', Buffer.alloc(40_000, 'large '));
  watch.cancel();
  talk.end();
  await talk.status;
  await Promise.all(calls);
  grpc.close();
  const session = openHttp2(recording.address);
  for (const path of PATHS) {
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      'x-id': path,
    });
    stream.on('error', () => {});
    stream.end(grpcMessage(`node ${path}`));
    if (path === '/s/Hold') stream.close(8);
  }
  await new Promise(resolve => session.ping(resolve));
  await new Promise<void>(resolve => session.close(resolve));
  return recording.said;
}

/** A conversation that we write ourselves, with every frame that a client may send. */
function scripted(): Buffer {
  const calls = PATHS.map((path, i) => grpcCall(2 * i + 1, path, `call ${i}`));
  return Buffer.concat([
    CLIENT_PREFACE,
    settings([4, 1_000], [5, 20_000]),
    settingsAck,
    ...calls,
    frame(TYPE.ping, 0, 0, Buffer.alloc(8)),
    frame(TYPE.windowUpdate, 0, 0, Buffer.from([0, 0, 255, 255])),
    frame(TYPE.priority, 0, 21, Buffer.alloc(5)),
    settings([4, 100_000]),
    frame(TYPE.rstStream, 0, 3, Buffer.from([0, 0, 0, 8])),
    headers(15, fieldBlock(grpcFields('/', { ':method': 'GET', 'content-type': '' }))),
    headers(17, fieldBlock(grpcFields('/', { ':method': 'PUT' }))),
    data(17, Buffer.alloc(100)),
    data(17, Buffer.alloc(100), FLAGS.endStream),
    grpcCall(21, '/s/Echo', 'again'),
    frame(TYPE.goAway, 0, 0, Buffer.alloc(8)),
  ]);
}

function randomBytes(random: SeededRandom, count: number): Buffer {
  return Buffer.from(Array.from({ length: count }, () => random.below(256)));
}

/** A frame that has the form of one. */
function randomFrame(random: SeededRandom): Buffer {
  const length = random.pick([0, 1, 4, 5, 6, 8, 9, 20, 100]);
  const stream = random.pick([0, 1, 2, 3, 5, 7, 21, 23, 25, 1_001, 0x7fff_ffff]);
  return frame(random.below(12), random.below(256), stream, randomBytes(random, length));
}

const MUTATIONS: readonly ((bytes: Buffer, at: number, random: SeededRandom) => Buffer)[] = [
  (bytes, at, random) => {
    bytes[at] = random.below(256);
    return bytes;
  },
  (bytes, at, random) => {
    bytes[at] ^= 1 << random.below(8);
    return bytes;
  },
  (bytes, at, random) => Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + random.below(40))]),
  (bytes, at, random) => {
    const again = bytes.subarray(at, at + random.below(200));
    return Buffer.concat([bytes.subarray(0, at), again, bytes.subarray(at)]);
  },
  (bytes, at, random) => Buffer.concat([bytes.subarray(0, at), randomFrame(random), bytes.subarray(at)]),
  (bytes, at) => bytes.subarray(0, at),
];

function mutated(original: Buffer, random: SeededRandom): Buffer {
  let bytes: Buffer = Buffer.from(original);
  for (let count = 1 + random.below(4); count > 0 && bytes.length > 30; count--) {
    // Mostly behind the preface: what does not begin with it ends at once.
    const at = random.below(20) === 0 ? random.below(24) : 24 + random.below(bytes.length - 24);
    bytes = random.pick(MUTATIONS)(bytes, at, random);
  }
  return bytes;
}

const CASES: readonly ((random: SeededRandom, conversations: readonly Buffer[]) => Buffer)[] = [
  random => randomBytes(random, random.below(200)),
  random => Buffer.concat([CLIENT_PREFACE, settings(), randomBytes(random, random.below(300))]),
  random =>
    Buffer.concat([
      CLIENT_PREFACE,
      settings(),
      ...Array.from({ length: 1 + random.below(12) }, () => randomFrame(random)),
    ]),
  ...Array<(random: SeededRandom, conversations: readonly Buffer[]) => Buffer>(5).fill(
    (random, conversations) => mutated(random.pick(conversations), random),
  ),
];

/** Cuts bytes into reads of random sizes. */
function* reads(bytes: Buffer, random: SeededRandom): Generator<Buffer> {
  const largest = random.pick([3, 50, 2_000, 100_000]);
  for (let at = 0; at < bytes.length; ) {
    const end = Math.min(at + 1 + random.below(largest), bytes.length);
    yield bytes.subarray(at, end);
    at = end;
  }
}

/** What is wrong with the frames of a server; empty when nothing is. */
function faultOf(output: Buffer): string {
  const frames = new FrameReader();
  const decoder = new HpackDecoder({ maxListBytes: 100_000, maxFields: 100 });
  const over = new Set<number>();
  let length = 0;
  for (const { type, flags, stream, payload } of frames.read(output)) {
    length += 9 + payload.length;
    if (type > TYPE.continuation) return `a frame of type ${type}`;
    if (type === TYPE.headers) decoder.decode(payload, 0, payload.length);
    if (stream === 0) continue;
    const isEnd = (type === TYPE.headers || type === TYPE.data) && (flags & FLAGS.endStream) !== 0;
    if (over.has(stream) && type !== TYPE.rstStream)
      return `a frame of type ${type} on ${stream}, which is over`;
    if (isEnd || type === TYPE.rstStream) over.add(stream);
  }
  return length === output.length ? '' : 'the last frame is not complete';
}

/** What a connection has left that is over, and whose methods have answered; empty when nothing. */
function leftovers({ grpc, held, deadlines, logger }: InMemory): string {
  const left: string[] = [];
  if (grpc.connection.streamCount > 0) left.push(`${grpc.connection.streamCount} streams`);
  if (held.held > 0) left.push(`${held.held} bytes of requests`);
  if (grpc.connection.queuedBytes > 0) left.push(`${grpc.connection.queuedBytes} bytes of answers`);
  if (grpc.abandoned !== 0) left.push(`${grpc.abandoned} calls that are worked on`);
  if (deadlines.size > 0) left.push(`${deadlines.size} deadlines`);
  return [...left, ...logger.messages('error')].join(', ');
}

function runCase(bytes: Buffer, random: SeededRandom): string {
  const connection = new InMemory();
  for (const chunk of reads(bytes, random)) {
    connection.receive(chunk);
    if (random.below(4) === 0) connection.answer();
    if (random.below(8) === 0) connection.pass(random.below(1_000));
  }
  if (random.below(2) === 0) connection.answer();
  for (let passed = 0; passed < 400_000 && !connection.grpc.connection.closed; passed += 5_000)
    connection.pass(5_000);
  const isClosed = connection.grpc.connection.closed;
  connection.end();
  if (!isClosed) return 'it did not run into any time limit';
  const { output } = connection;
  if (output.length > 2_000_000) return `an output of ${output.length} bytes`;
  return leftovers(connection) || faultOf(output);
}

t.test('no bytes of a peer throw, hang or leave anything behind', async t => {
  const conversations = [...(await recordings(t)), scripted()];
  const run = (seed: number): string => {
    const random = new SeededRandom(seed);
    const bytes = random.pick(CASES)(random, conversations);
    try {
      const wrong = runCase(bytes, random);
      return wrong === '' ? '' : `seed ${seed}: ${wrong}\n${bytes.toString('hex')}`;
    } catch (thrown) {
      return `seed ${seed}: ${(thrown as Error).stack}\n${bytes.toString('hex')}`;
    }
  };
  const wrong: string[] = [];
  for (let seed = 0; seed < 1_000; seed++) wrong.push(run(seed));
  const before = await heldMemory();
  for (let seed = 1_000; seed < 4_000; seed++) wrong.push(run(seed));
  const grown = (await heldMemory()) - before;
  t.strictSame(wrong.filter(text => text !== '').slice(0, 3), []);
  t.ok(grown < 2 * 1_048_576, `grown by ${grown} bytes`);
});

t.test('a conversation means the same however it is cut', async t => {
  for (const bytes of [...(await recordings(t)), scripted()]) {
    const whole = new InMemory();
    whole.receive(bytes);
    const cut = (chunks: Iterable<Buffer>): Buffer => {
      const connection = new InMemory();
      for (const chunk of chunks) connection.receive(chunk);
      return connection.output;
    };
    t.ok(whole.output.equals(cut(Array.from(bytes, octet => Buffer.from([octet])))), 'octet by octet');
    const step = Math.ceil(bytes.length / 1_500);
    let differing = 0;
    for (let at = 1; at < bytes.length; at += step)
      if (!whole.output.equals(cut([bytes.subarray(0, at), bytes.subarray(at)]))) differing++;
    t.equal(differing, 0, 'in two, anywhere');
  }
});

t.test('over sockets, a server continues to serve after invalid input', async t => {
  const serving = await serveOwn(t, { unary: { '/s/Hold': silent } });
  const { server, clock, honest, log } = serving;
  const conversations = [...(await recordings(t)), scripted()];
  t.equal((await honest.unary('/s/Echo', 'on')).status, 0);
  const random = new SeededRandom(4_711);
  for (let round = 0; round < 20; round++) {
    const clients: WireClient[] = [];
    for (let i = 0; i < 10; i++) {
      const client = await WireClient.connect(t, server.address);
      for (const chunk of reads(random.pick(CASES)(random, conversations), random)) client.send(chunk);
      if (random.below(4) === 0) client.socket.destroy();
      clients.push(client);
    }
    t.equal((await honest.unary('/s/Echo', 'on')).status, 0, `round ${round}`);
    for (const client of clients.slice(0, 5)) client.socket.destroy();
  }
  // Those that are left neither answer pings nor acknowledge, unless they said so; the honest client does.
  for (let passed = 0; server.connectionCount > 1 && passed < 400; passed++) {
    clock.advance(1_000);
    for (let turn = 0; turn < 5; turn++) await new Promise(resolve => setImmediate(resolve));
  }
  await connectionsDownTo(server, 1);
  t.strictSame(
    [server.streamCount, server.queuedBytes, server.heldBytes, server.deadlineCount],
    [0, 0, 0, 0],
  );
  t.equal((await honest.unary('/s/Echo', 'on')).status, 0);
  t.strictSame(
    log.filter(({ level }) => level === 'error'),
    [],
  );
});
