import type { LatencyHistogram, LatencySummary } from './latency-histogram.ts';
import { type ProcessUsage, processUsage } from './process-usage.ts';

/** What happened between two marks. */
export interface LoadWindow {
  /** Milliseconds since the epoch at the second of them. */
  readonly endedAtMs: number;
  readonly seconds: number;
  /** Calls answered, and how long they took. */
  readonly latency: LatencySummary;
  /** Processor time of each watched process, by its name. */
  readonly cpuMs: Readonly<Record<string, number>>;
  /** Resident memory of each at the end. */
  readonly rssBytes: Readonly<Record<string, number>>;
  /** Share of one core that the generator used. */
  readonly generatorBusy: number;
}

/** Processes whose usage is taken at each mark: process ids by name. */
export type WatchedProcesses = Readonly<Record<string, number>>;

/** Takes the processor time of the watched processes at the same moment as the latencies. */
export class LoadWindows {
  readonly #watched: readonly (readonly [name: string, pid: number])[];
  readonly #histogram: LatencyHistogram;
  #atMs = 0;
  #ownCpu = process.cpuUsage();
  #usage: ProcessUsage[] = [];

  constructor(watched: WatchedProcesses, histogram: LatencyHistogram) {
    this.#watched = Object.entries(watched);
    this.#histogram = histogram;
    this.mark();
  }

  /** Ends a window and begins the next. */
  mark(): LoadWindow {
    const atMs = performance.now();
    const own = process.cpuUsage(this.#ownCpu);
    const usage = this.#watched.map(([, pid]) => processUsage(pid));
    const before = this.#usage;
    const window: LoadWindow = {
      endedAtMs: Date.now(),
      seconds: (atMs - this.#atMs) / 1_000,
      latency: this.#histogram.summary(),
      cpuMs: this.#byName(i => usage[i].cpuMs - (before[i]?.cpuMs ?? 0)),
      rssBytes: this.#byName(i => usage[i].rssBytes),
      generatorBusy: (own.user + own.system) / 1_000 / (atMs - this.#atMs),
    };
    this.#atMs = atMs;
    this.#ownCpu = process.cpuUsage();
    this.#usage = usage;
    this.#histogram.reset();
    return window;
  }

  #byName(value: (i: number) => number): Record<string, number> {
    return Object.fromEntries(this.#watched.map(([name], i) => [name, value(i)]));
  }
}
