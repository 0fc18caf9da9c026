import t from 'tap';
import { ERROR } from '../../../../src/http2/faults.ts';
import type { Http2Stream } from '../../../../src/http2/streams/stream.ts';
import {
  END_BOTH,
  END_STREAM,
  goAway,
  headersWithPriority,
  paddedData,
} from '../../../support/http2-frames.ts';
import {
  HEAD_BLOCK,
  Http2Peer,
  randomSplits,
  requestBlock,
  TRAILERS_BLOCK,
} from '../../../support/http2-peer.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import {
  continuation,
  data,
  frame,
  headers,
  ping,
  priority,
  rstStream,
  settings,
  windowUpdate,
} from '../../../support/wire-frames.ts';

const RUNS = 400;
const FRAMES = 120;
const BLOCK = requestBlock();

/** A frame that is allowed more often than not. */
function anyFrame(random: SeededRandom): Buffer {
  const id = 2 * random.below(30) + 1;
  const content = Buffer.alloc(random.below(300), 'x');
  return random.pick([
    () => headers(id, BLOCK, random.pick([0x4, END_BOTH])),
    () => headersWithPriority(id, BLOCK, random.below(9), END_BOTH),
    () => Buffer.concat([headers(id, BLOCK.subarray(0, 9), 0), continuation(id, BLOCK.subarray(9), 0x4)]),
    () => data(id, content, random.pick([0, END_STREAM])),
    () => paddedData(id, 'x'.repeat(random.below(50)), random.below(60)),
    () => rstStream(id),
    () => windowUpdate(random.pick([0, id]), random.below(500)),
    () => settings([random.below(8), random.below(70_000)]),
    () => priority(id, random.below(60)),
    () => ping(),
    () => frame(random.below(16), random.below(256), random.below(12), content),
    () => (random.below(40) === 0 ? goAway(0, 'NO_ERROR') : ping()),
  ])();
}

/** Changes some octets, in every fourth run. */
function mutated(bytes: Buffer, random: SeededRandom): Buffer {
  if (random.below(4) > 0) return bytes;
  const changed = Buffer.from(bytes);
  for (let i = random.below(6); i > 0; i--) changed[random.below(changed.length)] = random.below(256);
  return changed;
}

/** A layer above that answers some streams at once, some later, some in parts, and resets others. */
function answering(
  peer: Http2Peer,
  random: SeededRandom,
): { open: Map<number, Http2Stream>; turn: () => void } {
  const open = new Map<number, Http2Stream>();
  const { connection } = peer;
  const answer = (stream: Http2Stream): void => {
    const lead = Buffer.alloc(random.below(2) * 5, 'x');
    connection.sendData(stream, Buffer.alloc(random.below(3_000), 'y'), lead);
    if (random.below(3) > 0) return;
    open.delete(stream.id);
    if (random.below(4) === 0) connection.reset(stream, ERROR.internalError);
    else connection.end(stream, TRAILERS_BLOCK);
  };
  peer.handler.onRequest = stream => {
    open.set(stream.id, stream);
    connection.sendHead(stream, HEAD_BLOCK);
    if (random.below(2) === 0) answer(stream);
  };
  peer.handler.onData = (stream, endStream) => {
    if (endStream && open.has(stream.id)) answer(stream);
  };
  return { open, turn: () => open.size > 0 && answer(random.pick([...open.values()])) };
}

/** Checks the calls of the handler and their order for each stream. */
function checkEvents(events: readonly string[]): void {
  const last = new Map<string, string>();
  for (const event of events) {
    const [kind, id] = event.split(' ');
    const before = last.get(id);
    const ended = before?.endsWith(' end') ?? false;
    const fine =
      kind === 'request' ? before === undefined : before !== undefined && !before.startsWith('aborted');
    if (!fine || (kind === 'data' && ended)) throw new Error(`"${event}" came after "${before}"`);
    last.set(id, event);
  }
}

t.test('whatever a client sends, no exception escapes, and what the server says is well formed', async t => {
  const kinds = new Map<string, number>();
  for (let seed = 0; seed < RUNS; seed++) {
    const random = new SeededRandom(seed);
    const peer = Http2Peer.open({ chunking: randomSplits(seed), settings: [[4, random.below(2_000)]] });
    const { open, turn } = answering(peer, random);
    const said: string[] = [];
    for (let i = 0; i < FRAMES && !peer.connection.closed; i++) {
      said.push(...peer.send(mutated(anyFrame(random), random)));
      turn();
      if (random.below(10) === 0) said.push(...peer.tick(random.below(20_000)));
    }
    peer.connection.abort(ERROR.cancel);
    said.push(...peer.take());
    checkEvents(peer.handler.take());
    if (peer.connection.streamCount + peer.connection.queuedBytes > 0)
      t.fail(`seed ${seed}: something is left`);
    if ([...open.values()].some(stream => stream.state !== 'closed'))
      t.fail(`seed ${seed}: a stream is open`);
    for (const words of said) {
      const kind = words.replace(/ .*? /, ' ').split(' ').slice(0, 2).join(' ');
      if (/^(GOAWAY|RST)/.test(words)) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    }
  }
  // Else the frames are not what they are meant to be.
  t.ok(kinds.size >= 8, `ends of many kinds: ${[...kinds.keys()].join(', ')}`);
});

t.test('bytes without any sense end the connection', async t => {
  for (let seed = 0; seed < 200; seed++) {
    const random = new SeededRandom(seed);
    const peer = Http2Peer.open({ chunking: randomSplits(seed) });
    const noise = Buffer.from(Array.from({ length: 40_000 }, () => random.below(256)));
    const said = peer.send(noise);
    if (!peer.connection.closed) t.fail(`seed ${seed}: it goes on, after ${said.join()}`);
  }
  t.pass('all of them');
});
