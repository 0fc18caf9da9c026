import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock, Timer } from '../base/clock.ts';
import { busyShare } from '../base/threads/inside-thread.ts';

/** Interval between two measurements. */
const LOOK_MS = 5_000;

/**
 * The thread is idle if its event loop was busy for a smaller share of the interval. This is so low that a service with
 * even a hundred requests per second does not pause them.
 */
const IDLE_SHARE = 0.01;

/** A collection is worth its pause if the memory has grown by this much since the last one. */
const WORTH_BYTES = 16 * 1024 * 1024;

/** Minimum time between two collections, as a fixed time and as a multiple of the pause. */
const MIN_REST_MS = 20_000;
const REST_PER_PAUSE = 1_000;

/** The memory of one JavaScript thread. */
export interface ThreadMemory {
  /** Share of the time, 0 to 1, that the thread was busy since the last call. */
  busy(): number;
  /** Memory of the heap, including its free parts, and of buffers. */
  bytes(): number;
  /** Collects all garbage. The thread is paused until the collection is complete. */
  collect(): void;
}

/**
 * Collects the garbage of a peak when the thread has become idle.
 *
 * V8 collects when a program allocates. After a flood nothing allocates, so tens of megabytes of dead objects, a young
 * generation grown to its maximum and dead buffers outside of the heap can stay for minutes. A full collection
 * returns all three to the system. It pauses the thread, for 70 ms after floods of the HTTP port on a busy machine. It
 * therefore never runs under load, runs only if there is something to gain, and takes at most a thousandth of the time.
 * Flags such as `--optimize-for-size` and `--gc-interval` would cost time under load instead, and would not shrink an
 * idle heap.
 */
export class IdleCollector {
  readonly #clock: Clock;
  readonly #memory: ThreadMemory;
  #timer: Timer | null = null;
  /** Lowest value of the memory since the last collection. It starts at 0, so the garbage of the start is collected. */
  #floorBytes = 0;
  #restUntilMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, memory: ThreadMemory) {
    this.#clock = clock;
    this.#memory = memory;
  }

  start(): void {
    this.#timer = this.#clock.after(LOOK_MS, () => {
      this.#look();
      this.start();
    });
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #look(): void {
    const isIdle = this.#memory.busy() < IDLE_SHARE;
    const bytes = this.#memory.bytes();
    this.#floorBytes = Math.min(this.#floorBytes, bytes);
    if (!isIdle || bytes < this.#floorBytes + WORTH_BYTES) return;
    const beganMs = this.#clock.nowMs();
    if (beganMs < this.#restUntilMs) return;
    this.#memory.collect();
    const endedMs = this.#clock.nowMs();
    this.#restUntilMs = endedMs + Math.max(MIN_REST_MS, (endedMs - beganMs) * REST_PER_PAUSE);
    this.#floorBytes = this.#memory.bytes();
  }
}

/** The memory of the calling thread. */
export function ownMemory(): ThreadMemory {
  const collect = fullCollection();
  return {
    busy: busyShare(),
    bytes: () => {
      const { total_heap_size, external_memory } = getHeapStatistics();
      return total_heap_size + external_memory;
    },
    // Other flavors keep the pages of the heap, and count dead buffers as memory until the next collection.
    collect: () => collect({ type: 'major', flavor: 'last-resort' }),
  };
}

type Collect = (options: object) => void;

/** Attempts to get the function while other threads change the same flag of the process. */
const ATTEMPTS = 1_000;

/**
 * Node.js offers a full collection only to programs started with this flag. New contexts of V8 have the function while
 * the flag is set, so nothing else sees it. If another thread has just cleared the flag, the next attempt succeeds.
 */
function fullCollection(): Collect {
  let found: Collect | null = null;
  for (let attempt = 0; found === null && attempt < ATTEMPTS; attempt++) {
    setFlagsFromString('--expose-gc');
    found = runInNewContext('typeof gc === "function" ? gc : null') as Collect | null;
    setFlagsFromString('--no-expose-gc');
  }
  return found ?? (() => {});
}
