import type { HeapProfiler } from 'node:inspector';
import type { CallNode } from './pprof.ts';
import type { ProfileKind } from './profile-kind.ts';

/**
 * Where memory is taken and kept. V8 only knows of what was allocated while it sampled, and sampling costs each
 * allocation a little, so it does not run all the time: the profile covers the next seconds, not the whole past.
 */
export const HEAP_PROFILE: ProfileKind = {
  name: 'heap',
  help: 'memory that the main thread takes over the next `seconds` and still holds after them',
  defaultSeconds: 5,
  jsonFormat: 'heapprofile',
  async start(session) {
    await session.post('HeapProfiler.startSampling', {});
  },
  async finish(session) {
    const { profile } = await session.post('HeapProfiler.stopSampling');
    return {
      json: () => JSON.stringify(profile),
      callTree: () => ({
        root: heapTree(profile.head),
        valueKinds: [{ type: 'inuse_space', unit: 'bytes' }],
      }),
    };
  },
};

/** The call tree of a V8 sampling heap profile; per node the bytes that it allocated itself. */
export function heapTree(node: HeapProfiler.SamplingHeapProfileNode): CallNode {
  return {
    callFrame: node.callFrame,
    values: [Math.round(node.selfSize)],
    children: node.children.map(heapTree),
  };
}
