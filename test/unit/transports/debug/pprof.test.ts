import type { Profiler } from 'node:inspector';
import { Profile } from 'pprof-format';
import t from 'tap';
import { type CallNode, encodePprof } from '../../../../src/transports/debug/pprof.ts';
import { cpuTree, heapTree } from '../../../../src/transports/debug/profiler.ts';

function frame(functionName: string, url = '', lineNumber = -1) {
  return { functionName, scriptId: '0', url, lineNumber, columnNumber: 0 };
}

const ROOT = frame('(root)');
const SERVE = frame('serve', 'file:///srv/app/serve.js', 9);
const UNNAMED = frame('', 'file:///srv/app/serve.js', 19);

/** A profile as pprof reads it: names for numbers. */
function readable(encoded: Uint8Array) {
  const profile = Profile.decode(encoded);
  const text = (index: unknown): string => profile.stringTable.strings[Number(index)];
  const functions = new Map(profile.function.map(entry => [Number(entry.id), entry]));
  const locations = new Map(profile.location.map(entry => [Number(entry.id), entry]));
  return {
    profile,
    types: profile.sampleType.map(kind => `${text(kind.type)}/${text(kind.unit)}`),
    shown: text(profile.defaultSampleType),
    samples: profile.sample.map(sample => ({
      stack: sample.locationId.map(id => {
        const [line] = locations.get(Number(id))!.line;
        const { name, filename } = functions.get(Number(line.functionId))!;
        return `${text(name)} ${text(filename)}:${line.line}`;
      }),
      values: sample.value.map(Number),
    })),
  };
}

t.test('each node with a value becomes a sample with its stack, innermost call first', t => {
  const inner: CallNode = { callFrame: UNNAMED, values: [3, 3000], children: [] };
  const outer: CallNode = { callFrame: SERVE, values: [1, 1500], children: [inner] };
  const idle: CallNode = { callFrame: frame('(idle)'), values: [0, 0], children: [] };
  const { profile, ...shown } = readable(
    encodePprof({
      root: { callFrame: ROOT, values: [0, 0], children: [outer, idle, inner] },
      valueKinds: [
        { type: 'samples', unit: 'count' },
        { type: 'cpu', unit: 'nanoseconds' },
      ],
      startedAtMs: 1_700_000_000_123,
      durationMs: 2000,
    }),
  );
  t.same(shown, {
    types: ['samples/count', 'cpu/nanoseconds'],
    shown: 'cpu',
    samples: [
      { stack: ['serve /srv/app/serve.js:10'], values: [1, 1500] },
      {
        stack: ['(anonymous serve.js:20) /srv/app/serve.js:20', 'serve /srv/app/serve.js:10'],
        values: [3, 3000],
      },
      { stack: ['(anonymous serve.js:20) /srv/app/serve.js:20'], values: [3, 3000] },
    ],
  });
  t.equal(profile.function.length, 3);
  t.equal(BigInt(profile.timeNanos), 1_700_000_000_123_000_000n);
  t.equal(Number(profile.durationNanos), 2_000_000_000);
  t.end();
});

t.test('functions without a name are distinguished by their place', t => {
  const leaf = (callFrame: ReturnType<typeof frame>): CallNode => ({ callFrame, values: [1], children: [] });
  const { samples } = readable(
    encodePprof({
      root: {
        callFrame: ROOT,
        values: [0],
        children: [
          leaf(frame('')),
          leaf(frame('', 'node:internal/timers', 4)),
          leaf(frame('', 'file:///a/b.js')),
        ],
      },
      valueKinds: [{ type: 'inuse_space', unit: 'bytes' }],
      startedAtMs: 0,
      durationMs: 0,
    }),
  );
  t.same(samples, [
    { stack: ['(native) :0'], values: [1] },
    { stack: ['(anonymous timers:5) node:internal/timers:5'], values: [1] },
    { stack: ['(top level b.js) /a/b.js:0'], values: [1] },
  ]);
  t.end();
});

t.test('a CPU sample stands for the time until the next, and waiting for work for none', t => {
  const profile: Profiler.Profile = {
    nodes: [
      { id: 1, callFrame: ROOT, hitCount: 0, children: [2, 3] },
      { id: 2, callFrame: SERVE, hitCount: 2, children: [4] },
      { id: 3, callFrame: frame('(idle)'), hitCount: 1 },
      { id: 4, callFrame: UNNAMED, hitCount: 2 },
    ],
    startTime: 1000,
    endTime: 8000,
    samples: [2, 4, 3, 4, 2],
    timeDeltas: [500, 1000, 1200, 2000, -100],
  };
  t.same(cpuTree(profile), {
    callFrame: ROOT,
    values: [0, 0],
    children: [
      {
        callFrame: SERVE,
        // From its first sample 1000 µs to the next; from its last, at 5600, to the end.
        values: [2, 3_400_000],
        children: [{ callFrame: UNNAMED, values: [2, 1_200_000], children: [] }],
      },
      { callFrame: frame('(idle)'), values: [0, 0], children: [] },
    ],
  });
  t.end();
});

t.test('a CPU profile without samples is a tree without values', t => {
  const nodes = [{ id: 1, callFrame: ROOT }];
  t.same(cpuTree({ nodes, startTime: 0, endTime: 1 }), { callFrame: ROOT, values: [0, 0], children: [] });
  t.end();
});

t.test('a heap profile keeps the bytes of each node', t => {
  const tree = heapTree({
    callFrame: ROOT,
    selfSize: 0,
    children: [{ callFrame: SERVE, selfSize: 1024, children: [] }],
  });
  t.same(tree, {
    callFrame: ROOT,
    values: [0],
    children: [{ callFrame: SERVE, values: [1024], children: [] }],
  });
  t.end();
});
