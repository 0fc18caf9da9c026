import type { Profiler } from 'node:inspector';
import type { CallNode } from './pprof.ts';
import type { ProfileKind } from './profile-kind.ts';

/** Where the CPU time goes: V8 looks at the stack about once a millisecond. */
export const CPU_PROFILE: ProfileKind = {
  name: 'profile',
  help: 'CPU time of the main thread over the next `seconds`',
  defaultSeconds: 30,
  jsonFormat: 'cpuprofile',
  async start(session) {
    await session.post('Profiler.enable');
    await session.post('Profiler.start');
  },
  async finish(session) {
    const { profile } = await session.post('Profiler.stop');
    return {
      json: () => JSON.stringify(profile),
      callTree: () => ({
        root: cpuTree(profile),
        valueKinds: [
          { type: 'samples', unit: 'count' },
          { type: 'cpu', unit: 'nanoseconds' },
        ],
      }),
    };
  },
};

/** The call tree of a V8 CPU profile; per node the number of samples and their nanoseconds. */
export function cpuTree(profile: Profiler.Profile): CallNode {
  const selfMicros = selfTimes(profile);
  const nodes = new Map(profile.nodes.map(node => [node.id, node]));
  const build = (node: Profiler.ProfileNode): CallNode => {
    const children = (node.children ?? []).flatMap(id => nodes.get(id) ?? []).map(build);
    const { callFrame, hitCount = 0 } = node;
    // V8 also looks while the thread waits for work, which takes no CPU time.
    if (callFrame.functionName === '(idle)') return { callFrame, values: [0, 0], children };
    return { callFrame, values: [hitCount, (selfMicros.get(node.id) ?? 0) * 1000], children };
  };
  return build(profile.nodes[0]);
}

/** Microseconds by node id: a sample stands for the time until the next one, the last one until the end. */
function selfTimes({ samples = [], timeDeltas = [], startTime, endTime }: Profiler.Profile) {
  const micros = new Map<number, number>();
  let at = startTime;
  for (let i = 0; i < samples.length; i++) {
    at += timeDeltas[i];
    const untilNext = i + 1 < samples.length ? timeDeltas[i + 1] : endTime - at;
    // V8 sorts samples after the fact, and a delta can come out below zero.
    micros.set(samples[i], (micros.get(samples[i]) ?? 0) + Math.max(0, untilNext));
  }
  return micros;
}
