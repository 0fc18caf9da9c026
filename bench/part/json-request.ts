import { ByteWriter } from '../../src/base/bytes.ts';
import { jsonToRequest } from '../../src/messages/json-request.ts';

/**
 * What reading one `/json` request costs, beside `JSON.parse` of the same bytes: the least that a reader that builds
 * objects could cost, before it checks or encodes anything. Run it: `node bench/part/json-request.ts`.
 */

const WARM_UP_MS = 300;
const ROUND_MS = 50;
const ROUNDS = 15;

interface Scenario {
  readonly name: string;
  readonly body: Buffer;
}

interface Row {
  readonly document: string;
  readonly bytes: number;
  readonly 'jsonToRequest ns': number;
  readonly 'JSON.parse ns': number;
  readonly 'times as fast': number;
}

function scenario(name: string, request: object): Scenario {
  return { name, body: Buffer.from(JSON.stringify(request)) };
}

function descriptor(number: number, entries: number, value: string): object {
  return {
    entries: Array.from({ length: entries }, (_, i) => ({ key: `key_${i}`, value: `${value}_${number}` })),
  };
}

const SCENARIOS: readonly Scenario[] = [
  scenario('1 descriptor, 1 entry', { domain: 'edge', descriptors: [descriptor(0, 1, 'user')] }),
  scenario('2 descriptors, 2 entries', {
    domain: 'edge',
    descriptors: [descriptor(0, 2, 'user'), descriptor(1, 2, 'remote_address')],
    hitsAddend: 1,
  }),
  scenario('limit and own hits', {
    domain: 'edge',
    descriptors: [
      {
        ...descriptor(0, 2, 'user'),
        limit: { requestsPerUnit: 100, unit: 'MINUTE' },
        hitsAddend: '3',
      },
    ],
  }),
  scenario('20 descriptors, 3 entries', {
    domain: 'edge',
    descriptors: Array.from({ length: 20 }, (_, i) => descriptor(i, 3, 'path')),
  }),
  scenario('escapes and non-ASCII', {
    domain: 'edge',
    descriptors: [descriptor(0, 2, '"Grüße"\t\\ 限制')],
  }),
];

interface Measured {
  readonly own: number;
  readonly parse: number;
  /** The ratio within a round, so that a machine that changes its speed between rounds does not change it. */
  readonly ratio: number;
}

/** Nanoseconds per call of both, in rounds that take turns: the medians over the rounds. */
function measure(own: () => void, parse: () => void): Measured {
  timePerCall(own, WARM_UP_MS);
  timePerCall(parse, WARM_UP_MS);
  const rounds = Array.from({ length: ROUNDS }, () => ({
    own: timePerCall(own, ROUND_MS),
    parse: timePerCall(parse, ROUND_MS),
  }));
  return {
    own: median(rounds.map(round => round.own)),
    parse: median(rounds.map(round => round.parse)),
    ratio: median(rounds.map(round => round.parse / round.own)),
  };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1];
}

function timePerCall(run: () => void, forMs: number): number {
  const start = process.hrtime.bigint();
  const stop = start + BigInt(forMs) * 1_000_000n;
  let calls = 0;
  let now = start;
  for (; now < stop; now = process.hrtime.bigint()) {
    for (let i = 0; i < 1000; i++) run();
    calls += 1000;
  }
  return Number(now - start) / calls;
}

const writer = new ByteWriter();
/** Kept, so that no work can be optimised away. */
let sink = 0;

function row({ name, body }: Scenario): Row {
  const { own, parse, ratio } = measure(
    () => {
      writer.reset();
      jsonToRequest(body, writer);
      sink += writer.length;
    },
    () => {
      sink += JSON.parse(body.toString('utf8')).descriptors.length;
    },
  );
  return {
    document: name,
    bytes: body.length,
    'jsonToRequest ns': Math.round(own),
    'JSON.parse ns': Math.round(parse),
    'times as fast': Number(ratio.toFixed(2)),
  };
}

console.table(SCENARIOS.map(row));
if (sink === 0) throw new Error('nothing was measured');
