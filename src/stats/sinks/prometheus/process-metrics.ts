import { readFileSync } from 'node:fs';
import { PerformanceObserver } from 'node:perf_hooks';
import type { Clock } from '../../../base/clock.ts';
import { seriesText, valueText } from './text-format.ts';

/** Metrics of the process, under the names that Prometheus client libraries and dashboards use. */
export class ProcessMetrics {
  readonly #clock: Clock;
  /** Garbage collection time of the primary thread. Decision threads have their own heaps. */
  #collectingMs = 0;
  readonly #collections = new PerformanceObserver(list => {
    for (const { duration } of list.getEntries()) this.#collectingMs += duration;
  });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Starts measuring garbage collection. */
  start(): void {
    this.#collections.observe({ entryTypes: ['gc'] });
  }

  stop(): void {
    this.#collections.disconnect();
  }

  /** The metrics in the text format. */
  lines(labels: string): string {
    const { user, system } = process.cpuUsage();
    const startedAt = Math.round(this.#clock.nowMs() / 1000 - process.uptime());
    const virtualBytes = virtualMemory();
    const metric = (name: string, type: string, help: string, value: number): string =>
      `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${seriesText(name, labels)} ${valueText(value)}\n`;
    return [
      metric('process_cpu_seconds_total', 'counter', 'Processor time used.', (user + system) / 1e6),
      metric('process_resident_memory_bytes', 'gauge', 'Resident memory size.', process.memoryUsage.rss()),
      virtualBytes === null
        ? ''
        : metric('process_virtual_memory_bytes', 'gauge', 'Virtual memory size.', virtualBytes),
      metric('process_start_time_seconds', 'gauge', 'Start time of the process.', startedAt),
      metric(
        'go_memstats_gc_cpu_fraction',
        'gauge',
        'Fraction of the time of the primary thread spent on garbage collection. Dashboards ask for this name.',
        this.#collectingMs / performance.now(),
      ),
    ].join('');
  }
}

/** Virtual memory in bytes; null on systems other than Linux. */
function virtualMemory(): number | null {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    // The name of the program, in parentheses, may contain any characters. `vsize` is the 21st field after it.
    const bytes = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[20]);
    return Number.isFinite(bytes) ? bytes : null;
  } catch {
    return null;
  }
}
