import type { HeapProfiler, Profiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';
import type { Clock } from '../../base/clock.ts';
import type { CallNode, CallTree } from './pprof.ts';

/** The result of a profile, as V8's JSON and as a call tree. */
interface FinishedProfile {
  /** V8's JSON format, for Chrome DevTools. */
  json(): string;
  callTree(): Pick<CallTree, 'root' | 'valueKinds'>;
}

/** One kind of profile that V8 can take of the current thread. */
export interface ProfileKind {
  /** The path below `/debug/pprof/`, the same as in Go programs. */
  readonly name: string;
  readonly help: string;
  readonly defaultSeconds: number;
  /** The value of `format` that selects V8's JSON, and the file name extension for DevTools. */
  readonly jsonFormat: string;
  start(session: Session): Promise<void>;
  finish(session: Session): Promise<FinishedProfile>;
}

/** A profile and the time when it was taken. */
export interface Recording {
  readonly profile: FinishedProfile;
  readonly startedAtMs: number;
  readonly durationMs: number;
}

/** Takes profiles of one kind, one at a time: V8 has one profiler per thread, and two would measure each other. */
export class ProfileRecorder {
  readonly kind: ProfileKind;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  #current: Promise<Recording | null> | null = null;

  constructor(kind: ProfileKind, clock: Clock) {
    this.kind = kind;
    this.#clock = clock;
  }

  get busy(): boolean {
    return this.#current !== null;
  }

  /** Profiles for `seconds`. Returns null if `cancel` or `stop` comes first. Throws while {@link busy}. */
  async record(seconds: number, cancel: AbortSignal): Promise<Recording | null> {
    if (this.#current !== null) throw new Error(`a ${this.kind.name} profile is already being taken`);
    this.#current = this.#run(seconds * 1000, AbortSignal.any([cancel, this.#stop.signal]));
    try {
      return await this.#current;
    } finally {
      this.#current = null;
    }
  }

  /** Stops the running profile. After this has resolved, nothing is sampled. */
  async stop(): Promise<void> {
    this.#stop.abort();
    // The caller of `record` handles the failure.
    await this.#current?.catch(() => {});
  }

  async #run(durationMs: number, cancelled: AbortSignal): Promise<Recording | null> {
    if (cancelled.aborted) return null;
    const session = new Session();
    session.connect();
    try {
      await this.kind.start(session);
      const startedAtMs = this.#clock.nowMs();
      await this.#elapsed(durationMs, cancelled);
      if (cancelled.aborted) return null;
      const profile = await this.kind.finish(session);
      return { profile, startedAtMs, durationMs };
    } finally {
      // This also stops the sampling of a cancelled profile.
      session.disconnect();
    }
  }

  /** Resolves after `durationMs`, or immediately when cancelled. */
  #elapsed(durationMs: number, cancelled: AbortSignal): Promise<void> {
    if (cancelled.aborted) return Promise.resolve();
    return new Promise(resolve => {
      const timer = this.#clock.after(durationMs, resolve);
      const cancel = (): void => {
        timer.cancel();
        resolve();
      };
      cancelled.addEventListener('abort', cancel, { once: true });
    });
  }
}

/** A CPU profile. V8 samples the stack about once per millisecond. */
export const CPU_PROFILE: ProfileKind = {
  name: 'profile',
  help: 'CPU time of the primary thread during the next `seconds`',
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

/** The call tree of a V8 CPU profile. The values of a node are its number of samples and their nanoseconds. */
export function cpuTree(profile: Profiler.Profile): CallNode {
  const selfMicros = selfTimes(profile);
  const nodes = new Map(profile.nodes.map(node => [node.id, node]));
  const build = (node: Profiler.ProfileNode): CallNode => {
    const children = (node.children ?? []).flatMap(id => nodes.get(id) ?? []).map(build);
    const { callFrame, hitCount = 0 } = node;
    // V8 also samples while the thread waits for work, which takes no CPU time.
    if (callFrame.functionName === '(idle)') return { callFrame, values: [0, 0], children };
    return { callFrame, values: [hitCount, (selfMicros.get(node.id) ?? 0) * 1000], children };
  };
  return build(profile.nodes[0]);
}

/** Microseconds by node id. A sample represents the time until the next sample, or until the end of the profile. */
function selfTimes({ samples = [], timeDeltas = [], startTime, endTime }: Profiler.Profile) {
  const micros = new Map<number, number>();
  let at = startTime;
  for (let i = 0; i < samples.length; i++) {
    at += timeDeltas[i];
    const untilNext = i + 1 < samples.length ? timeDeltas[i + 1] : endTime - at;
    // V8 sorts samples afterwards, so a delta can be negative.
    micros.set(samples[i], (micros.get(samples[i]) ?? 0) + Math.max(0, untilNext));
  }
  return micros;
}

/**
 * A heap profile: allocations that are still retained. V8 knows only allocations that were made while it was sampling.
 * Sampling slows every allocation a little, so it does not run all the time. The profile covers the next seconds, not
 * the past.
 */
export const HEAP_PROFILE: ProfileKind = {
  name: 'heap',
  help: 'memory that the primary thread allocates during the next `seconds` and still holds at the end',
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

/** The call tree of a V8 sampling heap profile. The value of a node is the number of bytes that it allocated itself. */
export function heapTree(node: HeapProfiler.SamplingHeapProfileNode): CallNode {
  return {
    callFrame: node.callFrame,
    values: [Math.round(node.selfSize)],
    children: node.children.map(heapTree),
  };
}
